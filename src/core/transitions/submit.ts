// submit: a finished attempt hands in its commit. The claim ends, the task waits for the lander. With landing on, complete is submit.

import { type Claim, workedMs } from "../claim.js";
import type { SubmitCommand } from "../command.js";
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
  summaryFrom,
} from "../landing.js";
import { beginningOf, landerTtlMs, limits } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import type { Task, TaskResult } from "../task.js";
import { closeBreaker } from "./breaker.js";
import { closeClaim } from "./close.js";
import { childrenOpen, resultProblem } from "./completable.js";
import { holderOf, keepLate, repeated } from "./holder.js";
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

/** Without a remote, the lander finds only what is in its own repository. */
function hostProblem(
  draft: Draft,
  task: Task,
  commit: string | null,
  host: string | undefined,
): Refusal | null {
  const { land } = draft.project(task.project).settings;
  if (commit === null || land.remote !== null || land.host === null) return null;
  if (host === undefined || host === land.host) return null;
  return refuse(
    "REMOTE_REQUIRED",
    `Commit ${commit} of task ${task.id} is on another machine than the repository of project ${task.project}.`,
    {
      hint: "Run: dibs project set land.remote origin, on the machine of the repository; then push the branch and submit again.",
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
      submittedAt: draft.now,
      firstSubmittedAt: task.submission?.firstSubmittedAt ?? draft.now,
      landing: null,
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
  noteMissingLander(draft, submitted);
  return { number };
}

const trimmed = (text: string | null) => text && beginningOf(text, limits.summaryLengthMax);

/** A submission that no lander will pick up must not wait unnoticed. */
function noteMissingLander(draft: Draft, task: Task): void {
  const place = landingPlace(draft.project(task.project))!;
  const lease = leaseOf(draft, place);
  if (isLeaseLive(lease, draft.now) || lease?.missingId) return;
  const { id: missingId } = draft.notify("LANDING_HELD", {
    task: { project: task.project, id: null },
    title: "No lander is running",
    message: `Submitted tasks of project ${task.project} wait to land on ${place.target}. Run: dibs list -s submitted`,
  });
  const unheld = { epoch: 0, holder: null, host: null, ttlMs: landerTtlMs, expiresAt: 0 };
  const nothing = { landing: null, lastLanded: null, holds: [] };
  putLease(draft, { ...place, ...unheld, ...nothing, ...lease, missingId });
}
