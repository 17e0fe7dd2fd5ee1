import { Availability, reserve, resourcesChangeAt } from "../availability.js";
import { type Claim, isOver, remainingMs } from "../claim.js";
import type { ClaimCommand, ClaimNextCommand, ClaimOptions } from "../command.js";
import type { Draft } from "../draft.js";
import { blockers, explainReasons } from "../explain.js";
import { type Picked, type PickQuery, pickNext, rankOfTask, usesOfClaim, type Who, whoIs } from "../ready.js";
import { accept, assert, canRead, type Outcome, type Refusal, refuse } from "../refusal.js";
import { ownUses, type Reservation, sumOfUses } from "../resource.js";
import { heldReviews } from "../review.js";
import { isLive, type Session } from "../session.js";
import type { Task } from "../task.js";
import { noteProbe, type OpenBreaker, openBreaker } from "./breaker.js";
import { sessionNotFound, taskNotFound, touch } from "./holder.js";
import { registerSession, sessionIdProblem, sessionUsesProblem } from "./session.js";
import { markStarted } from "./start.js";
import { takeResources } from "./take.js";

export interface Claimed {
  taskId: string;
  resumed: boolean;
}

/** Nothing to claim; `retryAt` is when time alone may change that: something scheduled, or the end of a lease. */
export interface NothingClaimed {
  taskId: null;
  retryAt: number | null;
  /** When time alone lets the next task that fits be claimed: it is scheduled, or the hold of a resource ends. */
  scheduledAt?: number;
  /** There is something to claim, but not yet for this agent. */
  breaker?: OpenBreaker;
}

export function claim(draft: Draft, command: ClaimCommand): Outcome<Claimed> {
  const { project, taskId } = command;
  const task = draft.task(project, taskId);
  if (!task) return taskNotFound(draft, project, taskId);
  const session = claimant(draft, command);
  if (!session.ok) return session;
  const invalid = ttlProblem(draft, project, command.ttlMs);
  if (invalid) return invalid;
  const held = draft.claim(project, taskId);
  if (held?.sessionId === session.value.id) {
    renew(draft, held, command);
    return accept({ taskId, resumed: false });
  }
  if (held) return alreadyClaimed(draft, held, session.value.id);
  const who = whoIs(session.value, command.agentType);
  const resources = new Availability(draft, draft.now);
  const situation = { claim: undefined, project: draft.project(project), who, resources, now: draft.now };
  if (blockers(task, situation).length > 0) {
    const reasons = explainReasons(draft, task, who);
    return refuse("TASK_NOT_CLAIMABLE", `Task ${taskId} cannot be claimed. ${reasons[0]?.message}`, {
      ...(reasons[0]?.fix ? { hint: `Run: ${reasons[0].fix}` } : {}),
      details: { taskId, reasons },
    });
  }
  grant(draft, task, session.value, command, who);
  return accept({ taskId, resumed: false });
}

export function claimNext(draft: Draft, command: ClaimNextCommand): Outcome<Claimed | NothingClaimed> {
  const { project, labels } = command;
  const found = claimant(draft, command);
  if (!found.ok) return found;
  const session = found.value;
  const invalid = ttlProblem(draft, project, command.ttlMs);
  if (invalid) return invalid;
  const held = heldBy(draft, session);
  const count = held.length + reviewCount(draft, session);
  if (count >= session.capacity) {
    if (session.capacity > 1 || command.resume === false || held.length === 0) {
      return accept({ taskId: null, retryAt: draft.view.nextDue(draft.now) });
    }
    const resumed = held.find((each) => !each.acknowledged) ?? held[0]!;
    renew(draft, { ...resumed, acknowledged: false }, command);
    return accept({ taskId: resumed.taskId, resumed: true });
  }
  const { settings, paused } = draft.project(project);
  if (paused) return accept({ taskId: null, retryAt: null });
  const who = whoIs(session, command.agentType);
  const origin = command.heedBreaker
    ? { project, agentType: command.agentType ?? session.agentType, host: session.host }
    : null;
  const breaker = origin && openBreaker(draft, origin);
  const avoid = session.avoid.length === 0 ? nothing : avoided(session);
  const resources = new Availability(draft, draft.now);
  const query: PickQuery = { project, settings, who, labels, avoid, now: draft.now, resources };
  const { entry, soonestAt, lacksResource, heldUntil } = pickReserving(draft, query);
  if (!entry) {
    const due = earliest(soonestAt, draft.view.nextDue(draft.now));
    const retryAt = lacksResource ? earliest(due, resourcesChangeAt(draft, draft.now)) : due;
    const scheduledAt = earliest(soonestAt, heldUntil);
    return accept({ taskId: null, retryAt, ...(scheduledAt === null ? {} : { scheduledAt }) });
  }
  if (breaker && draft.now < breaker.probeAt) {
    return accept({ taskId: null, retryAt: breaker.probeAt, breaker });
  }
  const task = draft.task(project, entry.id);
  assert(task, `ready task ${entry.id} exists`);
  const blocked = blockers(task, {
    claim: draft.claim(project, task.id),
    project: draft.project(project),
    who,
    resources: query.resources,
    now: draft.now,
  });
  assert(blocked.length === 0, `ready task ${entry.id} is claimable, not ${blocked}`);
  if (origin && breaker) noteProbe(draft, origin, breaker);
  grant(draft, task, session, command, who);
  return accept({ taskId: entry.id, resumed: false });
}

/** A task that has long waited for many units at once gets what is freed from now on; then the query's resources are the new ones. */
function pickReserving(draft: Draft, query: PickQuery): Picked {
  const { now } = query;
  const picked = pickReadable(draft, query);
  if (!picked.starved) return picked;
  const rankOf = (each: Reservation) => {
    const task = draft.task(each.project, each.taskId);
    return task ? rankOfTask(task, draft.project(each.project).settings, now) : 0;
  };
  if (!reserve(draft, picked.starved, rankOf, now)) return picked;
  query.resources = new Availability(draft, now);
  return pickReadable(draft, query);
}

/** So many unreadable tasks are passed over at the head of the queue; the next one fails the claim. */
const passedOverMax = 100;

/** Passes over tasks that the store cannot decode: one damaged row must not stop the queue. */
function pickReadable(draft: Draft, query: PickQuery): Picked {
  const { project } = query;
  const avoid = new Map<string, number>();
  let picked = pickNext(draft.view, query);
  while (picked.entry && avoid.size < passedOverMax) {
    const { id } = picked.entry;
    // The answer has the text, too.
    const isFine = canRead(() => {
      draft.task(project, id);
      draft.text(project, id);
    });
    if (isFine) return picked;
    avoid.set(id, Number.POSITIVE_INFINITY);
    picked = pickNext(draft.view, { ...query, avoid: new Map([...query.avoid, ...avoid]) });
  }
  return picked.soonestAt === Number.POSITIVE_INFINITY ? { ...picked, soonestAt: null } : picked;
}

const nothing: ReadonlyMap<string, number> = new Map();

function avoided({ avoid }: Session): ReadonlyMap<string, number> {
  return new Map(avoid.map(({ taskId, until }) => [taskId, until]));
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/** Where nothing lands, there are no reviews to look for. */
function reviewCount(draft: Draft, session: Session): number {
  const { land } = draft.project(session.project).settings;
  return land.target === null ? 0 : heldReviews(draft, session, draft.now).length;
}

export function claimant(
  draft: Draft,
  { sessionId, register, project }: ClaimOptions & { project: string },
): Outcome<Session> {
  const session = draft.session(project, sessionId);
  if (isLive(session)) return accept(touch(draft, session));
  if (!register) return sessionNotFound(sessionId);
  return (
    sessionIdProblem(sessionId, "sessionId") ??
    sessionUsesProblem(draft, project, register.uses, "register.uses") ??
    accept(registerSession(draft, project, { id: sessionId, ...register }))
  );
}

export function ttlProblem(draft: Draft, project: string, ttlMs: number | undefined): Refusal | null {
  return ttlMs === undefined ? null : leaseProblem(draft, project, "ttlMs", ttlMs);
}

/** A lease length outside the project's bounds. */
export function leaseProblem(draft: Draft, project: string, field: string, ms: number): Refusal | null {
  const { minTtlMs, maxTtlMs } = draft.project(project).settings.claim;
  if (Number.isInteger(ms) && ms >= minTtlMs && ms <= maxTtlMs) return null;
  const message = `${field} must be between ${minTtlMs} and ${maxTtlMs}, not ${ms}.`;
  return refuse("VALIDATION_FAILED", message, {
    hint: "The bounds are the project's settings claim.minTtlMs and claim.maxTtlMs.",
    details: { issues: [{ path: field, message }], minTtlMs, maxTtlMs },
  });
}

function alreadyClaimed(draft: Draft, held: Claim, sessionId: string): Refusal {
  const left = remainingMs(held, draft.now);
  return refuse("TASK_ALREADY_CLAIMED", `Task ${held.taskId} is held by ${held.sessionId}.`, {
    hint: `For another task, run: dibs claim --session ${sessionId}`,
    details: {
      claim: {
        taskId: held.taskId,
        sessionId: held.sessionId,
        epoch: held.epoch,
        claimedAt: held.claimedAt,
        remainingMs: left,
        holderAlive: isLive(draft.session(held.project, held.sessionId)) && !isOver(held, draft.now),
      },
    },
  });
}

/** What counts against the session's capacity: a task that waits for its own children does not. */
export function heldBy(draft: Draft, session: Session): Claim[] {
  const held: Claim[] = [];
  for (const { taskId } of draft.view.claimsOf(session.project, session.id)) {
    const open = draft.claim(session.project, taskId);
    if (open && (draft.task(session.project, taskId)?.openChildren ?? 0) === 0) held.push(open);
  }
  return held;
}

/** Claiming again what one holds: the lease moves on, the epoch stays. */
function renew(draft: Draft, held: Claim, options: ClaimOptions): void {
  const ttlMs = options.ttlMs ?? held.ttlMs;
  const { startTimeoutMs } = draft.project(held.project).settings.claim;
  const renewed = draft.putClaim({
    ...held,
    ttlMs,
    expiresAt: held.pausedAt === null ? Math.max(held.expiresAt, draft.now + ttlMs) : held.expiresAt,
    lastHeartbeat: draft.now,
    startBy: held.startBy === null ? null : draft.now + startTimeoutMs,
  });
  if (options.start && renewed.state === "claimed") markStarted(draft, renewed);
}

function grant(draft: Draft, task: Task, session: Session, options: ClaimOptions, who: Who): void {
  const { settings } = draft.project(task.project);
  const uses = sumOfUses(ownUses(task), usesOfClaim(who, settings));
  const ttlMs = options.ttlMs ?? settings.claim.defaultTtlMs;
  const startBy = draft.now + settings.claim.startTimeoutMs;
  const claim = draft.putClaim({
    project: task.project,
    taskId: task.id,
    sessionId: session.id,
    epoch: task.epoch + 1,
    state: "claimed",
    agentType: options.agentType ?? session.agentType,
    claimedAt: draft.now,
    startedAt: null,
    expiresAt: draft.now + ttlMs,
    ttlMs,
    lastHeartbeat: draft.now,
    heartbeatCount: 0,
    progress: null,
    metadata: options.metadata ?? null,
    uses,
    usage: null,
    startBy,
    // Its time counts from its start; who never says so has it from the last moment to start.
    deadlineAt: task.timeoutMs === null ? null : startBy + task.timeoutMs,
    silentAt: session.heartbeats ? draft.now + settings.claim.orphanThresholdMs : null,
    pausedAt: null,
    acknowledged: false,
    updatedAt: draft.now,
  });
  draft.emit("task:claimed", {
    project: task.project,
    taskId: task.id,
    sessionId: session.id,
    epoch: claim.epoch,
    actor: `agent:${session.id}`,
    data: {
      agentType: claim.agentType,
      expiresAt: claim.expiresAt,
      waitedMs: Math.max(0, draft.now - (task.readyAt ?? draft.now)),
    },
  });
  takeResources(draft, claim);
  if (options.start) markStarted(draft, claim, task);
}
