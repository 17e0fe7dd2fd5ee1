import { z } from "zod";
import { limits } from "../../core/limits.js";
import { taskStates } from "../../core/task.js";
import { limit, project } from "../fields.js";
import { operation } from "../operation.js";
import { time } from "../shapes.js";

export const taskConflicts = operation({
  name: "tasks.conflicts",
  summary: "List tasks in flight that change the same files, as their runners report them",
  kind: "query",
  role: "viewer",
  input: () => z.object({ project: project(), limit: limit().default(limits.pageDefault) }),
  output: () =>
    z.object({
      conflicts: z.array(
        z.object({
          tasks: z
            .array(
              z.object({
                taskId: z.string(),
                title: z.string(),
                state: z.enum(taskStates),
                sessionId: z.string().nullable(),
              }),
            )
            .describe("The two of them"),
          paths: z.array(z.string()).describe("The first ten"),
          count: z.number(),
          at: time().describe("When it was found"),
        }),
      ),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/tasks/conflicts" },
  cli: "conflicts",
});
