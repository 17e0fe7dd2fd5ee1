import { z } from "zod";
import { limits } from "../../core/limits.js";
import { onTask, text } from "../fields.js";
import { operation } from "../operation.js";
import { success, taskShape } from "../shapes.js";

export const cancelTask = operation({
  name: "tasks.cancel",
  summary: "Cancel a task",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      ...onTask(),
      reason: text(limits.reasonLengthMax).optional(),
      cascade: z
        .boolean()
        .optional()
        .describe("Also cancel its open descendants, also of a task that is cancelled already"),
    }),
  output: () =>
    z.object({
      success: success(),
      task: taskShape(),
      cancelled: z.array(z.string()).describe("Ids that were cancelled, at most 1000"),
      blocked: z.array(z.string()).describe("Open tasks that depend on them, at most 100"),
      blockedCount: z.number(),
    }),
  refusals: ["TASK_NOT_FOUND", "TASK_NOT_CANCELLABLE"],
  http: { method: "POST", path: "/api/tasks/:taskId/cancel" },
  cli: "cancel",
});
