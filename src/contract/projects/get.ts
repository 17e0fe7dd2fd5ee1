import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { projectShape } from "../shapes.js";

export const getProject = operation({
  name: "projects.get",
  summary: "Show a project and its settings",
  kind: "query",
  role: "viewer",
  input: () => z.object({ id: id().optional() }),
  output: () => z.object({ project: projectShape() }),
  refusals: [],
  http: { method: "GET", path: "/api/projects/:id" },
  cli: "project show",
});
