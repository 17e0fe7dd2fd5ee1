import { z } from "zod";
import { onTask } from "../fields.js";
import { operation } from "../operation.js";
import { taskShape } from "../shapes.js";

export const getTask = operation({
  name: "tasks.get",
  summary: "Show a task",
  kind: "query",
  role: "viewer",
  input: () => z.object(onTask()),
  output: () => z.object({ task: taskShape() }),
  refusals: ["TASK_NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId" },
  cli: "show",
  mcp: "get_task",
});
