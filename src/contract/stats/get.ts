import { z } from "zod";
import type { ReturnReason } from "../../core/landing.js";
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

const cost = once(() => ({ usd: z.number(), input_tokens: z.number(), output_tokens: z.number() }));
const costs = once(() => z.record(z.string(), z.object(cost())));

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
        in_progress: count().describe("Running, waiting for an answer, or submitted"),
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
      landing: z
        .object({
          submitted: count().describe("Tasks that wait to land now"),
          submissions: count().describe("All that were handed in"),
          landed: count().describe("Tasks that were completed by a landing"),
          returned: z
            .object({
              conflict: count(),
              "check-failed": count(),
              "changes-requested": count(),
            } satisfies Record<ReturnReason, z.ZodType>)
            .describe("Submissions that were sent back, by reason"),
          held: count().describe("What keeps landers from landing now; a missing lander is one"),
          flaky_checks: count().describe(
            "Checks that failed, and passed when they ran again on the same tree",
          ),
          avg_landing_time_seconds: z
            .number()
            .nullable()
            .describe("From the first submission of a task to its landing; null: none has landed"),
          conflicts_per_100_landings: z.number().nullable().describe("null: none has landed"),
          done_not_landed: count().describe(
            "Tasks that were completed although the change that they handed in is not on the target: must be 0",
          ),
          reviews_waiting: count().describe("Submissions that wait for a review now"),
          oldest_review_seconds: z
            .number()
            .nullable()
            .describe("How long ago the oldest of them was submitted; null: none waits"),
        })
        .describe("Of projects whose work lands on a branch"),
      usage: z
        .object({
          ...cost(),
          usd_per_completed: z
            .number()
            .nullable()
            .describe("All cost by completed task of known cost; null: there is none"),
          usd_per_landed: z.number().nullable().describe("The same by landed task"),
          by_agent_type: costs(),
          by_label: costs().describe("A task with several labels counts under each"),
          by_resource: costs().describe("By resource that the claim used; one of several counts under each"),
          by_day: costs().describe(
            "By the day on which it was reported, in UTC; the last 31 on which something was",
          ),
        })
        .describe(
          "What attempts have cost, as far as they said. Beyond fifty names of a kind, the rest is under *",
        ),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/stats" },
  cli: "stats",
});
