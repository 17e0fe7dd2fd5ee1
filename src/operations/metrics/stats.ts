// S3's figures of a project or of the whole org, from what the recorder has counted.

import { type QueueStatus, queueStatuses } from "../../contract/stats/get.js";
import { type Cost, exact } from "../../core/cost.js";
import { limits } from "../../core/limits.js";
import type { ReadyCount } from "../../core/ready.js";
import { heldReviews } from "../../core/review.js";
import { sessionShownMs } from "../../core/session.js";
import { bucketStart, stepMs, type Totals, wholeOrg } from "../../core/tally.js";
import type { TaskState } from "../../core/task.js";
import type { Reads } from "../../core/view.js";
import { bucketIn, totalsIn } from "./documents.js";
import { landingStats } from "./landing-figures.js";

const statusOf = {
  queued: "blocked",
  claimed: "claimed",
  running: "in_progress",
  awaiting_response: "in_progress",
  submitted: "in_progress",
  completed: "done",
  failed: "failed",
  cancelled: "cancelled",
} as const satisfies Record<TaskState, QueueStatus>;

/** Of what is queued, the ready queue has the rest: what is not in it is blocked. */
export function byStatus(
  { states }: Totals,
  queue: readonly Pick<ReadyCount, "ready" | "scheduled">[],
): Record<QueueStatus, number> {
  const counts = Object.fromEntries(queueStatuses.map((status) => [status, 0])) as Record<
    QueueStatus,
    number
  >;
  for (const [state, count] of Object.entries(states)) counts[statusOf[state as TaskState]] += count;
  for (const { ready, scheduled } of queue) {
    counts.available += ready;
    counts.scheduled += scheduled;
  }
  // A store that cannot be written counts its states later than its queue.
  counts.available = Math.min(counts.available, counts.blocked);
  counts.scheduled = Math.min(counts.scheduled, counts.blocked - counts.available);
  counts.blocked -= counts.available + counts.scheduled;
  return counts;
}

/** Live sessions that hold or review something, and that do not. */
export function countSessions(view: Reads, project: string | null, now: number) {
  const sessions = view.sessions({
    project,
    live: true,
    seenSince: now - sessionShownMs,
    limit: limits.openClaimsMax,
    readableOnly: true,
  });
  const claims = view.openClaims({ project, limit: limits.openClaimsMax, readableOnly: true });
  const holders = new Set(claims.map((claim) => `${claim.project}/${claim.sessionId}`));
  const active = sessions.filter(
    (session) =>
      holders.has(`${session.project}/${session.id}`) || heldReviews(view, session, now).length > 0,
  ).length;
  return { active, idle: sessions.length - active };
}

const windowMs = 60 * stepMs.minute;

/** Of the whole minutes that began in the last hour, and the present one. */
function throughput(view: Reads, project: string, totals: Totals, now: number) {
  const since = bucketStart("minute", now - windowMs + stepMs.minute - 1);
  let completed = 0;
  const duration = { count: 0, sumMs: 0 };
  for (let at = since; at <= now; at += stepMs.minute) {
    const bucket = bucketIn(view, { step: "minute", at, project });
    completed += bucket?.completed ?? 0;
    duration.count += bucket?.duration.count ?? 0;
    duration.sumMs += bucket?.duration.sumMs ?? 0;
  }
  if (duration.count === 0) {
    duration.count = totals.durations.counts.reduce((sum, count) => sum + count, 0);
    duration.sumMs = totals.durations.sumMs;
  }
  const minutes = Math.max(1, (now - Math.max(since, totals.firstAt)) / stepMs.minute);
  return {
    tasks_per_minute: completed / minutes,
    avg_completion_time_seconds: duration.count === 0 ? 0 : duration.sumMs / duration.count / 1000,
  };
}

const wireCost = ({ usd, inputTokens, outputTokens }: Cost) => ({
  usd,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
});

const wireCosts = (costs: Record<string, Cost>) =>
  Object.fromEntries(Object.entries(costs).map(([name, cost]) => [name, wireCost(cost)]));

function usageStats({ cost }: Totals) {
  const per = (count: number) => (count === 0 ? null : exact(cost.usd / count));
  return {
    ...wireCost(cost),
    usd_per_completed: per(cost.completed),
    usd_per_landed: per(cost.landed),
    by_agent_type: wireCosts(cost.byAgentType),
    by_label: wireCosts(cost.byLabel),
    by_resource: wireCosts(cost.byResource),
    // Databases that keep JSON as such forget the order of its fields.
    by_day: wireCosts(Object.fromEntries(Object.entries(cost.byDay).sort(([a], [b]) => (a < b ? -1 : 1)))),
  };
}

export function stats(view: Reads, project: string | null, now: number) {
  const name = project ?? wholeOrg;
  const totals = totalsIn(view, name, now);
  const by_status = byStatus(totals, view.readyCounts(project, now));
  return {
    queue_size: Object.values(by_status).reduce((sum, count) => sum + count, 0),
    by_status,
    throughput: throughput(view, name, totals, now),
    agents: countSessions(view, project, now),
    landing: landingStats(view, totals, project, now),
    usage: usageStats(totals),
  };
}
