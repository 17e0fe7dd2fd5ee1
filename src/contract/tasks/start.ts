import { z } from "zod";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder } from "../fields.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

export const startTask = operation({
  name: "tasks.start",
  summary: "Start working on a claimed task",
  kind: "command",
  role: "worker",
  input: () => z.object(byHolder()),
  output: taskAnswer,
  refusals: holderPrecedence,
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/start" },
  cli: "start",
  mcp: "start_task",
});
