import { z } from "zod";
import { limits } from "../../core/limits.js";
import type { TaskState } from "../../core/task.js";
import { cursor, id, projectOrAll, text, word } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";
import { parent, states } from "./list.js";
import { taskPatch } from "./update.js";

const held: readonly TaskState[] = ["claimed", "running", "awaiting_response"];
const open: readonly TaskState[] = ["queued", ...held];

/** A filter finds only what the action applies to: else calls that continue would meet the same refusals again and again. */
export const bulkAppliesTo = {
  cancel: open,
  retry: ["failed", "cancelled"],
  release: held,
  update: [...open, "failed", "cancelled"],
} as const satisfies Record<string, readonly TaskState[]>;

export type BulkAction = keyof typeof bulkAppliesTo;

const filter = once(() =>
  z.strictObject({
    state: states().optional(),
    label: word().optional(),
    assignee: word().optional(),
    parent: parent().optional(),
    q: text(limits.titleLengthMax).optional(),
    sessionId: id().optional().describe("Held by this session"),
  }),
);

const input = once(() =>
  z
    .strictObject({
      project: projectOrAll(),
      action: z.enum(Object.keys(bulkAppliesTo) as [BulkAction]),
      filter: filter()
        .optional()
        .describe(
          "As in a list: state, label, assignee, parent, q; and sessionId. Of these, what the action applies to",
        ),
      taskIds: z.array(id()).min(1).max(limits.bulkMax).optional().describe("Instead of a filter"),
      all: z.boolean().optional().describe("Needed with an empty filter"),
      changes: z.strictObject(taskPatch()).optional().describe("For update: what tasks.update takes"),
      cascade: z.boolean().optional().describe("For cancel: also open descendants"),
      reason: text(limits.reasonLengthMax).min(1).optional().describe("For cancel and release"),
      dryRun: z.boolean().optional().describe("Only say what would be done, and what would be refused"),
      cursor: cursor().describe("Continue after an answer that had more"),
    })
    .superRefine(({ project, action, filter, taskIds, all, changes }, context) => {
      const issue = (path: string, message: string) =>
        context.addIssue({ code: "custom", path: [path], message });
      if ((filter === undefined) === (taskIds === undefined))
        issue("filter", "either filter or taskIds is needed");
      if (filter && all !== true && Object.values(filter).every((value) => value === undefined)) {
        issue("filter", "is empty; to mean every task, say all: true");
      }
      if (taskIds && project === "*") issue("project", "must be one project where taskIds are given");
      const isChanged = changes !== undefined && Object.values(changes).some((value) => value !== undefined);
      if (action === "update" && !isChanged) issue("changes", "is needed for update");
      if (action !== "update" && changes) issue("changes", "is only for update");
    }),
);

export const bulkTasks = operation({
  name: "tasks.bulk",
  summary: "Cancel, retry, release or update many tasks, at most 1000 per call, each by itself",
  kind: "command",
  alone: true,
  role: "leader",
  input,
  output: () =>
    z.object({
      success: success(),
      action: input().shape.action,
      dryRun: z.boolean(),
      matched: z.number().describe("Tasks that this call is about"),
      done: z.number(),
      refusedCount: z.number(),
      refused: z
        .array(z.object({ project: z.string(), taskId: z.string(), error: z.string(), message: z.string() }))
        .describe("The first 100"),
      taskIds: z.array(z.string()),
      more: z.boolean().describe("The filter matches more: call again with the cursor"),
      nextCursor: z.string().nullable(),
    }),
  refusals: ["RESOURCE_NOT_FOUND"],
  http: { method: "POST", path: "/api/tasks/bulk" },
});
