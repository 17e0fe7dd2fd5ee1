// Agents that fail at once. A failure right after the start, without progress or a question, says more about the agent than about
// the task. Several in a row by one agent type on one host open its breaker: claims that heed it get one task at a time, as a
// probe, with growing pauses, until an attempt ends any other way. All breakers of a project are one document, so that a command
// finds its own without a second lookup.

import { exactDuration } from "../../common/duration.js";
import type { Attempt, Claim } from "../claim.js";
import type { Draft } from "../draft.js";
import { beginningOf, limits, quickMs } from "../limits.js";
import { canRead } from "../refusal.js";
import type { Session } from "../session.js";
import type { Task } from "../task.js";
import type { View } from "../view.js";
import { markRead } from "./notification.js";

export const breakerKind = "breaker";

export interface Breaker {
  agentType: string | null;
  /** Quick failures in a row. */
  failures: number;
  /** The task that failed, if it was always the same. */
  taskId: string | null;
  failedAt: number;
  /** Open: the instant of the next probe. */
  probeAt: number | null;
  /** The id of the notification about it. */
  notificationId: string | null;
  /** An attempt went well after quick failures; they are counted from 0 again. */
  workedAt?: number;
}

const failuresMax = 5;
/** Where retries do not wait, probes do. */
const pauseMsMin = 1_000;
const pauseMsMax = 15 * 60_000;
/** A probe that neither failed nor worked for this long was lost: the next one is due. */
const probeMs = 20_000;
/** A breaker that no failure has touched for this long is dropped. */
const keptMs = 24 * 60 * 60_000;

/** Whose failures are counted together. */
interface Origin {
  project: string;
  agentType: string | null;
  host: string | null;
  /** Reported by a worker that is no runner: such failures hold no claim back. */
  isForeign?: boolean;
}

const keyOf = ({ agentType, host, isForeign }: Origin) =>
  `${beginningOf(`${agentType ?? ""}@${host ?? ""}`, 500)}${isForeign ? "!" : ""}`;

function originOf(draft: Draft, { project, sessionId, agentType }: Claim | Attempt): Origin {
  return { project, agentType, host: draft.session(project, sessionId)?.host ?? null };
}

type Breakers = Record<string, Breaker>;

function breakersOf(view: Pick<View, "document">, project: string): Breakers | null {
  let found: Breakers | null = null;
  // A damaged row must not keep tasks from being completed.
  canRead(() => {
    found = (view.document(breakerKind, project) as Breakers | undefined) ?? null;
  });
  return found;
}

function put(draft: Draft, origin: Origin, breaker: Breaker | null): void {
  const key = keyOf(origin);
  const others = Object.entries(breakersOf(draft, origin.project) ?? {}).filter(
    ([name, { failedAt }]) => name !== key && Math.abs(draft.now - failedAt) < keptMs,
  );
  const kept = others.slice(-(limits.breakersMax - 1));
  if (breaker) kept.push([key, breaker]);
  draft.putDocument(breakerKind, origin.project, kept.length === 0 ? null : Object.fromEntries(kept));
}

const find = (draft: Draft, origin: Origin) => {
  const breakers = breakersOf(draft, origin.project);
  const key = keyOf(origin);
  return breakers && Object.hasOwn(breakers, key) ? breakers[key]! : null;
};

function pauseMs(draft: Draft, project: string, failures: number): number {
  const { delayMs } = draft.project(project).settings.retry;
  return Math.min(Math.max(delayMs, pauseMsMin) * 2 ** Math.min(failures - failuresMax, 30), pauseMsMax);
}

export interface OpenBreaker extends Breaker {
  probeAt: number;
}

/** The open breaker of who wants to claim, if there is one. */
export function openBreaker(draft: Draft, origin: Origin): OpenBreaker | null {
  return ifOpen(find(draft, origin), draft.now);
}

function ifOpen(breaker: Breaker | null, now: number): OpenBreaker | null {
  if (!breaker || breaker.probeAt === null) return null;
  // No pause is this long: the clock was set back since.
  const isFromFuture = breaker.probeAt > now + pauseMsMax;
  return { ...breaker, probeAt: isFromFuture ? now : breaker.probeAt };
}

/** Every open breaker of a project, for people; of a session, only its own. */
export function openBreakers(
  view: Pick<View, "document">,
  project: string,
  now: number,
  session?: Pick<Session, "agentType" | "host">,
): OpenBreaker[] {
  const own = session && keyOf({ project, agentType: session.agentType, host: session.host });
  return Object.entries(breakersOf(view, project) ?? {}).flatMap(([key, breaker]) => {
    const open = own === undefined || key === own ? ifOpen(breaker, now) : null;
    return open ? [open] : [];
  });
}

/** The next claim is a probe; until it fails or works, there is no other. */
export function noteProbe(draft: Draft, origin: Origin, breaker: OpenBreaker): void {
  const waitMs = Math.max(probeMs, pauseMs(draft, origin.project, breaker.failures));
  put(draft, origin, { ...breaker, probeAt: draft.now + waitMs });
}

function workedQuickly(start: number, end: number): boolean {
  return end - start <= quickMs;
}

/** Whether an attempt that fails now fails quickly. */
export function isQuick(claim: Claim, task: Task, now: number): boolean {
  const { startedAt, claimedAt, progress } = claim;
  return workedQuickly(startedAt ?? claimedAt, now) && progress === null && task.question === null;
}

const attemptsBack = 5;

/**
 * A task that fails quickly again although its agent has worked on others since is the cause itself. Without this, it
 * would be retried indefinitely next to tasks that succeed.
 */
export function isTaskToBlame(draft: Draft, task: Task, claim: Claim): boolean {
  const origin = originOf(draft, claim);
  const workedAt = find(draft, origin)?.workedAt;
  if (workedAt === undefined) return false;
  for (let epoch = task.epoch; epoch > Math.max(0, task.epoch - attemptsBack); epoch--) {
    const before = draft.attempt(task.project, task.id, epoch);
    if (before?.end !== "fail" || before.progress !== null) continue;
    const wasQuick = workedQuickly(before.startedAt ?? before.claimedAt, before.releasedAt);
    if (wasQuick && before.releasedAt <= workedAt && keyOf(originOf(draft, before)) === keyOf(origin))
      return true;
  }
  return false;
}

interface QuickFailure {
  error: string;
  /** A runner reported it, which then waits; others get the item in the inbox only. */
  isRunner: boolean;
}

/** Counts a quick failure; the one that opens the breaker is reported in the inbox. */
export function countQuickFailure(draft: Draft, task: Task, claim: Claim, how: QuickFailure): void {
  const origin = { ...originOf(draft, claim), isForeign: !how.isRunner };
  const before = find(draft, origin);
  const failures = (before?.failures ?? 0) + 1;
  const taskId = failures === 1 || before?.taskId === task.id ? task.id : null;
  const isOpen = failures >= failuresMax;
  const { agentType } = origin;
  const notificationId = isOpen
    ? (before?.notificationId ?? notifyFailing(draft, claim, { failures, taskId, ...how }))
    : null;
  const probeAt = isOpen && how.isRunner ? draft.now + pauseMs(draft, origin.project, failures) : null;
  const workedAt = before?.workedAt;
  put(draft, origin, {
    agentType,
    failures,
    taskId,
    failedAt: draft.now,
    probeAt,
    notificationId,
    ...(workedAt !== undefined && { workedAt }),
  });
}

/** A stack trace says nothing here. */
const firstLines = (error: string) =>
  beginningOf(
    beginningOf(error, 1_000)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(0, 3)
      .join("; "),
    300,
  );

function notifyFailing(
  draft: Draft,
  { project, sessionId, agentType }: Claim,
  { failures, taskId, error, isRunner }: QuickFailure & { failures: number; taskId: string | null },
): string {
  const agent = agentType ?? "unknown";
  const name = draft.session(project, sessionId)?.name ?? sessionId;
  const which = taskId === null ? "" : `, always on task ${taskId}`;
  const message =
    `${failures} attempts in a row failed within ${exactDuration(quickMs)} of their start${which}. ` +
    (isRunner
      ? "Runners of this agent on this host claim one task at a time, with growing pauses, until an attempt works. "
      : "") +
    `Last error, of ${name}: ${firstLines(error)}`;
  const title = `Agent ${agent} fails at once`;
  return draft.notify("AGENT_FAILING", { task: { project, id: taskId }, title, message }).id;
}

/** An attempt went any other way than to fail quickly: the agent works. */
export function closeBreaker(draft: Draft, claim: Claim): void {
  if (breakersOf(draft, claim.project) === null) return;
  const own = originOf(draft, claim);
  for (const origin of [own, { ...own, isForeign: true }]) {
    const breaker = find(draft, origin);
    if (!breaker || breaker.failures === 0) continue;
    if (breaker.notificationId !== null) markRead(draft, breaker.notificationId);
    put(draft, origin, {
      ...breaker,
      failures: 0,
      taskId: null,
      probeAt: null,
      notificationId: null,
      workedAt: draft.now,
    });
  }
}

/** The same by an attempt that is still under way. */
export function closeBreakerIfLong(draft: Draft, claim: Claim): void {
  if (!workedQuickly(claim.startedAt ?? claim.claimedAt, draft.now)) closeBreaker(draft, claim);
}
