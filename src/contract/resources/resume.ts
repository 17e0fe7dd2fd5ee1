import { z } from "zod";
import { holdSources } from "../../core/resource.js";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { resourceAnswer } from "../shapes.js";

export const resumeResource = operation({
  name: "resources.resume",
  summary: "End the holds of a resource; a spent budget holds it no more in this period",
  kind: "command",
  role: "leader",
  input: () =>
    z.strictObject({
      id: id(),
      source: z.enum(holdSources).optional().describe("Only the hold of this source"),
    }),
  output: resourceAnswer,
  refusals: ["RESOURCE_NOT_FOUND"],
  repeatable: true,
  http: { method: "POST", path: "/api/resources/:id/resume" },
  cli: "resource resume",
});
