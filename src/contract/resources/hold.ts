import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, instant, ms, project, text } from "../fields.js";
import { operation } from "../operation.js";
import { resourceAnswer } from "../shapes.js";

export const holdResource = operation({
  name: "resources.hold",
  summary: "Hold a resource: no claim gets it until the hold ends; running tasks continue",
  kind: "command",
  role: "worker",
  leaderWithout: "sessionId",
  input: () =>
    z
      .strictObject({
        project: project(),
        id: id(),
        until: instant().optional().describe("When it ends by itself; default: when it is resumed"),
        forMs: ms().min(1).optional().describe("The same, from now on"),
        reason: text(limits.reasonLengthMax).optional(),
        source: z
          .enum(["manual", "quota"])
          .optional()
          .describe("Each source has one hold. Default: quota for a session, else manual"),
        sessionId: id()
          .optional()
          .describe("A worker, which can hold what it uses, for at most 6 hours; default: a leader"),
      })
      .refine(({ until, forMs }) => until === undefined || forMs === undefined, {
        message: "takes until or forMs, not both",
        path: ["forMs"],
      }),
  output: resourceAnswer,
  refusals: ["RESOURCE_NOT_FOUND", "SESSION_NOT_FOUND", "FORBIDDEN"],
  repeatable: true,
  http: { method: "POST", path: "/api/resources/:id/hold" },
  cli: "resource hold",
});
