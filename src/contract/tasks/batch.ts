import { z } from "zod";
import { limits } from "../../core/limits.js";
import { planChanges } from "../../core/plan.js";
import { taskStates } from "../../core/task.js";
import { project, text } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { success, taskShape } from "../shapes.js";
import { newTask } from "./create.js";

const input = once(() =>
  z
    .object({
      project: project(),
      plan: text(limits.titleLengthMax)
        .min(1)
        .optional()
        .describe(
          "The plan's name: a later batch of the same name updates its tasks instead of creating them again",
        ),
      prune: z
        .boolean()
        .optional()
        .describe("With plan: cancel what is gone from the plan and was never attempted"),
      dryRun: z.boolean().optional().describe("With plan: only answer what would change"),
      tasks: z
        .array(
          newTask().extend({
            key: text(limits.titleLengthMax).optional().describe("Your name for the task within this batch"),
            parentId: text(limits.titleLengthMax).optional().describe("An id, or a key of this batch"),
            dependsOn: z
              .array(text(limits.titleLengthMax))
              .max(limits.dependsOnMax)
              .optional()
              .describe("Ids, or keys or titles of this batch"),
            identity: text(limits.titleLengthMax)
              .min(1)
              .optional()
              .describe(
                "With plan: by what the task is known in later versions; default: its id, key or title",
              ),
            done: z
              .boolean()
              .optional()
              .describe("With plan: checked off; it is not created, and a task that is open stays open"),
          }),
        )
        .min(1)
        .max(limits.batchMax),
    })
    .superRefine(({ plan, prune, dryRun, tasks }, context) => {
      if (plan !== undefined) return;
      const needsPlan = (path: PropertyKey[]) =>
        context.addIssue({ code: "custom", path, message: "is only for a batch with a plan" });
      if (prune) needsPlan(["prune"]);
      if (dryRun) needsPlan(["dryRun"]);
      for (const [index, { done }] of tasks.entries()) if (done) needsPlan(["tasks", index, "done"]);
    }),
);

const difference = once(() =>
  z.object({
    name: z.string(),
    isNew: z.boolean().describe("No earlier load of this plan is known"),
    dryRun: z.boolean(),
    counts: z.object({
      new: z.number(),
      changed: z.number(),
      unchanged: z.number(),
      untouched: z.number(),
      checked: z.number(),
      gone: z.number(),
      cancelled: z.number(),
    }),
    changes: z
      .array(
        z.object({
          change: z.enum(planChanges),
          key: z.string().nullable(),
          taskId: z.string().nullable().describe("Null: not created yet"),
          title: z.string(),
          state: z
            .enum(taskStates)
            .nullable()
            .describe("Before the change; null: not created yet, or archived"),
          fields: z.array(z.string()).describe("What changes"),
          overwritten: z
            .array(z.string())
            .describe("Of these, what was edited in the store since the last load"),
          notApplied: z.array(z.string()).describe("What the plan changed and the task keeps"),
          reason: z.string().nullable().describe("Why a task that is gone was not cancelled"),
        }),
      )
      .describe("Without the unchanged tasks"),
  }),
);

export const createTasks = operation({
  name: "tasks.batch",
  summary: "Create many tasks at once, all or nothing; with a plan's name, update what it created before",
  kind: "command",
  alone: true,
  role: "worker",
  input,
  output: () =>
    z.object({
      success: success(),
      tasks: z.array(taskShape()).describe("With plan: all of its tasks that exist"),
      ids: z.record(z.string(), z.string()),
      plan: difference().optional().describe("With plan: what changed"),
    }),
  refusals: [
    "TASK_NOT_FOUND",
    "INVALID_STATE",
    "RESOURCE_NOT_FOUND",
    "DEPENDENCY_NOT_FOUND",
    "DEPENDENCY_CYCLE",
    "ID_TAKEN",
    "COUNTER_EXHAUSTED",
    "PAYLOAD_TOO_LARGE",
    "FORBIDDEN",
  ],
  http: { method: "POST", path: "/api/tasks/batch", status: 201 },
  cli: "plan",
});
