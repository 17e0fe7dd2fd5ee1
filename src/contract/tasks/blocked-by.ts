import { z } from "zod";
import { onTask } from "../fields.js";
import { operation } from "../operation.js";

export const blockedByTask = operation({
  name: "tasks.blockedBy",
  summary: "List the dependents of a task",
  kind: "query",
  role: "viewer",
  input: () => z.object(onTask()),
  output: () =>
    z.object({
      taskId: z.string(),
      direct: z.array(z.string()),
      transitive: z.array(z.string()).describe("Cut at 1000"),
      count: z.number().describe("All, direct and transitive"),
    }),
  refusals: ["TASK_NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId/blocked-by" },
  cli: "dependents",
});
