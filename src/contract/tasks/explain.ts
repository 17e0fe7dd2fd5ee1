import { z } from "zod";
import { flag, id, onTask } from "../fields.js";
import { operation } from "../operation.js";
import { reasonShape } from "../shapes.js";

export const explainTask = operation({
  name: "tasks.explain",
  summary: "Say why a task is not running",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      ...onTask(),
      sessionId: id().optional().describe("As seen by this session"),
      asNew: flag()
        .optional()
        .describe("An unknown session is taken for one that comes now, with nothing but its name"),
    }),
  output: () =>
    z.object({
      taskId: z.string(),
      claimable: z.boolean(),
      reasons: z.array(reasonShape()),
    }),
  refusals: ["TASK_NOT_FOUND", "SESSION_NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId/explain" },
  cli: "explain",
});
