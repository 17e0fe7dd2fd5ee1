import { z } from "zod";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";

export const appendLog = operation({
  name: "tasks.appendLog",
  summary: "Add to the log of an attempt, at most 64 KiB at once; it renews no lease",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      text: z.string().describe("What a program printed; what cannot be stored is replaced by U+FFFD"),
    }),
  output: () =>
    z.object({ success: success(), taskId: z.string(), epoch: z.number(), truncatedBytes: z.number() }),
  refusals: [...holderPrecedence, "PAYLOAD_TOO_LARGE"],
  http: { method: "POST", path: "/api/tasks/:taskId/log" },
});
