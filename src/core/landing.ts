// Landing: what finished attempts hand in, and the lander that moves the target branch. A task names its last submission; all
// of its submissions, the lander's lease and every recorded landing are documents, because no claim looks at them.

import type { Document } from "./changes.js";
import { limits } from "./limits.js";
import type { LandSettings, Project } from "./project.js";
import type { Review, SubmissionDiff } from "./review.js";
import type { Task, TaskResult } from "./task.js";
import type { DocumentValue, Reads, View } from "./view.js";

/** Of its last submission, what a task itself knows. */
export interface TaskSubmission {
  number: number;
  /** Null: nothing was changed. */
  commit: string | null;
  /** Where the commit is, if that is known. */
  host?: string;
  submittedAt: number;
  /** Of its first submission: a task that was returned keeps its place. */
  firstSubmittedAt: number;
  /** The landing whose recorded intent has this submission, until it is settled. */
  landing: string | null;
  /** How often changes were requested since a person was last asked; absent: never. */
  rounds?: number;
  /** Exclusive paths that the task keeps until its change has landed or come back: resources, as its claim held them. */
  alone?: string[];
}

export interface Landed {
  commit: string;
  target: string;
  at: number;
}

export const checkStates = ["passed", "failed", "flaky", "timed-out"] as const;

export interface CheckResult {
  name: string;
  state: (typeof checkStates)[number];
  exitCode: number | null;
  durationMs: number;
  /** The tree that was checked. */
  tree: string;
  ranBy: string;
  logTail: string;
}

export const returnReasons = ["conflict", "check-failed", "changes-requested"] as const;
export type ReturnReason = (typeof returnReasons)[number];

/** How a submission ended. */
export interface SubmissionEnd {
  as: "landed" | "returned" | "withdrawn" | "cancelled";
  reason: string | null;
  detail: string | null;
  at: number;
}

export interface Submission {
  number: number;
  commit: string | null;
  branch: string | null;
  base: string | null;
  summary: string | null;
  host: string | null;
  submittedBy: string;
  epoch: number;
  submittedAt: number;
  /** How long the attempt worked. */
  durationMs: number;
  checks: CheckResult[];
  /** Null: the lander has not looked at it yet. */
  diff: SubmissionDiff | null;
  reviews: Review[];
  /** The notification that asks a person for a review. */
  reviewNotice: string | null;
  end: SubmissionEnd | null;
}

/** Earlier programs knew no reviews. */
const unreviewed = { diff: null, reviews: [], reviewNotice: null };

export const submissionKind = "submission";
const submissionKey = (project: string, taskId: string, number: number) =>
  `${project}/${taskId}/${String(number).padStart(8, "0")}`;

interface Documents {
  document(kind: string, key: string): DocumentValue | undefined;
}
interface WritableDocuments extends Documents {
  putDocument(kind: string, key: string, value: DocumentValue | null): void;
}

export function submissionOf(
  view: Documents,
  task: Task,
  number = task.submission?.number,
): Submission | null {
  if (number === undefined) return null;
  const value = view.document(submissionKind, submissionKey(task.project, task.id, number));
  return value ? ({ ...unreviewed, ...value } as unknown as Submission) : null;
}

export function putSubmission(draft: WritableDocuments, task: Task, submission: Submission): void {
  const key = submissionKey(task.project, task.id, submission.number);
  draft.putDocument(submissionKind, key, { ...submission });
}

export function removeSubmissions(draft: WritableDocuments, task: Task): void {
  if (task.submission) draft.putDocument(patchKind, patchKey(task), null);
  for (let number = task.submission?.number ?? 0; number > 0; number--)
    draft.putDocument(submissionKind, submissionKey(task.project, task.id, number), null);
}

/** The patch of a task's last submission, as the lander found it. It can be computed again, so it is not exported. */
export const patchKind = "patch";
const patchKey = ({ project, id }: Pick<Task, "project" | "id">) => `${project}/${id}`;

export interface Patch {
  submission: number;
  /** Whole files, until the limit. */
  text: string;
  /** Files that were left out. */
  omitted: number;
}

export function patchOf(view: Documents, task: Task): Patch | null {
  return (view.document(patchKind, patchKey(task)) as unknown as Patch | undefined) ?? null;
}

export function putPatch(draft: WritableDocuments, task: Task, patch: Patch): void {
  draft.putDocument(patchKind, patchKey(task), { ...patch });
}

export interface SubmissionRecord extends Submission {
  project: string;
  taskId: string;
}

/** All of a task, the first one first. */
export function submissionsOf(view: Documents, task: Task): Submission[] {
  const count = task.submission?.number ?? 0;
  return Array.from({ length: count }, (_, at) => submissionOf(view, task, at + 1)).filter(
    (each) => each !== null,
  );
}

export function submissionDocument({ project, taskId, ...submission }: SubmissionRecord): Document {
  const key = submissionKey(project, taskId, submission.number);
  return { kind: submissionKind, key, value: { ...unreviewed, ...submission } };
}

export interface TaskName {
  project: string;
  taskId: string;
}

export const isSameTask = (a: TaskName, b: TaskName) => a.project === b.project && a.taskId === b.taskId;

/** A submission within a landing. */
export interface LandingTask extends TaskName {
  submission: number;
  /** What it becomes on the target. Null: it is part of the landing's commit, or changes nothing. */
  commit: string | null;
}

export const landingStates = ["checking", "intended", "landed"] as const;

export interface Landing {
  id: string;
  repository: string;
  target: string;
  /** Of the lease under which it was opened. */
  epoch: number;
  state: (typeof landingStates)[number];
  base: string | null;
  /** The tip that the target moves to. */
  commit: string | null;
  tree: string | null;
  tasks: LandingTask[];
  checks: CheckResult[];
  ranBy: string;
  openedAt: number;
  intendedAt: number | null;
  landedAt: number | null;
}

export const landingKind = "landing";
const landingKey = (number: number) => String(number).padStart(10, "0");
const landingNumber = (id: string): number => Number(/^L([1-9]\d{0,9})$/.exec(id)?.[1] ?? -1);

export function landingOf(view: Documents, id: string): Landing | null {
  const number = landingNumber(id);
  const value = number < 0 ? undefined : view.document(landingKind, landingKey(number));
  return value ? (value as unknown as Landing) : null;
}

export function putLanding(draft: WritableDocuments, landing: Landing): void {
  draft.putDocument(landingKind, landingKey(landingNumber(landing.id)), { ...landing });
}

export function removeLanding(draft: WritableDocuments, id: string): void {
  draft.putDocument(landingKind, landingKey(landingNumber(id)), null);
}

const countKey = "count";

export function nextLandingId(draft: WritableDocuments): string {
  const count = (draft.document(landingKind, countKey)?.count as number | undefined) ?? 0;
  draft.putDocument(landingKind, countKey, { count: count + 1 });
  return `L${count + 1}`;
}

/** The newest first. */
export function newestLandings(view: Reads, limit: number): Landing[] {
  const count = (view.document(landingKind, countKey)?.count as number | undefined) ?? 0;
  const found: Landing[] = [];
  // Landings without an intent leave gaps.
  const size = Math.max(limit, 200);
  for (let before = count; before > 0 && found.length < limit; before -= size) {
    const from = Math.max(0, before - size);
    const page = { afterKey: landingKey(from), beforeKey: landingKey(before + 1), limit: size };
    const landings = view
      .documents({ kind: landingKind, ...page })
      .map(({ value }) => value as unknown as Landing);
    found.push(...landings.reverse());
  }
  return found.slice(0, limit);
}

/** Why the lander does not move, for reasons that are no task's fault. */
export interface Hold {
  reason: string;
  message: string;
  /** The command that helps. */
  fix: string | null;
  /** The submissions that wait for it; none: all. */
  tasks: TaskName[];
  at: number;
  notificationId: string;
}

/** One lander per repository and target works. */
export interface LanderLease {
  repository: string;
  target: string;
  epoch: number;
  holder: string | null;
  host: string | null;
  ttlMs: number;
  expiresAt: number;
  /** The landing that is open or intended. */
  landing: string | null;
  lastLanded: { commit: string; at: number } | null;
  holds: Hold[];
  /** The notification that no lander runs. */
  missingId: string | null;
}

export const leaseKind = "lander";

export interface LandingPlace {
  repository: string;
  target: string;
}

const leaseKey = ({ repository, target }: LandingPlace) => `${repository}/${target}`;

export function leaseOf(view: Documents, place: LandingPlace): LanderLease | null {
  const value = view.document(leaseKind, leaseKey(place));
  return value ? (value as unknown as LanderLease) : null;
}

export function putLease(draft: WritableDocuments, lease: LanderLease): void {
  draft.putDocument(leaseKind, leaseKey(lease), { ...lease });
}

export function removeLease(draft: WritableDocuments, place: LandingPlace): void {
  draft.putDocument(leaseKind, leaseKey(place), null);
}

/** A lease from the future was taken under a clock that has been set back since. */
export function isLeaseLive(lease: LanderLease | null, now: number): boolean {
  return lease?.holder != null && lease.expiresAt > now && lease.expiresAt <= now + lease.ttlMs;
}

/** Leases of landers, one for each place. An intent is the next lander's: its git command can outlive the process. */
export function liveLeases(view: Reads, now: number): (LanderLease & { holder: string })[] {
  const found = new Map<string, LanderLease & { holder: string }>();
  for (const project of view.projects({ readableOnly: true })) {
    const place = landingPlace(project);
    const lease = place && leaseOf(view, place);
    if (!lease || lease.holder === null || !isLeaseLive(lease, now)) continue;
    const open = lease.landing === null ? null : landingOf(view, lease.landing);
    if (open?.state !== "intended") found.set(leaseKey(lease), { ...lease, holder: lease.holder });
  }
  return [...found.values()];
}

/** Where the work of a project lands; until a lander has come, its repository is not known. Null: landing is off. */
export function landingPlace({ id, settings: { land } }: Project): LandingPlace | null {
  if (land.target === null) return null;
  return { repository: land.repository ?? `project:${id}`, target: land.target };
}

export function landsOn(land: LandSettings, { repository, target }: LandingPlace): boolean {
  return land.target === target && (land.repository === null || land.repository === repository);
}

/** How many tasks of a project are submitted. */
export const submittedKind = "submitted";

export function submittedCount(view: Documents, project: string): number {
  return (view.document(submittedKind, project)?.count as number | undefined) ?? 0;
}

export function countSubmitted(draft: WritableDocuments, project: string, change: 1 | -1): void {
  const count = submittedCount(draft, project) + change;
  draft.putDocument(submittedKind, project, count > 0 ? { count } : null);
}

export function submittedDocument(project: string, count: number): Document {
  return { kind: submittedKind, key: project, value: { count } };
}

/** All of a project, page by page. */
export function* submittedTasks(view: Pick<Reads, "tasks">, project: string): Generator<Task> {
  for (let afterOrdinal = 0; ; ) {
    const page = view.tasks({ project, states: ["submitted"], afterOrdinal, limit: limits.pageMax });
    yield* page;
    if (page.length < limits.pageMax) return;
    afterOrdinal = page.at(-1)!.ordinal;
  }
}

/** Projects whose submissions no lander picks up, and nobody was told yet. */
export function withoutLander(view: Reads, now: number): Project[] {
  return view.projects({ readableOnly: true }).filter((project) => {
    const place = landingPlace(project);
    if (!place || submittedCount(view, project.id) === 0) return false;
    const lease = leaseOf(view, place);
    return !isLeaseLive(lease, now) && !lease?.missingId;
  });
}

export function holdOf(view: Pick<View, "document">, task: Task, project: Project): Hold | null {
  const place = landingPlace(project);
  const holds = place ? (leaseOf(view, place)?.holds ?? []) : [];
  const name = { project: task.project, taskId: task.id };
  return (
    holds.find(({ tasks }) => tasks.length === 0 || tasks.some((each) => isSameTask(each, name))) ?? null
  );
}

/** A whole object id of git, by SHA-1 or SHA-256. */
export const isObjectId = (text: string) => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

/** A change was handed in and is not on the target. No completed task should be like that. */
export const isNotLanded = ({ submission, landed }: Task): boolean =>
  submission !== null && submission.commit !== null && landed === null;

export const flakyCount = (checks: readonly CheckResult[]): number =>
  checks.filter(({ state }) => state === "flaky").length;

/** A base that is the commit itself hands in nothing. */
export function changeIn(given: { commit?: string | undefined; base?: string | undefined }): string | null {
  return given.commit === undefined || given.commit === given.base ? null : given.commit;
}

/** What the agent said it did. */
export function summaryFrom(summary: string | undefined, result: TaskResult): string | null {
  return (summary ?? result.output).trim() || null;
}

/** Waiting raises the priority of a submission, so that none starves. */
const ageing = { stepMs: 5 * 60_000, boost: 20, max: 100 };

/** Which lands first: the higher priority, then what was submitted first, however often it came back. */
export function landingOrder(now: number) {
  const priorityOf = ({ priority, submission }: Task) => {
    const steps = Math.floor(Math.max(0, now - (submission?.submittedAt ?? now)) / ageing.stepMs);
    return Math.min(ageing.max, priority + steps * ageing.boost);
  };
  const firstOf = ({ submission }: Task) => submission?.firstSubmittedAt ?? 0;
  return (a: Task, b: Task) =>
    priorityOf(b) - priorityOf(a) || firstOf(a) - firstOf(b) || a.ordinal - b.ordinal;
}

/** How many submitted tasks are looked at to find a place. */
const lineMax = 1000;

export interface PlaceInLine {
  /** From 1 on. */
  place: number;
  /** Those that land before it, the next one first. */
  ahead: string[];
  /** There are more submitted tasks than were looked at. */
  isPartial: boolean;
}

/** Where a submitted task waits, among those of its project. What is being landed is ahead of everything else. */
export function placeInLine(view: Pick<Reads, "tasks">, task: Task, now: number): PlaceInLine {
  const { project } = task;
  const tasks = view.tasks({ project, states: ["submitted"], afterOrdinal: 0, limit: lineMax });
  const inOrder = landingOrder(now);
  const isWaiting = ({ submission }: Task) => (submission?.landing ? 0 : 1);
  const order = (a: Task, b: Task) => isWaiting(a) - isWaiting(b) || inOrder(a, b);
  const ahead = tasks.filter((each) => each.id !== task.id && order(each, task) < 0).sort(order);
  return {
    place: ahead.length + 1,
    ahead: ahead.map(({ id }) => id),
    isPartial: tasks.length === lineMax,
  };
}
