import { z } from "zod";
import { limits } from "../../core/limits.js";
import { onTask, review, text } from "../fields.js";
import { operation } from "../operation.js";
import { submissionShape, success, taskShape } from "../shapes.js";

export const approveTask = operation({
  name: "tasks.approve",
  summary: "Approve a submission, as a person or as the agent that reviews it",
  kind: "command",
  role: "worker",
  leaderWithout: "sessionId",
  input: () =>
    z.object({
      ...onTask(),
      ...review(),
      comment: text(limits.detailLengthMax).optional(),
      own: z.boolean().optional().describe("A person approves own work; it is recorded"),
    }),
  output: () => z.object({ success: success(), task: taskShape(), submission: submissionShape() }),
  refusals: [
    "TASK_NOT_FOUND",
    "SESSION_NOT_FOUND",
    "STALE_SUBMISSION",
    "SELF_REVIEW",
    "INVALID_STATE",
    "STALE_EPOCH",
    "FORBIDDEN",
  ],
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/approve" },
  cli: "approve",
});
