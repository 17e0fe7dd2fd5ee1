import { z } from "zod";
import { byHolder, leaseMs } from "../fields.js";
import { operation } from "../operation.js";
import { claimShape, success } from "../shapes.js";

export const heartbeatTask = operation({
  name: "tasks.heartbeat",
  summary: "Renew the lease of a task",
  kind: "command",
  role: "worker",
  input: z.object({ ...byHolder, extendMs: leaseMs.optional().describe("Default: the claim's own length") }),
  output: z.object({
    success,
    claim: claimShape,
    response: z.string().nullable().describe("An answer that the holder has not acknowledged yet"),
  }),
  refusals: [
    "TASK_NOT_FOUND",
    "SESSION_NOT_FOUND",
    "TASK_CANCELLED",
    "CLAIM_EXPIRED",
    "TASK_NOT_CLAIMED",
    "NOT_CLAIM_OWNER",
    "STALE_EPOCH",
    "INVALID_STATE",
  ],
  http: { method: "POST", path: "/api/tasks/:taskId/claim/heartbeat" },
  cli: "heartbeat",
});
