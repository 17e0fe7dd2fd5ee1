import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { projectShape, settingsPatch, success } from "../shapes.js";

export const createProject = operation({
  name: "projects.create",
  summary: "Create a project",
  kind: "command",
  role: "admin",
  input: () => z.object({ id: id(), settings: settingsPatch().optional() }),
  output: () => z.object({ success: success(), project: projectShape() }),
  refusals: ["RESOURCE_NOT_FOUND", "ID_TAKEN"],
  http: { method: "POST", path: "/api/projects", status: 201 },
  cli: "project create",
});
