import { z } from "zod";
import { operation } from "../operation.js";
import { landingShape, success } from "../shapes.js";
import { onLanding } from "./fields.js";

export const reportLanded = operation({
  name: "landings.landed",
  summary: "Report that the target has moved: the tasks of the intent are completed",
  kind: "command",
  role: "leader",
  input: () => z.object(onLanding()),
  output: () =>
    z.object({
      success: success(),
      landing: landingShape(),
      unblocked: z.array(z.string()).describe("Tasks that became claimable, at most 100"),
      unblockedCount: z.number(),
    }),
  refusals: ["NOT_FOUND", "STALE_EPOCH", "INVALID_STATE"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/:id/landed" },
});
