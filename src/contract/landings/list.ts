import { z } from "zod";
import { commit, gitName, limit, project } from "../fields.js";
import { operation } from "../operation.js";
import { landerLeaseShape, landingShape, queuedSubmissionShape, stageShape } from "../shapes.js";

export const listLandings = operation({
  name: "landings.list",
  summary: "List submissions in the order of landing, and the newest landings",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: project(),
      repository: commit()
        .optional()
        .describe("With the target, of all projects that land there; default: the project's own"),
      target: gitName().optional(),
      stage: stageShape().optional().describe("Only submissions in this stage"),
      offset: z.coerce.number().int().min(0).default(0).describe("How many of the queue to skip"),
      limit: limit(),
    }),
  output: () =>
    z.object({
      queue: z.array(queuedSubmissionShape()).describe("Submitted tasks, the next to land first"),
      queueCount: z.number(),
      landings: z.array(landingShape()).describe("The newest first"),
      lease: landerLeaseShape().nullable().describe("The lander that works; null: none"),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/landings" },
});
