import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, metadata, ms, project, text } from "../fields.js";
import { operation } from "../operation.js";
import { lockShape, success } from "../shapes.js";

export const acquireLock = operation({
  name: "locks.acquire",
  summary: "Acquire a lock, or renew what one holds",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      project: project(),
      name: id(),
      pid: z
        .number()
        .int()
        .min(1)
        .optional()
        .describe("The process that holds it; the lock is free when it is gone"),
      host: text(limits.pathLengthMax)
        .optional()
        .describe("Host of that process; default: this host, for callers over loopback"),
      processStartedAt: text(limits.wordLengthMax).optional(),
      sessionId: id().optional(),
      ttlMs: ms()
        .min(1)
        .optional()
        .describe(
          "How long it holds without being renewed; default half an hour, or as long as a process of that host lives",
        ),
      metadata: metadata().optional(),
    }),
  output: () => z.object({ success: success(), lock: lockShape() }),
  refusals: ["SESSION_BUSY"],
  http: { method: "POST", path: "/api/locks", also: "/api/locks/:name" },
  cli: "lock acquire",
});
