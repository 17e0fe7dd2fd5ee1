import { z } from "zod";
import { limits } from "../../core/limits.js";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder, text } from "../fields.js";
import { operation } from "../operation.js";
import { success, taskShape, time } from "../shapes.js";

export const failTask = operation({
  name: "tasks.fail",
  summary: "Report that an attempt failed",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      error: text(limits.errorLengthMax).min(1),
      retryable: z.boolean().optional().describe("False: fail for good"),
      quick: z
        .boolean()
        .optional()
        .describe(
          "True: if the attempt fails within 15 s of its start, without progress or a question, it costs no retry. False: it did some work, whatever the time",
        ),
    }),
  output: () =>
    z.object({
      success: success(),
      task: taskShape(),
      willRetry: z.boolean(),
      retryAt: time().nullable(),
    }),
  refusals: holderPrecedence,
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/fail" },
  cli: "fail",
  mcp: "fail_task",
});
