import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { projectShape, settingsPatch, success } from "../shapes.js";

export const updateProject = operation({
  name: "projects.update",
  summary: "Change the settings of a project, pause or resume it",
  kind: "command",
  role: "admin",
  input: () =>
    z.strictObject({
      id: id().optional(),
      settings: settingsPatch().optional(),
      paused: z.boolean().optional(),
    }),
  output: () => z.object({ success: success(), project: projectShape() }),
  refusals: ["RESOURCE_NOT_FOUND", "INVALID_STATE"],
  http: { method: "PATCH", path: "/api/projects/:id" },
  cli: "project set",
});
