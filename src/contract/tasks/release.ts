import { z } from "zod";
import { limits } from "../../core/limits.js";
import { holderPrecedence } from "../../core/refusal.js";
import { epoch, id, onTask, result, text } from "../fields.js";
import { operation } from "../operation.js";
import { success, taskShape } from "../shapes.js";

export const releaseTask = operation({
  name: "tasks.release",
  summary: "Give a task back; reason completed or failed ends it",
  kind: "command",
  role: "worker",
  input: () =>
    z
      .object({
        ...onTask(),
        sessionId: id().optional().describe("Needed unless `force`"),
        epoch: epoch().optional(),
        reason: text(limits.reasonLengthMax).min(1).optional(),
        force: z.boolean().optional().describe("Release the claim of any session; for leaders"),
        result: result().optional(),
        error: text(limits.errorLengthMax).optional(),
      })
      .refine((value) => value.force === true || value.sessionId !== undefined, {
        message: "is needed, or force",
        path: ["sessionId"],
      }),
  output: () =>
    z.object({
      success: success(),
      released: z.object({ taskId: z.string(), reason: z.string(), claimDuration: z.number() }),
      task: taskShape(),
    }),
  refusals: [...holderPrecedence, "CHILDREN_OPEN", "PAYLOAD_TOO_LARGE"],
  http: { method: "POST", path: "/api/tasks/:taskId/release" },
  cli: "release",
  mcp: "release_task",
});
