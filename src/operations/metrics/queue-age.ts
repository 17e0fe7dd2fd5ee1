// How long the oldest task that can be claimed has waited, now and in the past. Nobody samples the queue: whatever was in it then is
// in it still, or has left it since, and whoever leaves says since when it could be claimed.

import { oldestReadyAt } from "../../core/ready.js";
import { type Bucket, bucketStart, type MetricStep, stepMs, wholeOrg } from "../../core/tally.js";
import type { Reads } from "../../core/view.js";
import { bucketIn } from "./documents.js";

/** How long the oldest task at the head of the queue could have been claimed; null: there is none. */
export function oldestReadyAgeMs(view: Reads, project: string | null, now: number): number | null {
  const since = oldestReadySince(view, project, now);
  return since === null ? null : Math.max(0, now - since);
}

function oldestReadySince(
  view: Reads,
  project: string | null,
  now: number,
  { evenPaused = false } = {},
): number | null {
  return view
    .projects({ readableOnly: true })
    .filter(({ id }) => project === null || id === project)
    .map((each) => oldestReadyAt(view, evenPaused ? { ...each, paused: false } : each, now))
    .reduce(earlier, null);
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

const never = Number.POSITIVE_INFINITY;

interface Scope {
  step: MetricStep;
  /** null: all. */
  project: string | null;
  now: number;
}

/**
 * The longest that a task had waited in each of these minutes or hours, which follow each other: when it left the queue, or else at
 * the end. A pause is waiting, too: what the past looks like must not change when a project is paused or resumed.
 */
export function oldestAges(
  view: Reads,
  { step, project, now }: Scope,
  filled: readonly { at: number; bucket: Bucket }[],
): (number | null)[] {
  const last = filled.at(-1);
  if (!last) return [];
  const present = oldestReadySince(view, project, now, { evenPaused: true });
  const left = leftAfter(view, { step, project, now }, last.at + stepMs[step]);
  let since = earlier(present, left) ?? never;
  const ages: (number | null)[] = [];
  for (const { at, bucket } of filled.toReversed()) {
    const end = Math.min(now, at + stepMs[step]);
    const isIn = since < at + stepMs[step] && bucket.queued > 0;
    ages.push(longer(bucket.longestWaitMs, isIn ? Math.max(0, end - since) : null));
    since = Math.min(since, bucket.oldestSince ?? never);
  }
  return ages.reverse();
}

function longer(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** Who waited longer than these hours, six weeks, is not found. */
const hoursMax = 1000;

/** Since when the oldest of the tasks could be claimed that left the queue after that instant: the rest of its hour, then by hours. */
function leftAfter(view: Reads, { step, project, now }: Scope, end: number): number | null {
  const name = project ?? wholeOrg;
  let since: number | null = null;
  const look = (by: MetricStep, at: number) => {
    since = earlier(since, bucketIn(view, { step: by, at, project: name })?.oldestSince ?? null);
  };
  let at = end;
  for (; step === "minute" && at <= now && at !== bucketStart("hour", at); at += stepMs.minute)
    look("minute", at);
  const until = Math.min(now, at + hoursMax * stepMs.hour);
  for (; at <= until; at += stepMs.hour) look("hour", at);
  return since;
}
