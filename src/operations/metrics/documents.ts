// Where the figures are kept: totals by project, and one document for each minute and hour in which something happened.

import {
  type Bucket,
  type BucketPlace,
  type MetricStep,
  noTotals,
  type Totals,
  wholeBucket,
  wholeTotals,
} from "../../core/tally.js";
import type { View } from "../../core/view.js";

type Documents = Pick<View, "document">;

export const totalsKind = "metrics";
/** Up to where the log has been counted. */
export const cursorKey = "totals";

export const bucketKind = { minute: "metrics-minute", hour: "metrics-hour" } as const;
/** How much of an ISO time names the bucket. */
const digits = { minute: 16, hour: 13 } as const;

export function totalsKey(project: string): string {
  return `${cursorKey}/${project}`;
}

/** Keys are in the order of time, so that old ones are found at the beginning. */
export function timeKey(step: MetricStep, at: number): string {
  return new Date(at).toISOString().slice(0, digits[step]);
}

export function bucketKey({ step, at, project }: BucketPlace): string {
  return `${timeKey(step, at)}/${project}`;
}

export interface Cursor {
  /** The last event that is counted. */
  cursor: number;
  /** The counts by state cannot be told from the log and have to be counted once. */
  inexact?: true;
}

export function cursorIn(view: Documents): Cursor {
  return (view.document(totalsKind, cursorKey) as Cursor | undefined) ?? { cursor: 0 };
}

export function storedTotals(view: Documents, project: string): Totals | undefined {
  const stored = view.document(totalsKind, totalsKey(project)) as Totals | undefined;
  return stored && wholeTotals(stored);
}

export function totalsIn(view: Documents, project: string, now: number): Totals {
  return storedTotals(view, project) ?? noTotals(now);
}

export function bucketIn(view: Documents, place: BucketPlace): Bucket | undefined {
  const stored = view.document(bucketKind[place.step], bucketKey(place)) as Partial<Bucket> | undefined;
  return stored && wholeBucket(stored);
}
