import { z } from "zod";
import { limit, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { currentTaskShape, openBreakersShape, sessionShape } from "../shapes.js";

export const sessionsSummary = operation({
  name: "sessions.summary",
  summary: "Show every live session with its current task",
  kind: "query",
  role: "viewer",
  input: () => z.object({ project: projectOrAll(), limit: limit() }),
  output: () =>
    z.object({
      sessions: z
        .array(
          sessionShape().extend({
            currentTask: currentTaskShape().nullable(),
            reviewing: z
              .array(z.string())
              .optional()
              .describe("Tasks whose submissions it reviews, if there are any"),
            tasksDone: z.number(),
            tasksTotal: z.number().describe("Tasks of its project"),
          }),
        )
        .describe(
          "Live ones, and for ten minutes those whose process died with a task. If there are more than `limit`: those that wait for an answer, hold something or have lost it",
        ),
      totals: z.object({
        sessions: z.number().describe("Live ones, shown or not"),
        working: z.number(),
        idle: z.number(),
        tasks: z.record(z.string(), z.number()),
      }),
      breakers: openBreakersShape().optional(),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/sessions/summary" },
});
