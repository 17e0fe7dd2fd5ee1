import { z } from "zod";
import { limits } from "../../core/limits.js";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder, text } from "../fields.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

export const reportProgress = operation({
  name: "tasks.progress",
  summary: "Note progress; renews the lease",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      note: text(limits.noteLengthMax).optional(),
      percent: z.number().min(0).max(100).optional(),
    }),
  output: taskAnswer,
  refusals: holderPrecedence,
  http: { method: "POST", path: "/api/tasks/:taskId/progress" },
  cli: "progress",
  mcp: "update_progress",
});
