import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, project, text, word } from "../fields.js";
import { operation } from "../operation.js";
import { landingHoldShape, success } from "../shapes.js";
import { onLanding } from "./fields.js";

export const holdLanding = operation({
  name: "landings.held",
  summary: "Report all that holds the lander now; an empty list: nothing",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      project: project(),
      ...onLanding(),
      holds: z
        .array(
          z.strictObject({
            reason: word().describe("A code such as TARGET_RED"),
            message: text(limits.detailLengthMax).min(1),
            fix: text(limits.reasonLengthMax).optional().describe("The command that helps"),
            tasks: z
              .array(z.strictObject({ project: id().optional(), taskId: id() }))
              .max(limits.landingTasksMax)
              .default([])
              .describe("The submissions that wait for it; none: all"),
          }),
        )
        .max(limits.holdsMax),
    }),
  output: () => z.object({ success: success(), holds: z.array(landingHoldShape()) }),
  refusals: ["NOT_FOUND", "STALE_EPOCH"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/:id/held" },
});
