// Reviews of submissions: the lander records what a submission changes, agents claim a review, agents and people give a verdict.

import type {
  AskForReviewCommand,
  ByHolder,
  ClaimReviewCommand,
  RecordDiffCommand,
  ReviewCommand,
} from "../command.js";
import type { Draft } from "../draft.js";
import { putPatch, putSubmission, type Submission, submissionOf } from "../landing.js";
import { beginningOf, limits } from "../limits.js";
import { accept, assert, type Outcome, type Refusal, refuse } from "../refusal.js";
import {
  decisiveReview,
  type HeldReview,
  heldReviews,
  isApproved,
  isAuthor,
  isForAgents,
  isReviewLive,
  needsPerson,
  noteAsked,
  type Review,
  recordedReviews,
  recordReviews,
  reviewNeed,
  type SubmissionDiff,
  waitsForReview,
} from "../review.js";
import { isLive, type Session } from "../session.js";
import type { Task } from "../task.js";
import { claimant, heldBy, leaseProblem, ttlProblem } from "./claim.js";
import { noSuchTask, sessionNotFound, taskNotFound, touch } from "./holder.js";
import { openUnder } from "./landing.js";
import { landingNow, returnTask, withoutNotice } from "./unsubmit.js";

/** What a submission changes, found by the lander; with review on, after it was merged and checked alone. */
export function recordDiff(draft: Draft, command: RecordDiffCommand): Outcome<{ approved: boolean }> {
  const found = openUnder(draft, command);
  if ("ok" in found) return found;
  const { project, taskId, diff, patch } = command;
  const task = draft.task(project, taskId);
  if (!task) return taskNotFound(draft, project, taskId);
  const submission = openSubmission(draft, task, command.submission);
  if ("ok" in submission) return submission;
  const isNew = submission.diff === null;
  const reviews = isNew ? inherited(draft, task, submission, diff) : [];
  const looked = {
    ...submission,
    diff: isOnTarget(submission.diff, diff) ? { ...diff, onTarget: true } : diff,
    reviews: [...submission.reviews, ...reviews],
  };
  putSubmission(draft, task, looked);
  putPatch(draft, task, { submission: submission.number, ...patch });
  const approved = isApproved(draft.project(project), looked);
  if (approved) putSubmission(draft, task, withoutNotice(draft, withoutOpen(draft, looked)));
  else {
    if (isNew) {
      draft.emit("task:review-requested", {
        project,
        taskId,
        actor: "system",
        data: { submission: submission.number, of: reviewNeed(draft.project(project), looked) },
      });
    }
    askPersonIfNeeded(draft, task);
  }
  return accept({ approved });
}

/** It changed something when it was looked at first, and nothing now: somebody else has merged it. */
const isOnTarget = (before: SubmissionDiff | null, { fileCount }: Pick<SubmissionDiff, "fileCount">) =>
  before !== null && fileCount === 0 && (before.fileCount > 0 || before.onTarget === true);

/** A new submission with the same changes has the approval of the one before. */
function inherited(
  draft: Draft,
  task: Task,
  { number, reviews }: Submission,
  { patchId }: SubmissionDiff,
): Review[] {
  if (patchId === null) return [];
  const epoch = (reviews.at(-1)?.epoch ?? 0) + 1;
  for (let earlier = number - 1; earlier > 0 && number - earlier <= limits.reviewsMax; earlier--) {
    const submission = submissionOf(draft, task, earlier);
    const review = submission?.reviews.findLast(({ verdict }) => verdict === "approve");
    if (submission?.diff?.patchId === patchId && review)
      return [{ ...review, epoch, inheritedFrom: review.inheritedFrom ?? earlier }];
  }
  return [];
}

/** The submission of this number, if it still waits. */
function openSubmission(draft: Draft, task: Task, number: number): Submission | Refusal {
  const { id: taskId } = task;
  const submission = submissionOf(draft, task);
  if (task.state === "submitted" && submission?.number === number) return submission;
  const last = task.submission?.number ?? 0;
  if (last === 0 || number > last) {
    const message =
      last === 0
        ? `Task ${taskId} has no submission.`
        : `Task ${taskId} has no submission ${number}; the last one is ${last}.`;
    return refuse("INVALID_STATE", message, {
      hint: `Run: dibs show ${taskId}`,
      details: { taskId, state: task.state },
    });
  }
  const now = task.state === "submitted" ? `the last one is ${last}` : `task ${taskId} is ${task.state}`;
  const how = howItEnded(submissionOf(draft, task, number));
  return refuse("STALE_SUBMISSION", `Submission ${number} of task ${taskId} ${how}; ${now}.`, {
    hint: `Run: dibs show ${taskId}`,
    details: { taskId, submission: last, state: task.state },
  });
}

/** The second reviewer reads whose verdict came first. */
function howItEnded(submission: Submission | null): string {
  const asked = submission?.reviews.findLast(({ verdict }) => verdict === "request-changes");
  if (asked) return `has ended: changes were requested by ${asked.by}`;
  return submission?.end ? `was ${submission.end.as}` : "has ended";
}

export interface ReviewClaimed {
  taskId: string;
  submission: number;
  epoch: number;
  resumed: boolean;
}

export interface NoReview {
  taskId: null;
}

/** The task stays submitted; the review has a lease of its own, which counts against the session's capacity. */
export function claimReview(draft: Draft, command: ClaimReviewCommand): Outcome<ReviewClaimed | NoReview> {
  const { project } = command;
  const found = claimant(draft, command);
  if (!found.ok) return found;
  const session = found.value;
  const invalid = ttlProblem(draft, project, command.ttlMs);
  if (invalid) return invalid;
  const held = heldReviews(draft, session, draft.now);
  if (held.length + heldBy(draft, session).length >= session.capacity) {
    const first = held[0];
    if (session.capacity > 1 || command.resume === false || !first) return accept({ taskId: null });
    renewHeld(draft, first, command.ttlMs ?? first.review.ttlMs);
    return accept({ ...first.held, resumed: true });
  }
  if (draft.project(project).paused) return accept({ taskId: null });
  // An author that asks in vain is no reviewer, although it reviews what comes next: after a while a person is asked.
  let isOfUse = true;
  for (const taskId of command.candidates) {
    const task = draft.task(project, taskId);
    const submission = task?.state === "submitted" ? submissionOf(draft, task) : null;
    if (!task || !submission || !isFree(draft, task, submission)) continue;
    if (!canReview(draft, task, submission, session)) {
      if (submission.reviewNotice === null) isOfUse = false;
      continue;
    }
    if (isOfUse) noteAsked(draft, project, draft.now);
    const epoch = grantReview(draft, task, submission, session, command.ttlMs);
    const review: HeldReview = { taskId, submission: submission.number, epoch };
    recordReviews(draft, session, [...held.map((each) => each.held), review]);
    return accept({ ...review, resumed: false });
  }
  if (isOfUse) noteAsked(draft, project, draft.now);
  return accept({ taskId: null });
}

/** It waits for an agent, and none is at it. */
function isFree(draft: Draft, task: Task, submission: Submission): boolean {
  const project = draft.project(task.project);
  return (
    task.submission?.landing === null &&
    waitsForReview(draft, project, submission, draft.now) &&
    isForAgents(draft, project, submission, draft.now) &&
    !submission.reviews.some((review) => isReviewLive(draft, task.project, review, draft.now))
  );
}

/** A reviewer that gave it back, or lost it, would only do so again. */
function canReview(draft: Draft, task: Task, { reviews }: Submission, session: Session): boolean {
  return !reviews.some(({ sessionId }) => sessionId === session.id) && !isAuthor(draft.view, task, session);
}

function grantReview(
  draft: Draft,
  task: Task,
  submission: Submission,
  session: Session,
  ttlMs = draft.project(task.project).settings.claim.defaultTtlMs,
): number {
  // Those before have ended without a verdict, or this one would not be granted.
  const ended = submission.reviews.map((each) =>
    each.verdict === null && each.releasedAt === null ? { ...each, releasedAt: draft.now } : each,
  );
  const review = newReview(draft, ended, {
    kind: "agent",
    sessionId: session.id,
    by: `agent:${session.id}`,
    ttlMs,
    expiresAt: draft.now + ttlMs,
  });
  putSubmission(draft, task, { ...submission, reviews: [...ended, review] });
  draft.emit("task:review-started", {
    project: task.project,
    taskId: task.id,
    sessionId: session.id,
    actor: `agent:${session.id}`,
    data: { submission: submission.number, expiresAt: review.expiresAt },
  });
  return review.epoch;
}

type NewReview = Pick<Review, "kind" | "sessionId" | "by" | "ttlMs" | "expiresAt">;

function newReview(draft: Draft, earlier: readonly Review[], given: NewReview): Review {
  return {
    ...given,
    epoch: (earlier.at(-1)?.epoch ?? 0) + 1,
    claimedAt: draft.now,
    releasedAt: null,
    verdict: null,
    comment: null,
    verdictAt: null,
    own: false,
    inheritedFrom: null,
  };
}

type Held = ReturnType<typeof heldReviews>[number];

/** The review that the caller of a holder's command holds on this task. */
function heldOn(
  draft: Draft,
  { project, taskId, sessionId, epoch }: ByHolder,
): (Held & { session: Session }) | null {
  const task = draft.task(project, taskId);
  const session = draft.session(project, sessionId);
  if (task?.state !== "submitted" || !isLive(session)) return null;
  const found = heldReviews(draft, session, draft.now).find(({ held }) => held.taskId === taskId);
  return found && (epoch === undefined || epoch === found.held.epoch) ? { ...found, session } : null;
}

function putReview(draft: Draft, task: Task, review: Review): void {
  const submission = submissionOf(draft, task);
  assert(submission, `the submission of ${task.id} exists`);
  const reviews = submission.reviews.map((each) => (each.epoch === review.epoch ? review : each));
  putSubmission(draft, task, { ...submission, reviews });
}

function renewHeld(draft: Draft, { task, review }: Held, extendMs: number): void {
  const ttlMs = Math.max(review.ttlMs, extendMs);
  putReview(draft, task, { ...review, ttlMs, expiresAt: Math.max(review.expiresAt, draft.now + extendMs) });
}

/** Null: the caller holds no review of this task. */
export function renewReview(draft: Draft, command: ByHolder, extendMs?: number): Outcome<null> | null {
  const held = heldOn(draft, command);
  if (!held) return null;
  const invalid = extendMs === undefined ? null : leaseProblem(draft, command.project, "extendMs", extendMs);
  if (invalid) return invalid;
  touch(draft, held.session, { exact: held.session.heartbeats });
  renewHeld(draft, held, extendMs ?? held.review.ttlMs);
  return accept(null);
}

/** Ends a review without a verdict. Null: the caller holds none of this task. */
export function releaseReview(draft: Draft, command: ByHolder): Review | null {
  const held = heldOn(draft, command);
  if (!held) return null;
  const { task, review, session } = held;
  putReview(draft, task, { ...review, releasedAt: draft.now });
  forget(draft, session, task.id);
  askPersonIfNeeded(draft, task);
  return review;
}

function forget(draft: Draft, session: Session, taskId: string): void {
  recordReviews(
    draft,
    session,
    recordedReviews(draft, session).filter((each) => each.taskId !== taskId),
  );
}

export interface Reviewed {
  approved: boolean;
}

export function review(draft: Draft, command: ReviewCommand): Outcome<Reviewed> {
  const { project, taskId, verdict } = command;
  const task = draft.task(project, taskId);
  if (!task) return noSuchTask(draft, project, taskId);
  const session = command.sessionId === undefined ? null : draft.session(project, command.sessionId);
  if (session !== null && !isLive(session)) return sessionNotFound(command.sessionId!);
  const repeated = sameVerdict(draft, task, command);
  if (repeated) return accept(repeated);
  const submission = openSubmission(draft, task, command.submission);
  if ("ok" in submission) return submission;
  const refusal =
    wrongReviewer(draft, task, command, session) ??
    alreadyDecided(draft, task, submission) ??
    (verdict === "request-changes" ? landingNow(task) : null);
  if (refusal) return refusal;
  const held = submission.reviews.find(
    (each) => session !== null && each.sessionId === session.id && each.verdict === null,
  );
  if (command.epoch !== undefined && command.epoch !== held?.epoch) return otherReview(task, command.epoch);
  const given = withVerdict(draft, submission, command, held);
  putSubmission(draft, task, given);
  if (session) forget(draft, session, taskId);
  const approved = isApproved(draft.project(project), given);
  draft.emit("task:reviewed", {
    project,
    taskId,
    sessionId: session?.id ?? null,
    ...(session ? { actor: `agent:${session.id}` } : {}),
    data: {
      submission: submission.number,
      verdict,
      ...(command.comment === undefined ? {} : { comment: beginningOf(command.comment, 500) }),
      ...(command.own && !session ? { own: true } : {}),
    },
  });
  if (verdict === "request-changes") {
    returnTask(draft, task, { reason: "changes-requested", detail: command.comment ?? null });
    return accept({ approved: false });
  }
  if (approved) putSubmission(draft, task, withoutNotice(draft, withoutOpen(draft, given)));
  else askPersonIfNeeded(draft, task);
  return accept({ approved });
}

/** The first verdict wins: the others that are at it stop. */
function withoutOpen(draft: Draft, submission: Submission): Submission {
  const reviews = submission.reviews.map((each) =>
    each.verdict === null && each.releasedAt === null ? { ...each, releasedAt: draft.now } : each,
  );
  return { ...submission, reviews };
}

/** The same reviewer said the same of this submission before. */
function sameVerdict(draft: Draft, task: Task, command: ReviewCommand): Reviewed | null {
  const { verdict, comment } = command;
  const submission = submissionOf(draft, task, command.submission);
  const by = reviewerName(draft, command);
  const isSame = (each: Review) =>
    each.by === by &&
    each.verdict === verdict &&
    // Other words about an old version would get lost.
    (verdict === "approve" || each.comment === commentFrom(comment));
  if (!submission?.reviews.some(isSame)) return null;
  return { approved: verdict === "approve" && isApproved(draft.project(task.project), submission) };
}

const commentFrom = (text: string | undefined) =>
  text === undefined ? null : beginningOf(text, limits.detailLengthMax);

const reviewerName = (draft: Draft, { sessionId }: ReviewCommand) =>
  sessionId === undefined ? draft.context.actor : `agent:${sessionId}`;

function wrongReviewer(
  draft: Draft,
  task: Task,
  command: ReviewCommand,
  session: Session | null | undefined,
): Refusal | null {
  const { land } = draft.project(task.project).settings;
  if (session && land.review !== "agent" && land.review !== "any") {
    return refuse("FORBIDDEN", `Agents do not review submissions of project ${task.project}.`, {
      hint: "A person decides. Run: dibs review",
      details: { taskId: task.id, review: land.review },
    });
  }
  const nobody = { host: null, pid: null, processStartedAt: null };
  const reviewer = session ?? { id: null, owner: command.token ?? null, ...nobody };
  if ((!session && command.own) || !isAuthor(draft.view, task, reviewer)) return null;
  return refuse("SELF_REVIEW", `Task ${task.id} was worked on by the same agent or token that reviews it.`, {
    hint: selfReviewHint(task, command, session),
    details: { taskId: task.id, sessionId: session?.id ?? null },
  });
}

function selfReviewHint(
  { id }: Task,
  { verdict }: ReviewCommand,
  session: Session | null | undefined,
): string {
  if (session) return "Another agent, or a person, must review it.";
  return verdict === "approve"
    ? `To approve your own work, run: dibs approve ${id} --own`
    : `To take your own work back, run: dibs withdraw ${id}`;
}

/** The first verdict wins. */
function alreadyDecided(draft: Draft, { project, id: taskId }: Task, submission: Submission): Refusal | null {
  const decided = decisiveReview(draft.project(project), submission);
  if (!decided) return null;
  const { number } = submission;
  return refuse(
    "INVALID_STATE",
    `Submission ${number} of task ${taskId} was already approved by ${decided.by}.`,
    {
      hint: `To take it back, run: dibs withdraw ${taskId}`,
      details: { taskId, submission: number, by: decided.by, verdict: decided.verdict },
    },
  );
}

function otherReview({ id: taskId }: Task, epoch: number): Refusal {
  return refuse("STALE_EPOCH", `Review ${epoch} of task ${taskId} has ended.`, {
    hint: "Claim another review.",
    details: { taskId, epoch },
  });
}

function withVerdict(
  draft: Draft,
  submission: Submission,
  command: ReviewCommand,
  held: Review | undefined,
): Submission {
  const { verdict, comment, sessionId = null, own = false } = command;
  const given = {
    verdict,
    comment: commentFrom(comment),
    verdictAt: draft.now,
    // Only a person can say so.
    own: own && sessionId === null,
  };
  if (held) {
    const reviews = submission.reviews.map((each) => (each === held ? { ...held, ...given } : each));
    return { ...submission, reviews };
  }
  const kind = sessionId === null ? "human" : "agent";
  const by = reviewerName(draft, command);
  const fresh = newReview(draft, submission.reviews, { kind, sessionId, by, ttlMs: 0, expiresAt: draft.now });
  return {
    ...submission,
    reviews: [...submission.reviews, { ...fresh, ...given }].slice(-limits.reviewsMax),
  };
}

export function askForReview(draft: Draft, { project, taskId }: AskForReviewCommand): Outcome<null> {
  const task = draft.task(project, taskId);
  if (task) askPersonIfNeeded(draft, task);
  return accept(null);
}

/** A submission that waits for a person must not wait unnoticed. */
export function askPersonIfNeeded(draft: Draft, task: Task): void {
  const submission = task.state === "submitted" ? submissionOf(draft, task) : null;
  const project = draft.project(task.project);
  if (!submission || !needsPerson(draft, project, submission, draft.now)) return;
  const { id } = draft.notify("REVIEW_NEEDED", {
    task,
    title: "Review needed",
    message: `Submission ${submission.number} of task ${task.id} waits for a review: ${task.title}. Run: dibs review ${task.id}`,
  });
  putSubmission(draft, task, { ...submission, reviewNotice: id });
}
