import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { projectShape, success } from "../shapes.js";

export const resumeProject = operation({
  name: "projects.resume",
  summary: "Resume a paused project",
  kind: "command",
  role: "leader",
  input: () => z.object({ id: id().optional() }),
  output: () => z.object({ success: success(), project: projectShape() }),
  refusals: [],
  http: { method: "POST", path: "/api/projects/:id/resume" },
  cli: "project resume",
});
