// submit: a finished attempt hands in its commit. The claim ends, the task waits for the lander. With landing on, complete is submit.

import { type Claim, workedMs } from "../claim.js";
import type { NoteMissingLanderCommand, SubmitCommand } from "../command.js";
import type { Draft } from "../draft.js";
import {
  changeIn,
  countSubmitted,
  isLeaseLive,
  landingPlace,
  leaseOf,
  putLease,
  putSubmission,
  type Submission,
  submittedCount,
  summaryFrom,
} from "../landing.js";
import { beginningOf, landerTtlMs, limits } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { isHidden } from "../resource.js";
import { isSameMachine } from "../session.js";
import type { Task, TaskResult } from "../task.js";
import { closeBreaker } from "./breaker.js";
import { closeClaim } from "./close.js";
import { childrenOpen, resultProblem } from "./completable.js";
import { holderOf, keepLate, repeated } from "./holder.js";
import { askPersonIfNeeded } from "./review.js";
import { markStarted } from "./start.js";

export interface Submitted {
  number: number;
}

/** What is handed in besides the result. */
export type HandedIn = Pick<SubmitCommand, "commit" | "branch" | "base" | "summary" | "host">;

export function submit(draft: Draft, command: SubmitCommand): Outcome<Submitted> {
  const holding = holderOf(draft, command, ["claimed", "running"]);
  if (!holding.ok) {
    const before = repeated(draft, command, "submit");
    if (before) return accept({ number: before.answer?.submission ?? 0 });
    keepLate(draft, command, holding, { result: command.result, error: null });
    return holding;
  }
  const { task, claim } = holding;
  if (!isLandingOn(draft, task.project)) return landingOff(task);
  const host = command.host ?? holding.session.host ?? undefined;
  return submitHeld(draft, task, claim, command.result, { ...command, host });
}

export function isLandingOn(draft: Draft, project: string): boolean {
  return draft.project(project).settings.land.target !== null;
}

function landingOff(task: Task): Refusal {
  return refuse("INVALID_STATE", `Landing is off in project ${task.project}, so nothing can be submitted.`, {
    hint: `Run: dibs done ${task.id}`,
    details: { taskId: task.id },
  });
}

/** Of a task whose holder was checked. */
export function submitHeld(
  draft: Draft,
  task: Task,
  claim: Claim,
  result: TaskResult,
  handedIn: HandedIn,
): Outcome<Submitted> {
  const refusal =
    resultProblem(result) ??
    childrenOpen(task) ??
    hostProblem(draft, task, changeIn(handedIn), handedIn.host);
  if (refusal) return refusal;
  return accept(handIn(draft, task, claim, result, handedIn));
}

/** Without a remote, the lander finds only what is in its own repository, on its own machine; so does the next one. */
function hostProblem(
  draft: Draft,
  task: Task,
  commit: string | null,
  host: string | undefined,
): Refusal | null {
  const project = draft.project(task.project);
  if (commit === null || host === undefined || project.settings.land.remote !== null) return null;
  const lease = leaseOf(draft, landingPlace(project)!);
  if (isSameMachine(lease?.host, host)) return null;
  return refuse(
    "REMOTE_REQUIRED",
    `Commit ${commit} of task ${task.id} is on another machine than the lander of project ${task.project}.`,
    {
      hint: "Run: dibs project set land.remote origin; then push the branch and submit again. Or start dibs land on this machine.",
      details: { taskId: task.id, host },
    },
  );
}

function handIn(draft: Draft, task: Task, held: Claim, result: TaskResult, handedIn: HandedIn): Submitted {
  const { project, id: taskId } = task;
  const claim = held.state === "claimed" ? markStarted(draft, held, task) : held;
  closeBreaker(draft, claim);
  const commit = changeIn(handedIn);
  const number = (task.submission?.number ?? 0) + 1;
  // A task with the same path that is claimed before this change has landed would begin without it.
  const alone = commit === null ? [] : Object.keys(claim.uses ?? {}).filter(isHidden);
  const submission: Submission = {
    number,
    commit,
    branch: handedIn.branch ?? null,
    base: handedIn.base ?? null,
    summary: trimmed(summaryFrom(handedIn.summary, result)),
    host: handedIn.host ?? null,
    submittedBy: claim.sessionId,
    epoch: claim.epoch,
    submittedAt: draft.now,
    durationMs: workedMs(held, draft.now),
    checks: [],
    diff: null,
    reviews: [],
    reviewNotice: null,
    end: null,
  };
  const closed = closeClaim(draft, task, claim, {
    end: "submit",
    reason: "submitted",
    result,
    answer: { submission: number },
  });
  const submitted = draft.putTask({
    ...closed,
    state: "submitted",
    error: null,
    retryCount: 0,
    lostCount: 0,
    responsePending: false,
    submission: {
      number,
      commit,
      ...(submission.host === null ? {} : { host: submission.host }),
      submittedAt: draft.now,
      firstSubmittedAt: task.submission?.firstSubmittedAt ?? draft.now,
      landing: null,
      ...(task.submission?.rounds ? { rounds: task.submission.rounds } : {}),
      ...(alone.length > 0 ? { alone } : {}),
    },
  });
  putSubmission(draft, submitted, submission);
  countSubmitted(draft, project, 1);
  draft.emit("task:submitted", {
    project,
    taskId,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor: `agent:${claim.sessionId}`,
    data: { submission: number, commit, branch: submission.branch, durationMs: submission.durationMs },
  });
  noteMissingLander(draft, { type: "note-missing-lander", project });
  askPersonIfNeeded(draft, submitted);
  return { number };
}

const trimmed = (text: string | null) => text && beginningOf(text, limits.summaryLengthMax);

/** A submission that no lander will pick up must not wait unnoticed. */
export function noteMissingLander(draft: Draft, command: NoteMissingLanderCommand): Outcome<null> {
  const project = draft.project(command.project);
  const place = landingPlace(project);
  const lease = place && leaseOf(draft, place);
  const isTold = isLeaseLive(lease, draft.now) || lease?.missingId;
  if (!place || isTold || submittedCount(draft, project.id) === 0) return accept(null);
  const { id: missingId } = draft.notify("LANDING_HELD", {
    task: { project: project.id, id: null },
    title: "No lander is running",
    message: `Submitted tasks of project ${project.id} wait to land on ${place.target}. Run: dibs land`,
  });
  const unheld = { epoch: 0, holder: null, host: null, ttlMs: landerTtlMs, expiresAt: 0 };
  const nothing = { landing: null, lastLanded: null, holds: [] };
  putLease(draft, { ...place, ...unheld, ...nothing, ...lease, missingId });
  return accept(null);
}
