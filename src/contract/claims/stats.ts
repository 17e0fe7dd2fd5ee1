import { z } from "zod";
import { flag, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { claimShape, openBreakersShape } from "../shapes.js";

export const claimStats = operation({
  name: "claims.stats",
  summary: "Count the open claims",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: projectOrAll(),
      dead: flag().optional().describe("Also name sessions whose process on this host is gone"),
    }),
  output: () =>
    z.object({
      active: z.number(),
      byAgentType: z.record(z.string(), z.number()),
      bySession: z.record(z.string(), z.number()),
      byHealth: z.record(z.string(), z.number()),
      expired: z.number(),
      orphaned: z.number(),
      averageDurationMs: z.number(),
      oldest: claimShape().nullable(),
      breakers: openBreakersShape().optional(),
      dead: z
        .array(z.object({ project: z.string(), sessionId: z.string(), taskIds: z.array(z.string()) }))
        .optional()
        .describe("On request: sessions that have not ended although their process on this host is gone"),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/tasks/claims/stats" },
});
