// Which task claim-next must hand out, straight from the words of the contract: all that are claimable, sorted.

import { Availability } from "../../src/core/availability.js";
import type { ClaimNextCommand } from "../../src/core/command.js";
import { blockers } from "../../src/core/explain.js";
import { effectivePriority } from "../../src/core/priority.js";
import type { Project } from "../../src/core/project.js";
import { whoIs } from "../../src/core/ready.js";
import type { Outcome } from "../../src/core/refusal.js";
import { heldReviews } from "../../src/core/review.js";
import { isLive } from "../../src/core/session.js";
import type { Task } from "../../src/core/task.js";
import type { Reads } from "../../src/core/view.js";
import { all } from "./scene.js";

/** The ids that the session may get, best first; null when the command does not get as far as choosing. */
export function claimableBy(view: Reads, command: ClaimNextCommand, now: number): string[] | null {
  const { project: name, sessionId, labels } = command;
  const project = view.project(name);
  const session = view.session(name, sessionId);
  // A session that is registered by the claim itself is looked at by the other checks.
  if (!project || !isLive(session)) return null;
  const who = whoIs(session, command.agentType);
  const resources = new Availability(view, now);
  const avoided = new Set(session.avoid.filter(({ until }) => until > now).map(({ taskId }) => taskId));
  const fitting = view.tasks({ project: name, afterOrdinal: 0, limit: all }).filter((task) => {
    const claim = view.claim(name, task.id);
    if (blockers(task, { claim, project, who, resources, now }).length > 0) return false;
    if (labels?.length && !labels.some((label) => task.labels.includes(label))) return false;
    return !avoided.has(task.id);
  });
  return fitting.sort((a, b) => compare(a, b, project, now)).map(({ id }) => id);
}

function compare(a: Task, b: Task, { settings }: Project, now: number): number {
  if (settings.order === "depth-first") {
    return b.depth - a.depth || b.sequence - a.sequence || b.ordinal - a.ordinal;
  }
  const rank = (task: Task) =>
    effectivePriority({ priority: task.priority, readyAt: task.readyAt! }, settings.ageing, now);
  return rank(b) - rank(a) || a.readyAt! - b.readyAt! || a.ordinal - b.ordinal;
}

/** What is wrong with the answer of claim-next. */
export function misorder(
  view: Reads,
  command: ClaimNextCommand,
  outcome: Outcome<unknown>,
  claimable: string[] | null,
  now: number,
): string | null {
  if (!outcome.ok || claimable === null) return null;
  const { taskId, resumed, breaker } = outcome.value as {
    taskId: string | null;
    resumed?: boolean;
    breaker?: { failures: number };
  };
  if (resumed) return null;
  if (breaker) {
    const isRight = command.heedBreaker === true && breaker.failures >= 5 && claimable.length > 0;
    return isRight ? null : "claim-next was held back without a reason";
  }
  if (taskId !== null) {
    return taskId === claimable[0] ? null : `claim-next gave ${taskId}, expected ${claimable[0]}`;
  }
  const session = view.session(command.project, command.sessionId)!;
  const held = view
    .claimsOf(command.project, session.id)
    .filter((claim) => view.task(command.project, claim.taskId)?.openChildren === 0);
  const count = held.length + heldReviews(view, session, now).length;
  if (claimable.length === 0 || count >= session.capacity) return null;
  return `claim-next gave nothing, but ${claimable[0]} is claimable`;
}
