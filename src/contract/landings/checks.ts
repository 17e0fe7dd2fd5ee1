import { z } from "zod";
import { limits } from "../../core/limits.js";
import { project } from "../fields.js";
import { operation } from "../operation.js";
import { landingShape, success } from "../shapes.js";
import { checkResult, landingTasks, onLanding } from "./fields.js";

export const recordChecks = operation({
  name: "landings.checks",
  summary: "Record the results of checks, with the submissions they were about",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      project: project(),
      ...onLanding(),
      tasks: landingTasks().optional().describe("Whose results they are; default: the landing's"),
      checks: z.array(checkResult()).max(limits.checksMax),
    }),
  output: () => z.object({ success: success(), landing: landingShape() }),
  refusals: ["NOT_FOUND", "STALE_EPOCH", "INVALID_STATE"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/:id/checks" },
});
