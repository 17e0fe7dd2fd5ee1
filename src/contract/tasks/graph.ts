import { z } from "zod";
import { taskStates } from "../../core/task.js";
import { cursor, limit, project } from "../fields.js";
import { operation } from "../operation.js";

export const taskGraph = operation({
  name: "tasks.graph",
  summary: "Show the dependency graph of a project",
  kind: "query",
  role: "viewer",
  input: () => z.object({ project: project(), limit: limit(), cursor: cursor() }),
  output: () =>
    z.object({
      nodes: z.array(
        z.object({
          id: z.string(),
          title: z.string(),
          type: z.enum(["task", "group"]),
          state: z.enum(taskStates),
          priority: z.number(),
          parentId: z.string().nullable(),
          notBefore: z.string().nullable(),
        }),
      ),
      edges: z.array(z.object({ from: z.string(), to: z.string() })).describe("`from` waits for `to`"),
      nextCursor: z.string().nullable(),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/graph" },
  cli: "graph",
});
