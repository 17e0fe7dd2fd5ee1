import { z } from "zod";
import { limits } from "../../core/limits.js";
import { project, text } from "../fields.js";
import { operation } from "../operation.js";
import { success, taskShape } from "../shapes.js";
import { newTask } from "./create.js";

export const createTasks = operation({
  name: "tasks.batch",
  summary: "Create many tasks at once, all or nothing",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      project: project(),
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
          }),
        )
        .min(1)
        .max(limits.batchMax),
    }),
  output: () =>
    z.object({ success: success(), tasks: z.array(taskShape()), ids: z.record(z.string(), z.string()) }),
  refusals: [
    "TASK_NOT_FOUND",
    "INVALID_STATE",
    "DEPENDENCY_NOT_FOUND",
    "DEPENDENCY_CYCLE",
    "ID_TAKEN",
    "COUNTER_EXHAUSTED",
    "PAYLOAD_TOO_LARGE",
  ],
  http: { method: "POST", path: "/api/tasks/batch", status: 201 },
  cli: "plan",
});
