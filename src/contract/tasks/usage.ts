import { z } from "zod";
import { limits } from "../../core/limits.js";
import { byHolder, word } from "../fields.js";
import { operation } from "../operation.js";
import { attemptShape, success } from "../shapes.js";

export const reportUsage = operation({
  name: "tasks.usage",
  summary: "Report what an attempt has cost so far; the largest report counts, until 24 hours after its end",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      usd: z.number().min(0).max(limits.usdMax).optional(),
      inputTokens: z.number().int().min(0).max(limits.tokensMax).optional(),
      outputTokens: z.number().int().min(0).max(limits.tokensMax).optional(),
      model: word().optional(),
    }),
  output: () => z.object({ success: success(), attempt: attemptShape() }),
  refusals: ["TASK_NOT_FOUND", "TASK_NOT_CLAIMED", "NOT_CLAIM_OWNER", "STALE_EPOCH", "CLAIM_EXPIRED"],
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/usage" },
  cli: "usage",
  mcp: "update_progress",
});
