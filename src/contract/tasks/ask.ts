import { z } from "zod";
import { limits } from "../../core/limits.js";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder, text } from "../fields.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

export const askHuman = operation({
  name: "tasks.ask",
  summary: "Ask a human; the lease clock stops until the answer",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      question: text(limits.questionLengthMax).min(1),
      options: z.array(text(limits.reasonLengthMax).min(1)).max(limits.optionsMax).optional(),
      default: text(limits.responseLengthMax).optional(),
    }),
  output: taskAnswer,
  refusals: holderPrecedence,
  http: { method: "POST", path: "/api/tasks/:taskId/ask" },
  cli: "ask",
  mcp: "ask_human",
});
