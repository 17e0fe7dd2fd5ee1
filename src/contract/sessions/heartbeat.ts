import { z } from "zod";
import { id, project } from "../fields.js";
import { operation } from "../operation.js";
import { sessionShape, success } from "../shapes.js";

export const heartbeatSession = operation({
  name: "sessions.heartbeat",
  summary: "Say that a session lives",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      project: project(),
      sessionId: id(),
      contextPercent: z.number().min(0).max(100).optional(),
      score: z.number().optional(),
    }),
  output: () => z.object({ success: success(), session: sessionShape() }),
  refusals: ["SESSION_NOT_FOUND"],
  repeatable: true,
  http: { method: "POST", path: "/api/sessions/:sessionId/heartbeat" },
});
