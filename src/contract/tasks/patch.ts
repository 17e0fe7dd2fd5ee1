import { z } from "zod";
import { onTask } from "../fields.js";
import { operation } from "../operation.js";

export const taskPatch = operation({
  name: "tasks.patch",
  summary: "Show what the last submission of a task changes, as a patch of at most 1 MiB",
  kind: "query",
  role: "viewer",
  input: () => z.object(onTask()),
  output: () =>
    z.object({
      taskId: z.string(),
      submission: z.number(),
      patch: z.string().describe("As the lander found it, cut by whole files"),
      omitted: z.number().describe("How many files were left out"),
    }),
  refusals: ["TASK_NOT_FOUND", "NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId/patch", text: "patch" },
});
