import { z } from "zod";
import { byHolder } from "../fields.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

export const startTask = operation({
  name: "tasks.start",
  summary: "Start working on a claimed task",
  kind: "command",
  role: "worker",
  input: z.object(byHolder),
  output: taskAnswer,
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
  http: { method: "POST", path: "/api/tasks/:taskId/start" },
  cli: "start",
  mcp: "start_task",
});
