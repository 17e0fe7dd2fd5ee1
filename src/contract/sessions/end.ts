import { z } from "zod";
import { id, project } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";

export const endSession = operation({
  name: "sessions.end",
  summary: "End a session; what it held goes back at once",
  kind: "command",
  role: "worker",
  input: () => z.object({ project: project(), sessionId: id() }),
  output: () =>
    z.object({
      success: success(),
      released: z.array(z.object({ taskId: z.string(), sessionId: z.string(), reason: z.string() })),
    }),
  refusals: ["SESSION_NOT_FOUND"],
  http: { method: "DELETE", path: "/api/sessions/:sessionId" },
});
