// The one switch. A decision looks at a view and returns what changes, with its events, or a refusal. It is pure: the same
// view, command and time always decide the same, so a store may run it again, and the memory model can check the others.

import { type Changes, noChanges } from "./changes.js";
import { isOver } from "./claim.js";
import type { Command, CommandType } from "./command.js";
import { type Context, Draft } from "./draft.js";
import { limits } from "./limits.js";
import { notOwner } from "./ownership.js";
import type { Outcome } from "./refusal.js";
import { accountResources } from "./transitions/account.js";
import { archiveEvents, archiveTasks } from "./transitions/archive.js";
import { ask } from "./transitions/ask.js";
import { cancel } from "./transitions/cancel.js";
import { claim, claimNext } from "./transitions/claim.js";
import { followClock } from "./transitions/clock.js";
import { complete } from "./transitions/complete.js";
import { create } from "./transitions/create.js";
import { settle, sweep } from "./transitions/expire.js";
import { fail } from "./transitions/fail.js";
import {
  acquireLander,
  dropLanding,
  holdLanding,
  intendLanding,
  land,
  openLanding,
  recordChecks,
  releaseLander,
  returnSubmission,
} from "./transitions/landing.js";
import { loadPlan } from "./transitions/load-plan.js";
import { acquireLock, freeLocks, releaseLock } from "./transitions/lock.js";
import { appendLog } from "./transitions/log.js";
import { reserveId } from "./transitions/new-id.js";
import { readNotification } from "./transitions/notification.js";
import { createProject, projectNotFound, updateProject } from "./transitions/project.js";
import { release } from "./transitions/release.js";
import { heartbeat, progress } from "./transitions/renew.js";
import { holdResource, removeResource, resumeResource, setResource } from "./transitions/resource.js";
import { respond } from "./transitions/respond.js";
import { retry } from "./transitions/retry.js";
import { askForReview, claimReview, recordDiff, review } from "./transitions/review.js";
import { endSession, register, sessionHeartbeat } from "./transitions/session.js";
import { start } from "./transitions/start.js";
import { noteMissingLander, submit } from "./transitions/submit.js";
import { createToken, dropTokens, revokeToken } from "./transitions/token.js";
import { withdraw } from "./transitions/unsubmit.js";
import { update } from "./transitions/update.js";
import { reportUsage } from "./transitions/usage.js";
import type { View } from "./view.js";

const transitions = {
  create,
  "load-plan": loadPlan,
  claim,
  "claim-next": claimNext,
  start,
  heartbeat,
  progress,
  ask,
  respond,
  complete,
  submit,
  withdraw,
  "acquire-lander": acquireLander,
  "release-lander": releaseLander,
  "note-missing-lander": noteMissingLander,
  "open-landing": openLanding,
  "intend-landing": intendLanding,
  "record-checks": recordChecks,
  "record-diff": recordDiff,
  "claim-review": claimReview,
  review,
  "ask-for-review": askForReview,
  land,
  "drop-landing": dropLanding,
  return: returnSubmission,
  "hold-landing": holdLanding,
  fail,
  release,
  cancel,
  retry,
  update,
  settle,
  sweep,
  "register-session": register,
  "session-heartbeat": sessionHeartbeat,
  "end-session": endSession,
  "reserve-id": reserveId,
  "create-project": createProject,
  "update-project": updateProject,
  "read-notification": readNotification,
  "create-token": createToken,
  "revoke-token": revokeToken,
  "drop-tokens": dropTokens,
  "acquire-lock": acquireLock,
  "release-lock": releaseLock,
  "free-locks": freeLocks,
  "report-usage": reportUsage,
  "set-resource": setResource,
  "hold-resource": holdResource,
  "resume-resource": resumeResource,
  "remove-resource": removeResource,
  "append-log": appendLog,
  "archive-events": archiveEvents,
  "archive-tasks": archiveTasks,
} satisfies {
  [T in CommandType]: (draft: Draft, command: Extract<Command, { type: T }>) => Outcome<unknown>;
};

export type ValueOf<T extends CommandType> =
  ReturnType<(typeof transitions)[T]> extends Outcome<infer V> ? V : never;

export interface Decision<T> {
  changes: Changes;
  outcome: Outcome<T>;
}

export function decide<C extends Command>(
  view: View,
  command: C,
  context: Context,
): Decision<ValueOf<C["type"]>> {
  const draft = new Draft(view, context);
  if ("project" in command && !view.project(command.project)) {
    return { changes: noChanges(), outcome: projectNotFound(command.project) };
  }
  const move = transitions[command.type] as (draft: Draft, command: C) => Outcome<ValueOf<C["type"]>>;
  const outcome = move(draft, command);
  if (command.type === "load-plan" && command.dryRun) return { changes: noChanges(), outcome };
  if (!outcome.ok) return { changes: onlyLateResult(draft.changes), outcome };
  accountResources(draft);
  return { changes: draft.changes, outcome };
}

/** A refused command changes nothing; what came too late is kept on its closed attempt all the same. */
function onlyLateResult(changes: Changes): Changes {
  return { ...noChanges(), attempts: changes.attempts };
}

/** What must run before a command in the same transaction, so that no answer depends on who swept last. */
function preparation(view: View, command: Command, now: number): Command | null {
  switch (command.type) {
    case "claim":
      if (view.due(now, 1).length === 0) return null;
      return {
        type: "sweep",
        limit: limits.sweepMax,
        also: { project: command.project, taskId: command.taskId },
      };
    case "claim-next":
    case "load-plan":
      return view.due(now, 1).length > 0 ? { type: "sweep", limit: limits.sweepMax } : null;
    case "start":
    case "heartbeat":
    case "progress":
    case "ask":
    case "respond":
    case "complete":
    case "submit":
    case "fail":
    case "release":
    case "cancel":
    case "retry":
    case "update":
    case "report-usage":
    case "append-log": {
      const { project, taskId } = command;
      const claim = view.claim(project, taskId);
      return claim && isOver(claim, now) ? { type: "settle", project, taskIds: [taskId] } : null;
    }
    case "session-heartbeat":
    case "end-session":
      return settleSession(view, command.project, command.sessionId, now);
    case "register-session":
      return settleSession(view, command.project, command.session.id, now);
    default:
      return null;
  }
}

/** A session that comes back does not bring back what it has lost. */
function settleSession(view: View, project: string, sessionId: string, now: number): Command | null {
  const over = view.claimsOf(project, sessionId).filter((claim) => isOver(claim, now));
  return over.length > 0 ? { type: "settle", project, taskIds: over.map(({ taskId }) => taskId) } : null;
}

/** Small steps back are absorbed before: this one was followed. */
export function wasSetBack(view: View, now: number): boolean {
  return now < view.org().lastAt;
}

/** Masses of leases that end at once are ended in rounds; more than these in one transaction would be a mistake. */
const preparationsMax = 100;

interface Open {
  now: number;
  view: View;
  apply(changes: Changes): void;
}

/** What an agent adds is its own doing; elsewhere the claim tells whose. */
function actorOf(command: Command, caller: string): string {
  return command.type === "create" && command.sessionId !== undefined ? `agent:${command.sessionId}` : caller;
}

/**
 * The one place where decisions become changes: settles what is over, then decides, in one open transaction. With a `token`, the
 * caller speaks only for sessions of that token.
 */
export function carryOut<C extends Command>(
  transaction: Open,
  command: C,
  actor: string,
  token?: string,
): Outcome<ValueOf<C["type"]>> {
  const { view, now } = transaction;
  const refusal = token === undefined ? null : notOwner(view, command, token, now);
  if (refusal) return refusal;
  if (wasSetBack(view, now)) {
    const draft = new Draft(view, { now, actor: "system" });
    followClock(draft);
    transaction.apply(draft.changes);
  }
  for (let rounds = 0; rounds < preparationsMax; rounds++) {
    const first = preparation(view, command, now);
    if (!first) break;
    const { changes } = decide(view, first, { now, actor: "system" });
    transaction.apply(changes);
    // What is left cannot be read, and stays.
    if (changes.claims.size === 0) break;
  }
  const { changes, outcome } = decide(view, command, { now, actor: actorOf(command, actor) });
  transaction.apply(changes);
  return outcome;
}
