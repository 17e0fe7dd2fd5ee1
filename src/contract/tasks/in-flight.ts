import { z } from "zod";
import { limits } from "../../core/limits.js";
import { taskStates } from "../../core/task.js";
import { cursor, flag, id, limit, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { claimShape } from "../shapes.js";

export const tasksInFlight = operation({
  name: "tasks.inFlight",
  summary: "List what is claimed, and by whom",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: projectOrAll(),
      sessionId: id().optional(),
      includeExpired: flag().optional(),
      limit: limit().default(limits.pageMax),
      cursor: cursor(),
    }),
  output: () =>
    z.object({
      inFlight: z.array(
        z.object({
          taskId: z.string(),
          project: z.string(),
          task: z.object({
            title: z.string(),
            phase: z.string().nullable(),
            priority: z.string(),
            state: z.enum(taskStates),
          }),
          claim: claimShape(),
        }),
      ),
      summary: z
        .object({ total: z.number(), bySession: z.record(z.string(), z.number()) })
        .describe("About all of them, on this page or not"),
      nextCursor: z.string().optional().describe("Only if there are more"),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/tasks/in-flight" },
  cli: "in-flight",
});
