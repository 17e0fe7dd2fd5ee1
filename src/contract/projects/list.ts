import { z } from "zod";
import { cursor, limit } from "../fields.js";
import { operation } from "../operation.js";
import { projectShape } from "../shapes.js";

export const listProjects = operation({
  name: "projects.list",
  summary: "List the projects",
  kind: "query",
  role: "viewer",
  input: () => z.object({ limit: limit(), cursor: cursor() }),
  output: () => z.object({ projects: z.array(projectShape()), nextCursor: z.string().nullable() }),
  refusals: [],
  http: { method: "GET", path: "/api/projects" },
  cli: "project list",
});
