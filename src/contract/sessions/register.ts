import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, project, text, uses, word } from "../fields.js";
import { operation } from "../operation.js";
import { sessionShape, success } from "../shapes.js";

export const registerSession = operation({
  name: "sessions.register",
  summary: "Register a session, or refresh it",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      project: project(),
      id: id().optional().describe("Default: a generated one"),
      name: word().optional(),
      agentType: word().optional(),
      pid: z.number().int().min(1).optional().describe("With it, the session dies with that process"),
      host: text(limits.pathLengthMax)
        .optional()
        .describe("Host of that process; default: this host, for callers over loopback"),
      processStartedAt: text(limits.wordLengthMax).optional(),
      capabilities: z.array(word()).max(limits.requiresMax).optional(),
      uses: uses().optional().describe("Units of resources that each of its claims uses"),
      capacity: z.number().int().min(1).max(limits.capacityMax).optional(),
      heartbeats: z.boolean().optional().describe("Promises heartbeats: silence then means death"),
    }),
  output: () => z.object({ success: success(), session: sessionShape() }),
  refusals: ["RESOURCE_NOT_FOUND"],
  http: { method: "POST", path: "/api/sessions", status: 201 },
});
