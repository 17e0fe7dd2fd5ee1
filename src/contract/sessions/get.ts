import { z } from "zod";
import { id, project } from "../fields.js";
import { operation } from "../operation.js";
import { sessionShape } from "../shapes.js";

export const getSession = operation({
  name: "sessions.get",
  summary: "Show a session",
  kind: "query",
  role: "viewer",
  input: () => z.object({ project: project(), sessionId: id() }),
  output: () => z.object({ session: sessionShape() }),
  refusals: ["SESSION_NOT_FOUND"],
  http: { method: "GET", path: "/api/sessions/:sessionId" },
});
