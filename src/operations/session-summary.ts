// Who works on what: every live session with its task, and those that died a moment ago holding something. Where there are more
// than fit, those that need somebody are there.

import type { Claim } from "../core/claim.js";
import { limits } from "../core/limits.js";
import { heldReviews } from "../core/review.js";
import { type Session, sessionShownMs } from "../core/session.js";
import { stateOf } from "../core/task.js";
import type { Reads } from "../core/view.js";
import { currentClaim, wireClaim, wireSession } from "./render.js";

/** So long after its process was found dead, a session is still shown. */
const deadShownMs = 10 * 60_000;

export function currentOf(view: Reads, session: Session, now: number) {
  const claim = currentClaim(view, session);
  const task = claim && view.task(session.project, claim.taskId);
  if (!claim || !task) return null;
  const { id: taskId, title, phase } = task;
  return { taskId, title, phase, state: stateOf(task, claim), claim: wireClaim(view, claim, now) };
}

export function summary(view: Reads, project: string | null, limit: number, now: number) {
  const everybody = { project, live: true, seenSince: now - sessionShownMs, limit: limits.openClaimsMax };
  const live = view.sessions(everybody).map((session) => ({
    session,
    claims: view.claimsOf(session.project, session.id),
    reviewing: heldReviews(view, session, now).map(({ task }) => task.id),
  }));
  const dead = deadSessions(view, project, now).map((session) => ({ session, claims: [], reviewing: [] }));
  const totalOf = totals(view);
  const sessions = neediest(view, [...live, ...dead], limit).map(({ session, reviewing }) => ({
    ...wireSession(view, session),
    currentTask: currentOf(view, session, now),
    ...(reviewing.length > 0 ? { reviewing } : {}),
    tasksDone: view.record(session.project, session.id)?.completed ?? 0,
    tasksTotal: totalOf(session.project),
  }));
  const working = live.filter(({ claims, reviewing }) => claims.length + reviewing.length > 0).length;
  const tasks = view.taskCounts(project);
  return { sessions, totals: { sessions: live.length, working, idle: live.length - working, tasks } };
}

/** An end is the last that is heard of a session. */
function deadSessions(view: Reads, project: string | null, now: number): Session[] {
  const filter = { project, live: false, seenSince: now - deadShownMs, limit: limits.openClaimsMax };
  return view.sessions(filter).filter((session) => {
    const last = view.record(session.project, session.id)?.history[0];
    return last?.releaseReason === "process_gone" && last.releasedAt === session.endedAt;
  });
}

/** How many tasks there are in a project, counted once for each. */
function totals(view: Reads): (project: string) => number {
  const known = new Map<string, number>();
  return (project) => {
    const total =
      known.get(project) ?? Object.values(view.taskCounts(project)).reduce((sum, count) => sum + count, 0);
    known.set(project, total);
    return total;
  };
}

interface Entry {
  session: Session;
  claims: readonly Claim[];
  /** Tasks whose submissions it reviews. */
  reviewing: string[];
}

/** In their usual order: first come those that wait for an answer, then those that hold something, the shortest lease first. */
function neediest(view: Reads, all: readonly Entry[], limit: number): readonly Entry[] {
  if (all.length <= limit) return all;
  const needs = all.map((entry) => ({ entry, rank: rankOf(view, entry) }));
  needs.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1]);
  const chosen = new Set(needs.slice(0, limit).map(({ entry }) => entry));
  return all.filter((entry) => chosen.has(entry));
}

function rankOf(view: Reads, { session, claims, reviewing }: Entry): [number, number] {
  if (claims.some(({ pausedAt }) => pausedAt !== null)) return [0, 0];
  if (claims.length > 0) return [1, Math.min(...claims.map(({ expiresAt }) => expiresAt))];
  if (reviewing.length > 0) return [1, 0];
  const last = view.record(session.project, session.id)?.history[0];
  const isLost = last !== undefined && session.lastSeenAt < last.releasedAt;
  return session.endedAt !== null || isLost ? [2, -session.lastSeenAt] : [3, -session.lastSeenAt];
}
