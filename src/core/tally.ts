// What the event log adds up to: totals of a project, and what happened in each minute and hour. A tally is told events in the
// order of the log, asks for the figures so far where it needs them, and collects those that changed.

import {
  addCost,
  type Cost,
  type CostTotals,
  copyOfCosts,
  costOf,
  countCost,
  countKnown,
  noCost,
  noCostTotals,
} from "./cost.js";
import type { DibsEvent, EventType } from "./event.js";
import { type ReturnReason, returnReasons } from "./landing.js";
import { isUntold, moveOf } from "./moves.js";
import { type TaskState, taskStates } from "./task.js";

/** Figures of the whole org; no project has this name. */
export const wholeOrg = "*";

/** Of each bucket, at most so many sessions are kept apart; the rest is counted together. */
export const agentsMax = 50;
export const otherAgents = "*";

export const stepMs = { minute: 60_000, hour: 3_600_000 } as const;
export type MetricStep = keyof typeof stepMs;

/** Upper bounds in seconds; stored counts follow them, so they are never edited, only replaced under another name. */
export const bounds = {
  durations: [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400],
  claimWaits: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 1800, 3600, 14_400, 86_400],
  questionWaits: [5, 15, 60, 300, 900, 1800, 3600, 14_400, 28_800, 86_400, 259_200],
  landingWaits: [5, 15, 60, 300, 900, 1800, 3600, 14_400, 28_800, 86_400, 259_200],
} as const;

export interface Histogram {
  /** One per bound, not cumulated, and one for what is above all of them. */
  counts: number[];
  sumMs: number;
}

export interface Totals {
  states: Record<TaskState, number>;
  /** Attempts that completed their task; a group, which ends by itself, is none. */
  completions: number;
  /** Attempts that failed, retried or not. */
  failures: number;
  expirations: number;
  orphaned: number;
  /** Of the attempts that completed. */
  durations: Histogram;
  claimWaits: Histogram;
  questionWaits: Histogram;
  /** Submissions that were handed in. */
  submissions: number;
  /** Tasks that were completed by a landing. */
  landings: number;
  /** Submissions that were sent back. */
  returns: Record<ReturnReason, number>;
  /** Checks that failed and passed when they ran again on the same tree. */
  flakyChecks: number;
  /** From the first submission of a task to its landing. */
  landingWaits: Histogram;
  /** Tasks that were completed although the change that they handed in is not on the target. */
  notLanded: number;
  /** As far as attempts said what they cost. */
  cost: CostTotals;
  firstAt: number;
}

export interface Mean {
  count: number;
  sumMs: number;
}

export interface AgentWork {
  claimed: number;
  completed: number;
  failed: number;
  lost: number;
  claimWait: Mean;
  duration: Mean;
  questionWait: Mean;
}

export interface Bucket extends AgentWork {
  created: number;
  submitted: number;
  landed: number;
  returned: number;
  /** Reported in it. */
  cost: Cost;
  /** Of the tasks that left the queue, by a claim or cancelled: since when the oldest could be claimed, and the longest wait. */
  oldestSince: number | null;
  longestWaitMs: number | null;
  /** How long the queue was before its first event and after its last. */
  queuedBefore: number;
  queued: number;
  byAgent: Record<string, AgentWork>;
}

export interface BucketPlace {
  step: MetricStep;
  /** When it begins. */
  at: number;
  project: string;
}

/** The figures so far. They are not changed, but copied. */
export interface Figures {
  totals(project: string): Totals | undefined;
  bucket(place: BucketPlace): Bucket | undefined;
}

export function bucketStart(step: MetricStep, at: number): number {
  return Math.floor(at / stepMs[step]) * stepMs[step];
}

export class Tally {
  readonly totals = new Map<string, Totals>();
  readonly buckets = new Map<string, BucketPlace & { bucket: Bucket }>();
  /** False: there was an event that does not tell how it moved its task, so the counts by state are guesses. */
  isExact = true;

  constructor(private readonly figures: Figures) {}

  count(event: DibsEvent): void {
    if (event.project === null) return;
    if (isUntold(event)) this.isExact = false;
    for (const project of [event.project, wholeOrg]) this.countIn(project, event);
  }

  /** Replaces the counts by state: for when the log does not tell them. */
  recount(project: string, counts: Partial<Record<TaskState, number>>, now: number): void {
    this.totalsOf(project, now).states = { ...noStates(), ...counts };
  }

  private countIn(project: string, event: DibsEvent): void {
    const move = moveOf(event);
    const counted = countedTypes.has(event.type);
    if (!move && !counted && this.knows(project)) return;
    const totals = this.totalsOf(project, event.at);
    const queuedBefore = totals.states.queued;
    if (move?.from) totals.states[move.from]--;
    if (move?.to) totals.states[move.to]++;
    countTotals(totals, event);
    if (!move && !counted) return;
    for (const step of ["minute", "hour"] as const) {
      const place = { step, at: bucketStart(step, event.at), project };
      const bucket = this.bucketOf(place, queuedBefore);
      countBucket(bucket, event);
      bucket.queued = totals.states.queued;
    }
  }

  private knows(project: string): boolean {
    return this.totals.has(project) || this.figures.totals(project) !== undefined;
  }

  private totalsOf(project: string, at: number): Totals {
    let totals = this.totals.get(project);
    if (!totals) {
      const known = this.figures.totals(project);
      totals = known ? copyOfTotals(known) : noTotals(at);
      this.totals.set(project, totals);
    }
    return totals;
  }

  private bucketOf(place: BucketPlace, queuedBefore: number): Bucket {
    const key = `${place.step} ${place.at} ${place.project}`;
    let found = this.buckets.get(key);
    if (!found) {
      const known = this.figures.bucket(place);
      found = { ...place, bucket: known ? copyOfBucket(known) : { ...noBucket(), queuedBefore } };
      this.buckets.set(key, found);
    }
    return found.bucket;
  }
}

/** These count even where they move nothing. */
const countedTypes: ReadonlySet<string> = new Set([
  "task:created",
  "task:claim-expired",
  "task:claim-orphaned",
  "task:landed",
  "task:returned",
  "task:usage",
] satisfies DibsEvent["type"][]);

const isWork = (event: DibsEvent) => event.sessionId !== null;

function countTotals(totals: Totals, event: DibsEvent): void {
  switch (event.type) {
    case "task:submitted":
      totals.submissions++;
      return;
    case "task:landed":
      totals.landings++;
      totals.flakyChecks += numberIn(event, "flaky");
      enter(totals.landingWaits, bounds.landingWaits, event.data.waitedMs);
      return;
    case "task:returned":
      totals.flakyChecks += numberIn(event, "flaky");
      if (isReturnReason(event.data.reason)) totals.returns[event.data.reason]++;
      return;
    case "task:claimed":
      enter(totals.claimWaits, bounds.claimWaits, event.data.waitedMs);
      return;
    case "task:completed":
      if (event.data.notLanded === true) totals.notLanded++;
      countKnown(totals.cost, event);
      if (!isWork(event)) return;
      totals.completions++;
      enter(totals.durations, bounds.durations, event.data.durationMs);
      return;
    case "task:failed":
    case "task:retry-scheduled":
      totals.failures++;
      return;
    case "task:claim-expired":
      totals.expirations++;
      return;
    case "task:claim-orphaned":
      totals.orphaned++;
      return;
    case "task:usage":
      countCost(totals.cost, event);
      return;
    case "task:response-received":
      enter(totals.questionWaits, bounds.questionWaits, event.data.waitedMs);
      return;
  }
}

function numberIn({ data }: DibsEvent, field: string): number {
  return typeof data[field] === "number" ? data[field] : 0;
}

const isReturnReason = (reason: unknown): reason is ReturnReason =>
  returnReasons.includes(reason as ReturnReason);

function countBucket(bucket: Bucket, event: DibsEvent): void {
  if (event.type === "task:created") bucket.created++;
  if (event.type === "task:submitted") bucket.submitted++;
  if (event.type === "task:landed") bucket.landed++;
  if (event.type === "task:returned") bucket.returned++;
  if (event.type === "task:usage") addCost(bucket.cost, costOf(event));
  if (event.type === "task:claimed" || event.type === "task:cancelled") countLeaving(bucket, event);
  const count = workOf[event.type];
  if (!count || (event.type === "task:completed" && !isWork(event))) return;
  count(bucket, event.data);
  if (event.sessionId !== null) count(agentOf(bucket.byAgent, event.sessionId), event.data);
}

function countLeaving(bucket: Bucket, { at, data: { waitedMs } }: DibsEvent): void {
  if (typeof waitedMs !== "number") return;
  bucket.oldestSince = Math.min(bucket.oldestSince ?? at, at - waitedMs);
  bucket.longestWaitMs = Math.max(bucket.longestWaitMs ?? 0, waitedMs);
}

const failed = (work: AgentWork) => work.failed++;
const lost = (work: AgentWork) => work.lost++;

/** What counts as somebody's work. */
const workOf: { [T in EventType]?: (work: AgentWork, data: DibsEvent["data"]) => void } = {
  "task:claimed": (work, { waitedMs }) => {
    work.claimed++;
    add(work.claimWait, waitedMs);
  },
  "task:completed": (work, { durationMs }) => {
    work.completed++;
    add(work.duration, durationMs);
  },
  "task:failed": failed,
  "task:retry-scheduled": failed,
  "task:claim-expired": lost,
  "task:claim-orphaned": lost,
  "task:response-received": (work, { waitedMs }) => add(work.questionWait, waitedMs),
};

function agentOf(byAgent: Bucket["byAgent"], sessionId: string): AgentWork {
  // hasOwn: a session may be called `constructor`.
  const isFull = Object.keys(byAgent).length >= agentsMax;
  const name = Object.hasOwn(byAgent, sessionId) || !isFull ? sessionId : otherAgents;
  if (!Object.hasOwn(byAgent, name)) byAgent[name] = noWork();
  return byAgent[name]!;
}

function add(mean: Mean, ms: unknown): void {
  if (typeof ms !== "number") return;
  mean.count++;
  mean.sumMs += ms;
}

function enter(histogram: Histogram, upTo: readonly number[], ms: unknown): void {
  if (typeof ms !== "number") return;
  const at = upTo.findIndex((bound) => ms <= bound * 1000);
  histogram.counts[at < 0 ? upTo.length : at]!++;
  histogram.sumMs += ms;
}

function noStates(): Record<TaskState, number> {
  return Object.fromEntries(taskStates.map((state) => [state, 0])) as Record<TaskState, number>;
}

const empty = (upTo: readonly number[]): Histogram => ({
  counts: new Array(upTo.length + 1).fill(0),
  sumMs: 0,
});

function noReturns(): Record<ReturnReason, number> {
  return Object.fromEntries(returnReasons.map((reason) => [reason, 0])) as Record<ReturnReason, number>;
}

export function noTotals(firstAt: number): Totals {
  return {
    states: noStates(),
    completions: 0,
    failures: 0,
    expirations: 0,
    orphaned: 0,
    durations: empty(bounds.durations),
    claimWaits: empty(bounds.claimWaits),
    questionWaits: empty(bounds.questionWaits),
    submissions: 0,
    landings: 0,
    returns: noReturns(),
    flakyChecks: 0,
    landingWaits: empty(bounds.landingWaits),
    notLanded: 0,
    cost: noCostTotals(),
    firstAt,
  };
}

function noWork(): AgentWork {
  return {
    claimed: 0,
    completed: 0,
    failed: 0,
    lost: 0,
    claimWait: { count: 0, sumMs: 0 },
    duration: { count: 0, sumMs: 0 },
    questionWait: { count: 0, sumMs: 0 },
  };
}

export function noBucket(): Bucket {
  return {
    ...noWork(),
    created: 0,
    submitted: 0,
    landed: 0,
    returned: 0,
    cost: noCost(),
    oldestSince: null,
    longestWaitMs: null,
    queuedBefore: 0,
    queued: 0,
    byAgent: {},
  };
}

const copyOfHistogram = ({ counts, sumMs }: Histogram): Histogram => ({ counts: [...counts], sumMs });

function copyOfTotals(totals: Totals): Totals {
  return {
    ...totals,
    states: { ...noStates(), ...totals.states },
    durations: copyOfHistogram(totals.durations),
    claimWaits: copyOfHistogram(totals.claimWaits),
    questionWaits: copyOfHistogram(totals.questionWaits),
    returns: { ...totals.returns },
    landingWaits: copyOfHistogram(totals.landingWaits),
    cost: copyOfCosts(totals.cost),
  };
}

/** Stored by a program that counted less: what it did not count begins at 0. */
export function wholeTotals(stored: Partial<Totals> & Pick<Totals, "firstAt">): Totals {
  const none = noTotals(stored.firstAt);
  return {
    ...none,
    ...stored,
    returns: { ...none.returns, ...stored.returns },
    cost: { ...none.cost, ...stored.cost },
  };
}

function copyOfWork<T extends AgentWork>(work: T): T {
  return {
    ...work,
    claimWait: { ...work.claimWait },
    duration: { ...work.duration },
    questionWait: { ...work.questionWait },
  };
}

function copyOfBucket(bucket: Bucket): Bucket {
  const byAgent = Object.entries(bucket.byAgent).map(([name, work]) => [name, copyOfWork(work)]);
  return { ...copyOfWork(bucket), cost: { ...bucket.cost }, byAgent: Object.fromEntries(byAgent) };
}

/** What is kept outlives the program that wrote it: of an older one's bucket, what it did not count is not known. */
export function wholeBucket(stored: Partial<Bucket>): Bucket {
  const byAgent = Object.entries(stored.byAgent ?? {}).map(([name, work]) => [
    name,
    { ...noWork(), ...work },
  ]);
  return { ...noBucket(), ...stored, byAgent: Object.fromEntries(byAgent) };
}
