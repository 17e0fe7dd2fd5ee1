// What the store tells of a whole org. The counts come from the recorder; only the ready queue is counted
// by each scrape, in its index.

import { inUse, openHolds, type Resource, resourcesOf } from "../../core/resource.js";
import { bounds, type Histogram, type Totals, wholeOrg } from "../../core/tally.js";
import type { Reads } from "../../core/view.js";
import type { Executor } from "../execute.js";
import { totalsIn } from "./documents.js";
import { type Family, histogram, single } from "./exposition.js";
import { landingWaits } from "./landing-figures.js";
import { oldestReadyAgeMs } from "./queue-age.js";
import { catchUpIfWritable } from "./recorder.js";
import { byStatus, countSessions } from "./stats.js";

/** Everything that the store can tell, counted up to now. */
export async function storeFamilies(executor: Executor, org: string): Promise<Family[]> {
  await catchUpIfWritable(executor, org);
  return executor.store.read(org, familiesOf);
}

function familiesOf(view: Reads, now: number): Family[] {
  const totals = totalsIn(view, wholeOrg, now);
  const { active, idle } = countSessions(view, null, now);
  return [
    {
      name: "task_queue_size",
      type: "gauge",
      help: "Tasks by status.",
      samples: Object.entries(byStatus(totals, view.readyCounts(null, now))).map(([status, value]) => ({
        labels: { status },
        value,
      })),
    },
    ...counters(totals),
    waits("task_duration_seconds", "From start to completion.", "durations", totals),
    single(
      "dibs_ready_oldest_age_seconds",
      "gauge",
      "How long the oldest task at the head of the queue could have been claimed.",
      (oldestReadyAgeMs(view, null, now) ?? 0) / 1000,
    ),
    waits("dibs_claim_wait_seconds", "From claimable to claimed.", "claimWaits", totals),
    single("dibs_questions_open", "gauge", "Tasks that wait for an answer.", totals.states.awaiting_response),
    waits("dibs_question_wait_seconds", "From question to answer.", "questionWaits", totals),
    {
      name: "dibs_sessions",
      type: "gauge",
      help: "Live sessions that hold a task, and that do not.",
      samples: [
        { labels: { state: "working" }, value: active },
        { labels: { state: "idle" }, value: idle },
      ],
    },
    ...landingFamilies(view, totals, now),
    ...resourceFamilies(view, totals, now),
  ];
}

function landingFamilies(view: Reads, totals: Totals, now: number): Family[] {
  const { held, reviewsWaiting, oldestReviewMs } = landingWaits(view, null, now);
  return [
    single("dibs_submitted", "gauge", "Tasks that wait to land.", totals.states.submitted),
    single("dibs_submissions_total", "counter", "Submissions that were handed in.", totals.submissions),
    single("dibs_landed_total", "counter", "Tasks completed by a landing.", totals.landings),
    {
      name: "dibs_returned_total",
      type: "counter",
      help: "Submissions that were sent back.",
      samples: Object.entries(totals.returns).map(([reason, value]) => ({ labels: { reason }, value })),
    },
    waits(
      "dibs_landing_seconds",
      "From the first submission of a task to its landing.",
      "landingWaits",
      totals,
    ),
    single("dibs_landing_holds", "gauge", "What keeps landers from landing; a missing lander is one.", held),
    single(
      "dibs_flaky_checks_total",
      "counter",
      "Checks that failed, and passed when they ran again on the same tree.",
      totals.flakyChecks,
    ),
    single(
      "dibs_done_not_landed",
      "gauge",
      "Tasks completed although the change that they handed in is not on the target: must be 0.",
      totals.notLanded,
    ),
    single("dibs_reviews_waiting", "gauge", "Submissions that wait for a review.", reviewsWaiting),
    single(
      "dibs_review_oldest_age_seconds",
      "gauge",
      "How long ago the oldest submission that waits for a review was handed in.",
      (oldestReviewMs ?? 0) / 1000,
    ),
  ];
}

/** A resource's id is a label: there are few, and they stay. */
function resourceFamilies(view: Reads, { cost }: Totals, now: number): Family[] {
  const resources = resourcesOf(view);
  const gauge = (name: string, help: string, value: (resource: Resource) => number): Family => ({
    name,
    type: "gauge",
    help,
    samples: resources.map((each) => ({ labels: { resource: each.id }, value: value(each) })),
  });
  return [
    single("dibs_usage_usd_total", "counter", "What attempts have cost, as far as they said.", cost.usd),
    {
      name: "dibs_usage_tokens_total",
      type: "counter",
      help: "Tokens that attempts have used, as far as they said.",
      samples: [
        { labels: { direction: "input" }, value: cost.inputTokens },
        { labels: { direction: "output" }, value: cost.outputTokens },
      ],
    },
    gauge(
      "dibs_resource_in_use",
      "Units of a resource that open claims hold.",
      ({ id }) => inUse(view, id).units,
    ),
    gauge("dibs_resource_held", "1 while a resource is held, and no claim gets it.", (resource) =>
      openHolds(resource, now).length > 0 ? 1 : 0,
    ),
  ];
}

function counters({ completions, failures, expirations, orphaned }: Totals): Family[] {
  return [
    single("task_completions_total", "counter", "Tasks completed by a session.", completions),
    single("task_failures_total", "counter", "Attempts that failed, retried or not.", failures),
    single("dibs_lease_expirations_total", "counter", "Claims whose lease ran out.", expirations),
    single("dibs_claims_orphaned_total", "counter", "Claims whose session died.", orphaned),
  ];
}

function waits(name: string, help: string, which: keyof typeof bounds, totals: Totals): Family {
  const { counts, sumMs }: Histogram = totals[which];
  const count = counts.reduce((sum, each) => sum + each, 0);
  return histogram(name, help, bounds[which], [{ labels: {}, counts, count, sum: sumMs / 1000 }]);
}
