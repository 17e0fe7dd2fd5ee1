import { z } from "zod";
import { limits } from "../../core/limits.js";
import { flag, id, project, text } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";

export const releaseLock = operation({
  name: "locks.release",
  summary: "Release a lock; `released` is false when it was free",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      project: project(),
      name: id(),
      pid: z.coerce
        .number()
        .int()
        .min(1)
        .optional()
        .describe("The process that holds it, as it was acquired"),
      host: text(limits.pathLengthMax).optional(),
      processStartedAt: text(limits.wordLengthMax).optional(),
      sessionId: id().optional(),
      force: flag().optional().describe("Release the lock of any holder; for leaders"),
    }),
  output: () => z.object({ success: success(), released: z.boolean() }),
  refusals: ["SESSION_BUSY"],
  http: { method: "DELETE", path: "/api/locks/:name" },
  cli: "lock release",
});
