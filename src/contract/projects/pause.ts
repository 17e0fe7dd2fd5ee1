import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { projectShape, success } from "../shapes.js";

export const pauseProject = operation({
  name: "projects.pause",
  summary: "Pause a project: nothing of it is claimable",
  kind: "command",
  role: "leader",
  input: () => z.object({ id: id().optional() }),
  output: () => z.object({ success: success(), project: projectShape() }),
  refusals: [],
  http: { method: "POST", path: "/api/projects/:id/pause" },
  cli: "project pause",
});
