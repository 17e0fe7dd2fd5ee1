import { z } from "zod";
import { operation } from "../operation.js";
import { projectShape } from "../shapes.js";

export const listProjects = operation({
  name: "projects.list",
  summary: "List the projects",
  kind: "query",
  role: "viewer",
  input: z.object({}),
  output: z.object({ projects: z.array(projectShape) }),
  refusals: [],
  http: { method: "GET", path: "/api/projects" },
  cli: "project list",
});
