import { z } from "zod";
import { projectOrAll } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";

/** The words of task_queue_size{status}, too. */
export const queueStatuses = [
  "available",
  "blocked",
  "scheduled",
  "claimed",
  "in_progress",
  "done",
  "failed",
  "cancelled",
] as const;
export type QueueStatus = (typeof queueStatuses)[number];

const count = once(() => z.number().int());

export const getStats = operation({
  name: "stats.get",
  summary: "Count tasks, throughput and agents",
  kind: "query",
  role: "viewer",
  input: () => z.object({ project: projectOrAll() }),
  output: () =>
    z.object({
      queue_size: count().describe("All of by_status together"),
      by_status: z.object({
        available: count().describe("Ready: can be claimed now"),
        blocked: count().describe("Waiting for dependencies or subtasks, and groups"),
        scheduled: count().describe("Not before a later time: scheduled, or waiting for a retry"),
        claimed: count(),
        in_progress: count().describe("Running, or waiting for an answer"),
        done: count(),
        failed: count(),
        cancelled: count(),
      } satisfies Record<QueueStatus, z.ZodType>),
      throughput: z.object({
        tasks_per_minute: z.number().describe("Completed in the last hour, or since the first event"),
        avg_completion_time_seconds: z
          .number()
          .describe("From start to completion, in the last hour; if nothing was completed in it, ever"),
      }),
      agents: z.object({
        active: count().describe("Live sessions that hold something"),
        idle: count(),
      }),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/stats" },
  cli: "stats",
});
