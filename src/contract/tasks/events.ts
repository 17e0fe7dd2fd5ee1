import { z } from "zod";
import { limit, onTask } from "../fields.js";
import { operation } from "../operation.js";
import { eventShape } from "../shapes.js";

export const taskEvents = operation({
  name: "tasks.events",
  summary: "List the events of a task",
  kind: "query",
  role: "viewer",
  input: () => z.object({ ...onTask(), after: z.coerce.number().int().min(0).default(0), limit: limit() }),
  output: () =>
    z.object({
      events: z.array(eventShape()),
      nextAfter: z.number(),
    }),
  refusals: ["TASK_NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId/events" },
  cli: "events",
});
