import { z } from "zod";
import { taskStates } from "../../core/task.js";
import { flag, id, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { claimShape } from "../shapes.js";

export const tasksInFlight = operation({
  name: "tasks.inFlight",
  summary: "List what is claimed, and by whom",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({ project: projectOrAll(), sessionId: id().optional(), includeExpired: flag().optional() }),
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
      summary: z.object({ total: z.number(), bySession: z.record(z.string(), z.number()) }),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/tasks/in-flight" },
  cli: "in-flight",
});
