import { z } from "zod";
import { limits } from "../../core/limits.js";
import { cursor, id, limit, projectOrAll } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { claimShape, stageShape, taskShape } from "../shapes.js";
import { states } from "./list.js";

/** Longer texts are cut: a row is for a list. */
export const rowTextMax = 200;

/** A task as views that know all tasks keep it: what is searched, sorted and drawn, without the long texts. */
const taskRowShape = once(() =>
  taskShape()
    .pick({
      id: true,
      project: true,
      type: true,
      parentId: true,
      title: true,
      state: true,
      phase: true,
      priority: true,
      labels: true,
      dependsOn: true,
      assignee: true,
      agentType: true,
      retryCount: true,
      notBefore: true,
      pendingDependencies: true,
      openChildren: true,
      createdAt: true,
      updatedAt: true,
      readyAt: true,
      startedAt: true,
      endedAt: true,
    })
    .extend({
      depth: z.number().describe("0 for a task without a parent"),
      sequence: z.number().describe("Number among its siblings; 0 if its id was supplied"),
      question: z.string().nullable().describe("Cut to 200 characters"),
      error: z.string().nullable().describe("Cut to 200 characters"),
      stage: stageShape().nullable().describe("Of a submitted task: where it is on its way to the target"),
      claim: claimShape()
        .pick({
          sessionId: true,
          agentType: true,
          epoch: true,
          claimedAt: true,
          startedAt: true,
          expiresAt: true,
          lastHeartbeat: true,
          healthStatus: true,
        })
        .extend({ percent: z.number().nullable(), note: z.string().nullable() })
        .nullable(),
    }),
);

export type WireTaskRow = z.output<ReturnType<typeof taskRowShape>>;

const input = once(() =>
  z
    .object({
      project: projectOrAll(),
      state: states().optional(),
      taskIds: z
        .array(id())
        .min(1)
        .max(limits.rowIdsMax)
        .optional()
        .describe("Only these, of one project; those that do not exist are left out"),
      limit: limit(),
      cursor: cursor(),
    })
    .superRefine(({ project, taskIds }, context) => {
      if (taskIds && project === "*")
        context.addIssue({
          code: "custom",
          path: ["project"],
          message: "must be one project where taskIds are given",
        });
    }),
);

export const taskRows = operation({
  name: "tasks.rows",
  summary: "List tasks in creation order, each in short",
  kind: "query",
  role: "viewer",
  input,
  output: () => z.object({ rows: z.array(taskRowShape()), nextCursor: z.string().nullable() }),
  refusals: [],
  http: { method: "GET", path: "/api/task-rows" },
});
