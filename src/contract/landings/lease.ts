import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, ms, project, text } from "../fields.js";
import { operation } from "../operation.js";
import { landerLeaseShape, success } from "../shapes.js";
import { place } from "./fields.js";

export const leaseLander = operation({
  name: "landings.lease",
  summary: "Become the lander of a repository's target branch, or renew the lease",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      project: project(),
      ...place(),
      holder: id()
        .optional()
        .describe("The lander's own name, by which it renews the lease; default: one that the answer has"),
      host: text(limits.wordLengthMax).optional(),
      ttlMs: ms().min(1_000).max(600_000).optional().describe("Default: a minute"),
      replaces: id()
        .optional()
        .describe(
          "A holder whose process has ended: its lease is taken over, unless it was moving the target",
        ),
    }),
  output: () => z.object({ success: success(), lease: landerLeaseShape() }),
  refusals: ["INVALID_STATE", "SESSION_BUSY"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/lease" },
});
