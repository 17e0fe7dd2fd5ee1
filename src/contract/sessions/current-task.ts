import { z } from "zod";
import { id, project } from "../fields.js";
import { operation } from "../operation.js";
import { currentTaskShape } from "../shapes.js";

export const currentTask = operation({
  name: "sessions.currentTask",
  summary: "Show what a session works on",
  kind: "query",
  role: "viewer",
  input: () => z.object({ project: project(), sessionId: id() }),
  output: () =>
    z.object({
      sessionId: z.string(),
      currentTask: currentTaskShape().nullable(),
    }),
  refusals: ["SESSION_NOT_FOUND"],
  http: { method: "GET", path: "/api/sessions/:sessionId/current-task" },
});
