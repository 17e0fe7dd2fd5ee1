// Reviews: verdicts on one submission by somebody other than its author. Agents claim a review under a lease of its own, while the
// task stays submitted; people need no lease. All reviews of a submission are part of its document.

import { keyOf } from "./changes.js";
import {
  holdOf,
  isLeaseLive,
  landingPlace,
  leaseOf,
  type Submission,
  submissionOf,
  submittedTasks,
} from "./landing.js";
import type { Project, ReviewSetting } from "./project.js";
import { isLive, type Session } from "./session.js";
import type { Task } from "./task.js";
import { tokenKind, toToken } from "./token.js";
import type { DocumentValue, Reads, View } from "./view.js";

export const verdicts = ["approve", "request-changes"] as const;
export type Verdict = (typeof verdicts)[number];

export const reviewKinds = ["human", "agent"] as const;

export interface Review {
  /** From 1 on, per submission. It fences the reviewer, as the epoch of a claim fences its holder. */
  epoch: number;
  kind: (typeof reviewKinds)[number];
  /** Null: a person without a session. */
  sessionId: string | null;
  /** `user:…` or `agent:…` */
  by: string;
  claimedAt: number;
  ttlMs: number;
  /** A person's verdict has no lease: it expires when it is given. */
  expiresAt: number;
  /** Given back, or found to have expired, without a verdict. */
  releasedAt: number | null;
  verdict: Verdict | null;
  comment: string | null;
  verdictAt: number | null;
  /** A person approved own work, and said so. */
  own: boolean;
  /** The number of the submission whose verdict counts for this one, too: it has the same changes. */
  inheritedFrom: number | null;
}

/** What the lander found in the repository; nothing of it comes from the author. */
export interface SubmissionDiff {
  /** The target's commit that it was merged with. */
  base: string;
  /** The first ones; `fileCount` counts all. */
  files: { path: string; insertions: number | null; deletions: number | null }[];
  fileCount: number;
  insertions: number;
  deletions: number;
  /** Those that need a human's approval. */
  reviewPaths: string[];
  /** The same for the same changes, wherever they are applied. */
  patchId: string | null;
  /** The target has had the change since it was looked at first. */
  onTarget?: boolean;
}

/** How many agents can give a review back, or lose it, before a person is asked. */
const unfinishedMax = 3;
/** Nobody asks for reviews: after this time a person is. */
const unaskedMs = 10 * 60_000;

/** Whose approval a submission needs. A change that somebody else has merged needs none; one that never changed anything does. */
export function reviewNeed({ settings: { land } }: Project, { diff }: Submission): ReviewSetting {
  if (diff?.onTarget) return "none";
  return diff && diff.reviewPaths.length > 0 ? "human" : land.review;
}

export function isApproved(project: Project, submission: Submission): boolean {
  const need = reviewNeed(project, submission);
  return need === "none" || submission.reviews.some((review) => approves(need, review));
}

function approves(need: ReviewSetting, { verdict, kind }: Review): boolean {
  return verdict === "approve" && (need !== "human" || kind === "human");
}

/** The verdict that decided. */
export function decisiveReview(project: Project, submission: Submission): Review | null {
  const need = reviewNeed(project, submission);
  const decides = (review: Review) => review.verdict === "request-changes" || approves(need, review);
  return submission.reviews.find(decides) ?? null;
}

/** Merged and checked alone; red ones go back without bothering anybody. Where nobody could check them, they need not be. */
function isCheckedAlone(view: Pick<View, "document">, project: Project, { diff }: Submission, now: number) {
  if (diff) return true;
  const place = landingPlace(project);
  return project.settings.land.checks.length === 0 && !isLeaseLive(place && leaseOf(view, place), now);
}

export function waitsForReview(
  view: Pick<View, "document">,
  project: Project,
  submission: Submission,
  now: number,
): boolean {
  return !isApproved(project, submission) && isCheckedAlone(view, project, submission, now);
}

export type Stage = "checking" | "review" | "landing" | "held";

/** Where a submitted task is on its way to the target. */
export function stageOf(view: Pick<View, "document">, task: Task, project: Project, now: number): Stage {
  if (task.submission?.landing) return "landing";
  if (holdOf(view, task, project)) return "held";
  const submission = submissionOf(view, task);
  if (!submission) return "checking";
  if (waitsForReview(view, project, submission, now)) return "review";
  const isReviewed = reviewNeed(project, submission) !== "none" && isApproved(project, submission);
  return isReviewed ? "landing" : "checking";
}

type Sessions = Pick<View, "session">;

/** Somebody is at it. */
export function isReviewLive(view: Sessions, project: string, review: Review, now: number): boolean {
  const { verdict, releasedAt, expiresAt, ttlMs, sessionId } = review;
  if (verdict !== null || releasedAt !== null || sessionId === null) return false;
  return expiresAt > now && expiresAt <= now + ttlMs && isLive(view.session(project, sessionId));
}

/** Reviews that ended without a verdict. */
function unfinishedReviews(view: Sessions, project: string, { reviews }: Submission, now: number): number {
  return reviews.filter((review) => review.verdict === null && !isReviewLive(view, project, review, now))
    .length;
}

/** Whether agents can still be asked. */
export function isForAgents(view: Sessions, project: Project, submission: Submission, now: number): boolean {
  const need = reviewNeed(project, submission);
  if (need !== "agent" && need !== "any") return false;
  return unfinishedReviews(view, project.id, submission, now) < unfinishedMax;
}

/** What tells two callers apart. */
export type Reviewer = Pick<Session, "host" | "pid" | "processStartedAt" | "owner"> & { id: string | null };

const authorsMax = 100;

/** The author is every session that attempted the task, its process, and the owner of its token. */
export function isAuthor(
  view: Pick<View, "attempts" | "session" | "document">,
  { project, id }: Pick<Task, "project" | "id">,
  reviewer: Reviewer,
): boolean {
  const sessions = new Set(view.attempts(project, id, authorsMax).map(({ sessionId }) => sessionId));
  return [...sessions].some((sessionId) => {
    const author = view.session(project, sessionId);
    return sessionId === reviewer.id || (author !== undefined && isSamePrincipal(view, author, reviewer));
  });
}

function isSamePrincipal(view: Pick<View, "document">, author: Session, reviewer: Reviewer): boolean {
  if (author.owner !== null && author.owner === reviewer.owner && !isShared(view, author.owner)) return true;
  return (
    author.pid !== null &&
    author.pid === reviewer.pid &&
    author.host === reviewer.host &&
    author.processStartedAt === reviewer.processStartedAt
  );
}

/** An admin's token, such as the one in the server's file, is used by everybody on the machine: it tells nobody apart. */
function isShared(view: Pick<View, "document">, tokenId: string): boolean {
  const token = view.document(tokenKind, tokenId);
  return token !== undefined && toToken(token).role === "admin";
}

/** The open reviews of a session: they count against its capacity. */
export const reviewingKind = "reviewing";

export interface HeldReview {
  taskId: string;
  submission: number;
  epoch: number;
}

type Documents = Pick<View, "document">;
interface WritableDocuments extends Documents {
  putDocument(kind: string, key: string, value: DocumentValue | null): void;
}

/** As recorded; some of them may have ended since. */
export function recordedReviews(
  view: Documents,
  { project, id }: Pick<Session, "project" | "id">,
): HeldReview[] {
  return (view.document(reviewingKind, keyOf(project, id))?.reviews as HeldReview[] | undefined) ?? [];
}

export function recordReviews(
  draft: WritableDocuments,
  { project, id }: Pick<Session, "project" | "id">,
  reviews: HeldReview[],
): void {
  draft.putDocument(reviewingKind, keyOf(project, id), reviews.length > 0 ? { reviews } : null);
}

/** Those that are still held, with their rows. */
export function heldReviews(
  view: Documents & Sessions & Pick<View, "task">,
  session: Session,
  now: number,
): { held: HeldReview; task: Task; review: Review }[] {
  return recordedReviews(view, session).flatMap((held) => {
    const task = view.task(session.project, held.taskId);
    const submission = task?.state === "submitted" ? submissionOf(view, task) : null;
    const review = submission?.reviews.find(({ epoch }) => epoch === held.epoch);
    const isHeld =
      submission?.number === held.submission &&
      review?.sessionId === session.id &&
      isReviewLive(view, session.project, review, now);
    return isHeld ? [{ held, task: task!, review: review! }] : [];
  });
}

/** When a session of the project last asked for a review. */
export const reviewersKind = "reviewers";
const askedStepMs = 60_000;

export function noteAsked(draft: WritableDocuments, project: string, now: number): void {
  const askedAt = askedForReviewAt(draft, project);
  if (Math.abs(now - askedAt) >= askedStepMs) draft.putDocument(reviewersKind, project, { askedAt: now });
}

function askedForReviewAt(view: Documents, project: string): number {
  return (view.document(reviewersKind, project)?.askedAt as number | undefined) ?? 0;
}

/** A person must look at it, and the inbox does not say so yet. */
export function needsPerson(
  view: Documents & Sessions,
  project: Project,
  submission: Submission,
  now: number,
) {
  if (submission.reviewNotice !== null || !waitsForReview(view, project, submission, now)) return false;
  const need = reviewNeed(project, submission);
  if (need === "human" || need === "any" || !isForAgents(view, project, submission, now)) return true;
  const last = submission.reviews.at(-1);
  const since = last
    ? (last.releasedAt ?? last.verdictAt ?? last.expiresAt)
    : Math.max(submission.submittedAt, askedForReviewAt(view, project.id));
  return (
    Math.abs(now - since) >= unaskedMs &&
    !submission.reviews.some((review) => isReviewLive(view, project.id, review, now))
  );
}

/** Submitted tasks whose review no inbox item asks for, and somebody should be asked. */
export function withoutReviewer(view: Reads, now: number): Task[] {
  return view
    .projects({ readableOnly: true })
    .filter(({ settings: { land } }) => land.target !== null)
    .flatMap((project) =>
      [...submittedTasks(view, project.id)].filter((task) => {
        const submission = submissionOf(view, task);
        return submission !== null && needsPerson(view, project, submission, now);
      }),
    );
}
