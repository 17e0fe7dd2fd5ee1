import { z } from "zod";
import { cursor, flag, limit, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { openBreakersShape, sessionShape } from "../shapes.js";

export const listSessions = operation({
  name: "sessions.list",
  summary: "List sessions",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: projectOrAll(),
      all: flag().optional().describe("Include ended sessions"),
      limit: limit(),
      cursor: cursor(),
    }),
  output: () =>
    z.object({
      sessions: z.array(sessionShape()),
      nextCursor: z.string().nullable(),
      breakers: openBreakersShape().optional(),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/sessions" },
  cli: "sessions",
});
