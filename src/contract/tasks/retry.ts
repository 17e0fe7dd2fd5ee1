import { z } from "zod";
import { onTask } from "../fields.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

export const retryTask = operation({
  name: "tasks.retry",
  summary: "Queue a failed or cancelled task again",
  kind: "command",
  role: "leader",
  input: () => z.object(onTask()),
  output: taskAnswer,
  refusals: ["RESOURCE_NOT_FOUND", "TASK_NOT_FOUND", "TASK_NOT_RETRYABLE"],
  http: { method: "POST", path: "/api/tasks/:taskId/retry" },
  cli: "retry",
});
