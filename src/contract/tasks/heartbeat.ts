import { z } from "zod";
import { changedPathsMax } from "../../core/overlap.js";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder, leaseMs, path } from "../fields.js";
import { operation } from "../operation.js";
import { claimShape, success } from "../shapes.js";

export { changedPathsMax } from "../../core/overlap.js";

export const heartbeatTask = operation({
  name: "tasks.heartbeat",
  summary: "Renew the lease of a task",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      extendMs: leaseMs().optional().describe("Default: the claim's own length"),
      paths: z
        .array(path())
        .max(changedPathsMax)
        .optional()
        .describe("Files that the attempt has changed so far, if they are others than at the last report"),
    }),
  output: () =>
    z.object({
      success: success(),
      claim: claimShape(),
      response: z.string().nullable().describe("An answer that the holder has not acknowledged yet"),
    }),
  refusals: holderPrecedence,
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/claim/heartbeat" },
  cli: "heartbeat",
});
