import { z } from "zod";
import { limits } from "../../core/limits.js";
import { onTask, review, text } from "../fields.js";
import { operation } from "../operation.js";
import { submissionShape, success, taskShape } from "../shapes.js";

export const requestChanges = operation({
  name: "tasks.requestChanges",
  summary: "Send a submission back to the queue with what is to be changed",
  kind: "command",
  role: "worker",
  leaderWithout: "sessionId",
  input: () => z.object({ ...onTask(), ...review(), reason: text(limits.detailLengthMax).min(1) }),
  output: () => z.object({ success: success(), task: taskShape(), submission: submissionShape() }),
  refusals: [
    "TASK_NOT_FOUND",
    "SESSION_NOT_FOUND",
    "STALE_SUBMISSION",
    "SELF_REVIEW",
    "INVALID_STATE",
    "LANDING_NOW",
    "STALE_EPOCH",
    "FORBIDDEN",
  ],
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/request-changes" },
  cli: "reject",
});
