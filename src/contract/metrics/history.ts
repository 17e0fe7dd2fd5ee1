import { z } from "zod";
import { instant, projectOrAll } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { time } from "../shapes.js";

const count = once(() => z.number().int());
const averageMs = once(() => z.number().nullable().describe("null: there was none"));

const work = once(() => ({
  claimed: count(),
  completed: count(),
  failed: count().describe("Failed attempts, retried or not"),
  lost: count().describe("Claims whose lease ran out or whose session died"),
  avgClaimWaitMs: averageMs(),
  avgDurationMs: averageMs(),
  avgQuestionWaitMs: averageMs(),
  answered: count().describe("Questions that were answered"),
}));

export const metricsHistory = operation({
  name: "metrics.history",
  summary: "Show what happened minute by minute or hour by hour",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: projectOrAll(),
      from: instant().optional().describe("Default: three hours before `to`"),
      to: instant().optional().describe("Exclusive. Default: now"),
      step: z
        .enum(["minute", "hour"])
        .optional()
        .describe("Default: minute up to six hours, else hour. Minutes are kept for two days, hours for 400"),
    }),
  output: () =>
    z.object({
      step: z.enum(["minute", "hour"]),
      from: time(),
      to: time(),
      oldestReadyMs: z
        .number()
        .nullable()
        .describe("How long the oldest task that can be claimed now could have been; null: there is none"),
      points: z.array(
        z.object({
          at: time().describe("When the minute or hour begins"),
          created: count(),
          submitted: count().describe("Submissions that were handed in"),
          landed: count().describe("Tasks that were completed by a landing"),
          returned: count().describe("Submissions that were sent back"),
          usage: z
            .object({ usd: z.number(), inputTokens: z.number(), outputTokens: z.number() })
            .describe("What attempts have cost, as far as they said; counted when it was reported"),
          ...work(),
          queued: count().describe("Queued tasks at its end"),
          oldestReadyMs: z
            .number()
            .nullable()
            .describe(
              "The longest that a task that could be claimed had waited, at its end or when it was claimed or cancelled in it; null: there was none. A task that was given back keeps its place, so the time in which it was held counts as well, and so does the time in which a project was paused",
            ),
          byAgent: z
            .record(z.string(), z.object(work()))
            .describe(
              "By session; beyond fifty, the rest is under *. Answers to a session that no longer holds its task are not counted",
            ),
        }),
      ),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/metrics/history" },
});
