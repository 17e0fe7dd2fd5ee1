import { z } from "zod";
import { limits } from "../../core/limits.js";
import { idempotencyKey, project, text } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";

/** Calls in one request. */
export const { manyMax } = limits;

export const manyCalls = operation({
  name: "calls.many",
  summary: "Run many commands in one request and one commit, each refused on its own",
  kind: "command",
  // The lowest role of any command; each call needs the role of its own.
  role: "worker",
  alone: true,
  input: () =>
    z.object({
      project: project().describe("Of the calls that name none; default: the client's own"),
      calls: z
        .array(
          z.object({
            operation: text(limits.wordLengthMax).describe("A command, by its name in this reference"),
            input: z
              .unknown()
              .optional()
              .describe("All of its fields, those of the path too; `waitMs` must be 0"),
            idempotencyKey: idempotencyKey()
              .optional()
              .describe("The same as the header, and interchangeable with it"),
          }),
        )
        .min(1, `must have 1 to ${manyMax} calls`)
        .max(manyMax, `must have 1 to ${manyMax} calls`),
    }),
  output: () =>
    z.object({
      success: success(),
      answers: z
        .array(z.looseObject({ success: z.boolean() }))
        .describe("In the order of the calls: what the operation answers, or the problem with its `status`"),
    }),
  refusals: [],
  http: { method: "POST", path: "/api/many" },
});
