import { z } from "zod";
import { limits } from "../../core/limits.js";
import { onTask, text } from "../fields.js";
import { operation } from "../operation.js";
import { success, taskShape } from "../shapes.js";

export const withdrawTask = operation({
  name: "tasks.withdraw",
  summary: "Withdraw a submission and queue its task again",
  kind: "command",
  role: "leader",
  input: () => z.object({ ...onTask(), reason: text(limits.reasonLengthMax).optional() }),
  output: () => z.object({ success: success(), task: taskShape() }),
  refusals: ["TASK_NOT_FOUND", "INVALID_STATE", "LANDING_NOW"],
  http: { method: "POST", path: "/api/tasks/:taskId/withdraw" },
  cli: "withdraw",
});
