import { z } from "zod";
import { limit, onTask } from "../fields.js";
import { operation } from "../operation.js";
import { attemptShape } from "../shapes.js";

export const taskAttempts = operation({
  name: "tasks.attempts",
  summary: "List the attempts at a task, newest first",
  kind: "query",
  role: "viewer",
  input: () => z.object({ ...onTask(), limit: limit() }),
  output: () => z.object({ attempts: z.array(attemptShape()) }),
  refusals: ["TASK_NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId/attempts" },
  cli: "attempts",
});
