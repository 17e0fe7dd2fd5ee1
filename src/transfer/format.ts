// The lines of an export: a header, one line per row, and at the end how many there are of each kind. The order of the lines
// is part of the format: what hangs on a task follows it, so that a reader needs to remember only the task before.

import type { ArchivedTask } from "../core/archive.js";
import type { Counter } from "../core/changes.js";
import type {
  Attempt,
  AttemptAnswer,
  AttemptEnd,
  Claim,
  HeldState,
  LateResult,
  Progress,
} from "../core/claim.js";
import type { TaskUsage, Usage } from "../core/cost.js";
import { type DibsEvent, eventTypes, type Notification, notificationTypes } from "../core/event.js";
import {
  type CheckResult,
  checkStates,
  type Landed,
  type SubmissionEnd,
  type SubmissionRecord,
  type TaskSubmission,
} from "../core/landing.js";
import type { PlanEntry, PlanRecord } from "../core/plan.js";
import {
  defaultSettings,
  type LandCheck,
  type Org,
  type Project,
  reviewSettings,
  type Settings,
} from "../core/project.js";
import {
  type Budget,
  type BudgetSpent,
  budgetPeriods,
  budgetUnits,
  holdSources,
  type Probe,
  type ResourceHold,
  type ResourceRecord,
  type Spent,
  type Uses,
} from "../core/resource.js";
import { type Review, reviewKinds, type SubmissionDiff, verdicts } from "../core/review.js";
import type { PastClaim, Session, SessionRecord } from "../core/session.js";
import type { Question, RestingState, Task, TaskResult, TaskText, TaskType } from "../core/task.js";
import type { ClaimKey, IdempotencyRecord } from "../core/view.js";
import {
  flag,
  id,
  json,
  listOf,
  numbersByName,
  object,
  optional,
  orNull,
  real,
  type Shape,
  text,
  textsByName,
  unlessNull,
  unlessUsual,
  whole,
  word,
} from "./shape.js";

export const formatVersion = 1;

/** The header names the org; the rows do not. */
export interface Rows {
  org: Omit<Org, "org">;
  project: Project;
  task: Task;
  text: ClaimKey & TaskText;
  claim: Claim;
  attempt: Attempt;
  submission: SubmissionRecord;
  counter: Counter;
  archived: ArchivedTask;
  plan: PlanRecord;
  resource: ResourceRecord;
  session: Session;
  record: SessionRecord;
  notification: Notification;
  event: Omit<DibsEvent, "org">;
  key: IdempotencyRecord;
}

export type Kind = keyof Rows;
export type Row = { [K in Kind]: { kind: K; row: Rows[K] } }[Kind];

/** How many rows there are of each kind. */
export type Counts = Record<Kind, number>;

export interface Header {
  dibs: "export";
  version: number;
  org: string;
}

const words = <T extends string>(list: readonly T[]) =>
  word(Object.fromEntries(list.map((each) => [each, true])) as Record<T, true>);

const settings = object<Settings>({
  claim: object<Settings["claim"]>({
    defaultTtlMs: real,
    minTtlMs: real,
    maxTtlMs: real,
    startTimeoutMs: real,
    heartbeatIntervalMs: real,
    cleanupIntervalMs: real,
    orphanThresholdMs: real,
    warningThresholdMs: real,
    expiringThresholdMs: real,
    staleAfterMs: real,
  }),
  retry: object<Settings["retry"]>({
    delayMs: real,
    backoff: word<Settings["retry"]["backoff"]>({ exponential: true, fixed: true }),
    maxDelayMs: real,
    jitter: real,
  }),
  ageing: object<Settings["ageing"]>({ enabled: flag, stepMs: real, boost: real, boostMax: real }),
  order: word<Settings["order"]>({ priority: true, "depth-first": true }),
  maxRetries: real,
  maxLost: real,
  notifications: object<Settings["notifications"]>({ taskCompleted: flag }),
  land: unlessUsual(
    defaultSettings.land,
    object<Settings["land"]>({
      target: orNull(text),
      remote: orNull(text),
      repository: orNull(text),
      checks: listOf(
        object<LandCheck>({ name: text, run: listOf(text), timeoutMs: whole, paths: listOf(text) }),
      ),
      setup: orNull(
        object<NonNullable<Settings["land"]["setup"]>>({ run: listOf(text), paths: listOf(text) }),
      ),
      review: unlessUsual(defaultSettings.land.review, words(reviewSettings)),
      reviewPaths: unlessUsual(defaultSettings.land.reviewPaths, listOf(text)),
      reviewRoundsMax: unlessUsual(defaultSettings.land.reviewRoundsMax, whole),
      returnsMax: whole,
      batchMax: whole,
    }),
  ),
  worktree: unlessUsual(
    defaultSettings.worktree,
    object<Settings["worktree"]>({ setup: orNull(listOf(text)), copy: listOf(text) }),
  ),
  uses: unlessUsual(defaultSettings.uses, numbersByName),
  scopes: unlessUsual(defaultSettings.scopes, object<Settings["scopes"]>({ exclusive: listOf(text) })),
});

const result = object<TaskResult>({
  output: text,
  filesCreated: listOf(text),
  filesModified: listOf(text),
  branch: optional(text),
  commit: optional(text),
});

/** Units by resource. */
const uses = unlessUsual<Uses>(null, orNull(numbersByName));

/** What a claim and an attempt begin with. */
const held = {
  project: id,
  taskId: id,
  epoch: whole,
  sessionId: id,
  state: word<HeldState>({ claimed: true, running: true, awaiting_response: true }),
  agentType: orNull(text),
  claimedAt: whole,
  startedAt: orNull(whole),
  expiresAt: whole,
  ttlMs: whole,
  lastHeartbeat: whole,
  heartbeatCount: whole,
  progress: orNull(object<Progress>({ note: orNull(text), percent: orNull(real), at: whole })),
  metadata: orNull(json),
  uses,
  usage: unlessUsual(
    null,
    orNull(
      object<Usage>({
        usd: orNull(real),
        inputTokens: orNull(whole),
        outputTokens: orNull(whole),
        model: orNull(text),
      }),
    ),
  ),
  updatedAt: whole,
};

const past = object<PastClaim>({ taskId: id, claimedAt: whole, releasedAt: whole, releaseReason: text });

const holds = listOf(
  object<ResourceHold>({
    source: words(holdSources),
    until: orNull(whole),
    reason: orNull(text),
    by: text,
    at: whole,
  }),
);

/** In the order in which they stand in the file. */
export const shapes: { [K in Kind]: Shape<Rows[K]> } = {
  org: object<Rows["org"]>({
    defaultProject: id,
    createdAt: whole,
    eventMin: whole,
    eventSeq: whole,
    ordinal: whole,
    notificationSeq: whole,
    lastAt: whole,
    highestAt: whole,
  }),
  project: object<Project>({ id, settings, paused: flag, createdAt: whole, updatedAt: whole }),
  task: object<Task>({
    project: id,
    id,
    ordinal: whole,
    type: word<TaskType>({ task: true, group: true }),
    parentId: orNull(id),
    title: text,
    phase: orNull(text),
    state: word<RestingState>({
      queued: true,
      awaiting_response: true,
      submitted: true,
      completed: true,
      failed: true,
      cancelled: true,
    }),
    priority: whole,
    labels: listOf(text),
    files: listOf(text),
    dependsOn: listOf(id),
    assignee: orNull(text),
    agentType: orNull(text),
    requires: listOf(text),
    uses,
    scopes: unlessUsual<string[]>([], listOf(text)),
    maxRetries: whole,
    retryCount: whole,
    lostCount: whole,
    notBefore: orNull(whole),
    timeoutMs: orNull(whole),
    question: orNull(
      object<Question>({
        id: text,
        text,
        options: optional(listOf(text)),
        default: optional(text),
        askedAt: whole,
        aboutLanding: optional(flag),
      }),
    ),
    response: orNull(text),
    responsePending: flag,
    error: orNull(text),
    correlationId: text,
    epoch: whole,
    createdAt: whole,
    updatedAt: whole,
    readyAt: orNull(whole),
    startedAt: orNull(whole),
    endedAt: orNull(whole),
    createdBy: text,
    depth: whole,
    sequence: whole,
    pendingDeps: whole,
    openChildren: whole,
    completedChildren: whole,
    submission: unlessUsual(
      null,
      orNull(
        object<TaskSubmission>({
          number: whole,
          commit: orNull(text),
          host: optional(text),
          submittedAt: whole,
          firstSubmittedAt: whole,
          landing: orNull(text),
          rounds: optional(whole),
          alone: optional(listOf(text)),
        }),
      ),
    ),
    landed: unlessUsual(null, orNull(object<Landed>({ commit: text, target: text, at: whole }))),
    noChange: unlessUsual(false, flag),
    returnCount: unlessUsual(0, whole),
    usage: unlessUsual(
      null,
      orNull(
        object<TaskUsage>({ usd: orNull(real), inputTokens: orNull(whole), outputTokens: orNull(whole) }),
      ),
    ),
  }),
  text: object<Rows["text"]>({
    project: id,
    taskId: id,
    prompt: text,
    description: orNull(text),
    metadata: orNull(json),
  }),
  claim: object<Claim>({
    ...held,
    startBy: orNull(whole),
    deadlineAt: orNull(whole),
    silentAt: orNull(whole),
    pausedAt: orNull(whole),
    acknowledged: flag,
  }),
  attempt: object<Attempt>({
    ...held,
    end: word<AttemptEnd>({
      complete: true,
      submit: true,
      fail: true,
      release: true,
      expire: true,
      orphan: true,
      cancel: true,
      abandon: true,
    }),
    releasedAt: whole,
    releaseReason: text,
    result: orNull(result),
    error: orNull(text),
    lateResult: orNull(object<LateResult>({ at: whole, result: orNull(result), error: orNull(text) })),
    unreported: unlessUsual<Attempt["unreported"]>(null, orNull(listOf(id) as Shape<readonly string[]>)),
    answer: orNull(
      object<AttemptAnswer>({
        unblocked: optional(listOf(id)),
        unblockedCount: optional(whole),
        willRetry: optional(flag),
        retryAt: optional(orNull(whole)),
        submission: optional(whole),
        told: optional(text),
      }),
    ),
  }),
  submission: object<SubmissionRecord>({
    project: id,
    taskId: id,
    number: whole,
    commit: orNull(text),
    branch: orNull(text),
    base: orNull(text),
    summary: orNull(text),
    host: orNull(text),
    submittedBy: id,
    epoch: whole,
    submittedAt: whole,
    durationMs: whole,
    checks: listOf(
      object<CheckResult>({
        name: text,
        state: words(checkStates),
        exitCode: orNull(whole),
        durationMs: whole,
        tree: text,
        ranBy: text,
        logTail: text,
      }),
    ),
    diff: unlessUsual(
      null,
      orNull(
        object<SubmissionDiff>({
          base: text,
          files: listOf(
            object<SubmissionDiff["files"][number]>({
              path: text,
              insertions: orNull(whole),
              deletions: orNull(whole),
            }),
          ),
          fileCount: whole,
          insertions: whole,
          deletions: whole,
          reviewPaths: listOf(text),
          patchId: orNull(text),
          onTarget: optional(flag),
        }),
      ),
    ),
    reviews: unlessUsual(
      [],
      listOf(
        object<Review>({
          epoch: whole,
          kind: words(reviewKinds),
          sessionId: orNull(id),
          by: text,
          claimedAt: whole,
          ttlMs: whole,
          expiresAt: whole,
          releasedAt: orNull(whole),
          verdict: orNull(words(verdicts)),
          comment: orNull(text),
          verdictAt: orNull(whole),
          own: flag,
          inheritedFrom: orNull(whole),
        }),
      ),
    ),
    reviewNotice: unlessUsual(null, orNull(text)),
    end: orNull(
      object<SubmissionEnd>({
        as: word<SubmissionEnd["as"]>({ landed: true, returned: true, withdrawn: true, cancelled: true }),
        reason: orNull(text),
        detail: orNull(text),
        at: whole,
      }),
    ),
  }),
  // The parent of the top level is empty.
  counter: object<Counter>({ project: id, parent: text, value: whole }),
  // What is left of them is their ids, which nobody may get again.
  archived: object<ArchivedTask>({ project: id, taskId: id, at: whole }),
  plan: object<PlanRecord>({
    project: id,
    name: text,
    entries: listOf(object<PlanEntry>({ identity: text, taskId: id, said: textsByName })),
  }),
  resource: object<ResourceRecord>({
    id,
    capacity: orNull(whole),
    budgets: listOf(object<Budget>({ amount: real, unit: words(budgetUnits), period: words(budgetPeriods) })),
    holds,
    probe: orNull(object<Probe>({ project: id, taskId: id, epoch: whole, until: whole, holds })),
    pauses: optional(whole),
    createdAt: whole,
    spent: object<Spent>({
      usd: real,
      tokens: whole,
      minutes: real,
      unknown: whole,
      isWarned: flag,
      budgets: listOf(
        object<BudgetSpent>({
          unit: words(budgetUnits),
          period: words(budgetPeriods),
          start: whole,
          spent: real,
          isNoticed: flag,
          isWaived: flag,
        }),
      ),
    }),
  }),
  session: object<Session>({
    project: id,
    id,
    name: orNull(text),
    agentType: orNull(text),
    pid: orNull(whole),
    host: orNull(text),
    processStartedAt: orNull(text),
    capabilities: listOf(text),
    uses,
    capacity: whole,
    heartbeats: flag,
    contextPercent: orNull(real),
    score: orNull(real),
    startedAt: whole,
    lastSeenAt: whole,
    endedAt: orNull(whole),
    owner: unlessNull(text),
    incarnation: whole,
    avoid: listOf(object<Session["avoid"][number]>({ taskId: id, until: whole })),
  }),
  record: object<SessionRecord>({
    project: id,
    id,
    completed: whole,
    history: listOf(past) as Shape<readonly PastClaim[]>,
  }),
  notification: object<Notification>({
    id: text,
    type: words(notificationTypes),
    severity: word<Notification["severity"]>({ info: true, warning: true, error: true }),
    title: text,
    message: text,
    taskId: orNull(id),
    project: id,
    createdAt: whole,
    readAt: orNull(whole),
  }),
  event: object<Rows["event"]>({
    seq: whole,
    type: words(eventTypes),
    at: whole,
    project: orNull(id),
    taskId: orNull(id),
    sessionId: orNull(id),
    epoch: orNull(whole),
    actor: text,
    data: json,
  }),
  key: object<IdempotencyRecord>({ key: text, request: text, answer: text, createdAt: whole }),
};

export const kinds = Object.keys(shapes) as Kind[];

export function noRows(): Counts {
  return Object.fromEntries(kinds.map((kind) => [kind, 0])) as Counts;
}

/** Not a number if the id is none. */
export function notificationNumber({ id }: Notification): number {
  return Number(/^n([1-9]\d*)$/.exec(id)?.[1] ?? Number.NaN);
}

/** One line, whoever splits the file: some readers take U+2028 and U+2029 for line ends. */
function line(value: object): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (end) =>
    end === "\u2028" ? "\\u2028" : "\\u2029",
  );
}

export function headerLine(org: string): string {
  return line({ dibs: "export", version: formatVersion, org } satisfies Header);
}

export function rowLine({ kind, row }: Row): string {
  return line({ kind, row: (shapes[kind] as Shape<unknown>).ordered(row) });
}

export function endLine(counts: Counts): string {
  return line({ kind: "end", counts });
}
