// What happened minute by minute or hour by hour. Only minutes and hours in which something happened are stored; the others are
// filled in. Buckets are looked up one by one: their number is bounded, however many projects there are.

import type { OutputOf, ParsedOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import { accept, type Outcome, type Refusal, refuse } from "../../core/refusal.js";
import {
  type AgentWork,
  type Bucket,
  bucketStart,
  type Mean,
  type MetricStep,
  noBucket,
  stepMs,
  wholeOrg,
} from "../../core/tally.js";
import type { Reads } from "../../core/view.js";
import { iso } from "../render.js";
import { bucketIn, bucketKind, timeKey, totalsIn } from "./documents.js";
import { oldestAges, oldestReadyAgeMs } from "./queue-age.js";

type Input = ParsedOf<OperationNamed<"metrics.history">>;
type Output = OutputOf<OperationNamed<"metrics.history">>;

const spanMsDefault = 3 * stepMs.hour;
/** A longer span is shown by the hour, unless asked otherwise. */
const minutesUpToMs = 6 * stepMs.hour;
const pointsMax = 1500;
/** Looking for what comes after a span in which nothing happened ends here. */
const searchMax = 1000;

export function history(view: Reads, project: string | null, input: Input, now: number): Outcome<Output> {
  // The present minute belongs to it, and nothing is known of later ones.
  const to = Math.min(input.to ?? now + 1, now + 1);
  const from = input.from ?? Math.max(0, to - spanMsDefault);
  if (from >= (input.to ?? to)) return invalid("from", "`from` must be before `to`, and not in the future.");
  const step = input.step ?? (to - from > minutesUpToMs ? "hour" : "minute");
  const starts: number[] = [];
  for (let at = bucketStart(step, from); at < to; at += stepMs[step]) {
    if (starts.push(at) > pointsMax) return tooMany(step);
  }
  const name = project ?? wholeOrg;
  const buckets = starts.map((at) => bucketIn(view, { step, at, project: name }));
  let queued = queuedBefore(view, { step, end: to, project: name, now }, buckets);
  const filled = starts.map((at, index) => {
    const bucket = buckets[index] ?? { ...noBucket(), queued };
    queued = bucket.queued;
    return { at, bucket };
  });
  const ages = oldestAges(view, { step, project, now }, filled);
  const points = filled.map(({ at, bucket }, index) => pointOf(at, bucket, ages[index]!));
  const oldestReadyMs = oldestReadyAgeMs(view, project, now);
  return accept({ step, from: iso(starts[0] ?? from), to: iso(Math.max(from, to)), oldestReadyMs, points });
}

function invalid(path: string, message: string): Refusal {
  return refuse("VALIDATION_FAILED", message, { details: { issues: [{ path, message }] } });
}

function tooMany(step: MetricStep): Refusal {
  const less = step === "minute" ? "take step=hour or a shorter span" : "take a shorter span";
  return invalid("step", `These would be more than ${pointsMax} points; ${less}.`);
}

/** How long the queue was at the beginning: what happened next tells, or else it is as long as now. */
function queuedBefore(
  view: Reads,
  after: { step: MetricStep; end: number; project: string; now: number },
  buckets: readonly (Bucket | undefined)[],
): number {
  const first = buckets.find((bucket) => bucket !== undefined) ?? firstAfter(view, after);
  return first?.queuedBefore ?? totalsIn(view, after.project, after.now).states.queued;
}

function firstAfter(
  view: Reads,
  { step, end, project, now }: { step: MetricStep; end: number; project: string; now: number },
): Bucket | undefined {
  if (end > now) return undefined;
  const found = view
    .documents({ kind: bucketKind[step], afterKey: timeKey(step, end), limit: searchMax })
    .find(({ key }) => key.endsWith(`/${project}`));
  return found?.value as Bucket | undefined;
}

const average = ({ count, sumMs }: Mean) => (count === 0 ? null : sumMs / count);

function workOf(work: AgentWork) {
  const { claimed, completed, failed, lost, claimWait, duration, questionWait } = work;
  return {
    claimed,
    completed,
    failed,
    lost,
    avgClaimWaitMs: average(claimWait),
    avgDurationMs: average(duration),
    avgQuestionWaitMs: average(questionWait),
    answered: questionWait.count,
  };
}

function pointOf(at: number, bucket: Bucket, oldestReadyMs: number | null): Output["points"][number] {
  const { created, submitted, landed, returned, cost, queued, byAgent } = bucket;
  const agents = Object.entries(byAgent).map(([name, work]) => [name, workOf(work)]);
  return {
    at: iso(at),
    created,
    submitted,
    landed,
    returned,
    usage: cost,
    ...workOf(bucket),
    queued,
    oldestReadyMs,
    byAgent: Object.fromEntries(agents),
  };
}
