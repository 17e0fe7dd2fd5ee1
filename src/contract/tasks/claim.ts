import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, leaseMs, metadata, ms, project, word } from "../fields.js";
import { operation } from "../operation.js";
import { claimShape, handoverShape, success, taskShape } from "../shapes.js";

export const claimTask = operation({
  name: "tasks.claim",
  summary: "Claim a task",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      project: project(),
      taskId: id(),
      sessionId: id(),
      ttlMs: leaseMs().optional().describe("Lease length; default and bounds are the project's"),
      agentType: word().optional(),
      start: z.boolean().optional().describe("Go to running in the same step"),
      register: z.boolean().optional().describe("Register the session if it is unknown"),
      metadata: metadata().optional(),
      waitMs: ms()
        .max(limits.waitMsMax)
        .optional()
        .describe(
          "Wait this long until the task can be claimed; what only an edit can change is refused at once",
        ),
    }),
  output: () =>
    z.object({
      success: success(),
      claim: claimShape(),
      task: taskShape(),
      handover: handoverShape().optional(),
    }),
  refusals: ["TASK_NOT_FOUND", "SESSION_NOT_FOUND", "TASK_ALREADY_CLAIMED", "TASK_NOT_CLAIMABLE"],
  http: { method: "POST", path: "/api/tasks/:taskId/claim" },
  cli: "claim",
  mcp: "claim_task",
});
