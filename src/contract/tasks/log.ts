import { z } from "zod";
import { onTask } from "../fields.js";
import { operation } from "../operation.js";
import { time } from "../shapes.js";

export const taskLog = operation({
  name: "tasks.log",
  summary: "Show the log of an attempt, its last 256 KiB",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      ...onTask(),
      epoch: z.coerce.number().int().min(1).optional().describe("Default: the last attempt that has a log"),
    }),
  output: () =>
    z.object({
      taskId: z.string(),
      epoch: z.number().nullable(),
      text: z.string(),
      truncatedBytes: z.number().describe("What was cut off at the beginning"),
      updatedAt: time().nullable(),
    }),
  refusals: ["TASK_NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/:taskId/log" },
});
