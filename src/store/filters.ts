// The filters of lists, as predicates: for stores whose database does not evaluate them.

import { keyOf } from "../core/changes.js";
import type { Claim } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Session } from "../core/session.js";
import { isReady, stateOf, type Task } from "../core/task.js";
import type { ClaimFilter, EventFilter, Lists, SessionFilter, TaskFilter } from "../core/view.js";

const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const isOf = (project: string | null | undefined, row: { project: string | null }) =>
  project === null || project === undefined || row.project === project;

/** The prompt is asked for only if a text is searched. */
export function matchesTask(
  filter: TaskFilter,
  task: Task,
  claim: Claim | undefined,
  prompt: () => string,
): boolean {
  const { beforeOrdinal, states, label, assignee, parentId, queued, text } = filter;
  if (task.ordinal <= filter.afterOrdinal) return false;
  if (beforeOrdinal !== undefined && task.ordinal >= beforeOrdinal) return false;
  if (!isOf(filter.project, task)) return false;
  if (states && !states.includes(stateOf(task, claim))) return false;
  if (label !== undefined && !task.labels.includes(label)) return false;
  if (assignee !== undefined && task.assignee !== assignee) return false;
  if (parentId !== undefined && task.parentId !== parentId) return false;
  if (queued && queued.as !== standingOf(task, claim, queued.at)) return false;
  if (text === undefined) return true;
  const needle = lowerAscii(text);
  return [task.id, task.title, prompt()].some((found) => lowerAscii(found).includes(needle));
}

/** Of a queued task. */
function standingOf(task: Task, claim: Claim | undefined, at: number) {
  if (stateOf(task, claim) !== "queued") return null;
  if (!isReady(task, claim)) return "blocked";
  return (task.notBefore ?? 0) <= at ? "ready" : "scheduled";
}

/** Of open claims, and of attempts that were lost. */
export function matchesClaim(
  { project, sessionId }: ClaimFilter,
  claim: Pick<Claim, "project" | "sessionId">,
): boolean {
  return isOf(project, claim) && (sessionId === undefined || claim.sessionId === sessionId);
}

/** Events of a task are found as long as it is there. */
export function matchesEvent(
  { project, taskId, types }: EventFilter,
  event: DibsEvent,
  isThere: (project: string, taskId: string) => boolean,
): boolean {
  if (!isOf(project, event)) return false;
  if (taskId !== undefined && !(event.taskId === taskId && isThere(event.project!, taskId))) return false;
  return !types || types.includes(event.type);
}

export function matchesSession(filter: SessionFilter, session: Session, isHolding: () => boolean): boolean {
  const { live, seenSince, afterId } = filter;
  if (!isOf(filter.project, session) || (live && session.endedAt !== null)) return false;
  if (afterId !== undefined && keyOf(session.project, session.id) <= afterId) return false;
  return seenSince === undefined || session.lastSeenAt >= seenSince || isHolding();
}

export function matchesNotification(
  { project, unread, before }: Parameters<Lists["notifications"]>[0],
  notification: Notification,
): boolean {
  if (!isOf(project, notification) || (unread && notification.readAt !== null)) return false;
  return before === undefined || Number(notification.id.slice(1)) < before;
}

/** As databases order: by bytes. A character of two surrogates comes after all others. */
export const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Keys of documents and of requests: both bounds are exclusive. */
export function matchesKey(
  page: { afterKey?: string | undefined; beforeKey?: string | undefined },
  key: string,
) {
  const { afterKey, beforeKey } = page;
  return (
    (afterKey === undefined || byBytes(key, afterKey) > 0) &&
    (beforeKey === undefined || byBytes(key, beforeKey) < 0)
  );
}
