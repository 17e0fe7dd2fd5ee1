import { z } from "zod";
import { limits } from "../../core/limits.js";
import { onTask, text, word } from "../fields.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

export const respondTask = operation({
  name: "tasks.respond",
  summary: "Answer the open question of a task",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      ...onTask(),
      response: text(limits.responseLengthMax).min(1),
      questionId: word().optional().describe("Refused if another question is open by now"),
    }),
  output: taskAnswer,
  refusals: ["TASK_NOT_FOUND", "TASK_NOT_AWAITING", "QUESTION_MISMATCH"],
  http: { method: "POST", path: "/api/tasks/:taskId/respond" },
  cli: "answer",
});
