import { z } from "zod";
import { onTask } from "../fields.js";
import { operation } from "../operation.js";
import { submissionShape } from "../shapes.js";

export const taskSubmission = operation({
  name: "tasks.submission",
  summary: "Get the last submission of a task, or one by its number",
  kind: "query",
  role: "viewer",
  input: () => z.object({ ...onTask(), number: z.coerce.number().int().min(1).optional() }),
  output: () => z.object({ submission: submissionShape() }),
  refusals: ["TASK_NOT_FOUND", "NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId/submission" },
});
