import { z } from "zod";
import { operation } from "../operation.js";
import { success } from "../shapes.js";

export const cleanupClaims = operation({
  name: "claims.cleanup",
  summary: "End expired leases and the claims of dead sessions",
  kind: "command",
  role: "worker",
  input: () => z.object({}),
  output: () =>
    z.object({
      success: success(),
      cleaned: z.array(
        z.object({ project: z.string(), taskId: z.string(), sessionId: z.string(), reason: z.string() }),
      ),
    }),
  refusals: [],
  http: { method: "POST", path: "/api/tasks/claims/cleanup" },
});
