// What every surface answers with. Times are ISO 8601 in UTC with milliseconds.

import { z } from "zod";
import { eventTypes, notificationTypes } from "../core/event.js";
import { reasonCodes } from "../core/explain.js";
import { checkStates, landingStates } from "../core/landing.js";
import { limits } from "../core/limits.js";
import { nothingCodes } from "../core/nothing.js";
import { reviewSettings } from "../core/project.js";
import { budgetPeriods, budgetUnits, holdSources } from "../core/resource.js";
import { reviewKinds, verdicts } from "../core/review.js";
import { roles } from "../core/role.js";
import { exclusiveLengthMax, exclusiveMax } from "../core/scopes.js";
import { taskStates } from "../core/task.js";
import { durationMsMax, uses } from "./fields.js";
import { once } from "./once.js";

export const time = once(() => z.iso.datetime({ precision: 3 }));
const maybeTime = once(() => time().nullable());

export const questionShape = once(() =>
  z.object({
    id: z.string(),
    text: z.string(),
    options: z.array(z.string()).optional(),
    default: z.string().optional(),
    askedAt: time(),
  }),
);

export const progressShape = once(() =>
  z.object({
    note: z.string().nullable(),
    percent: z.number().nullable(),
    at: time(),
  }),
);

export const resultShape = once(() =>
  z.object({
    output: z.string(),
    filesCreated: z.array(z.string()),
    filesModified: z.array(z.string()),
    branch: z.string().optional().describe("The branch that has the work"),
    commit: z.string().optional().describe("Its last commit"),
  }),
);

export const healthShape = once(() =>
  z.enum(["paused", "expired", "expiring", "stale", "warning", "healthy"]),
);

const usesShape = once(() => z.record(z.string(), z.number()));

const usage = once(() => ({
  usd: z.number().nullable(),
  inputTokens: z.number().nullable(),
  outputTokens: z.number().nullable(),
}));

export const usageShape = once(() => z.object({ ...usage(), model: z.string().nullable() }));

export const claimShape = once(() =>
  z.object({
    taskId: z.string(),
    sessionId: z.string(),
    epoch: z.number(),
    agentType: z.string().nullable(),
    claimedAt: time(),
    startedAt: maybeTime(),
    expiresAt: time(),
    ttlMs: z.number(),
    lastHeartbeat: time(),
    heartbeatCount: z.number(),
    progress: progressShape().nullable(),
    metadata: z.record(z.string(), z.json()).nullable(),
    uses: usesShape().describe("What it has taken"),
    usage: usageShape().nullable().describe("What its holder has reported"),
    healthStatus: healthShape(),
    remainingMs: z.number(),
    releasedAt: z.null(),
    releaseReason: z.null(),
    lateResult: z.null(),
  }),
);

export const handoverShape = once(() =>
  z
    .string()
    .describe(
      "What earlier attempts left, if there were any, in at most 800 tokens: why the last one ended, branch and changes, notes, conflicts, requested changes, answers. Text of others is marked as data",
    ),
);

/** The attempts of an agent type on a host fail at once. */
export const breakerShape = once(() =>
  z.object({
    agentType: z.string().nullable(),
    failures: z.number().describe("Quick failures in a row"),
    taskId: z.string().nullable().describe("The task that failed, if it was always the same"),
    probeAt: time().describe("When a claim gets a task again"),
  }),
);

export const openBreakersShape = once(() =>
  z
    .array(breakerShape())
    .describe("Agent types that fail at once, if there are any: their runners claim one task at a time"),
);

/** What a session works on. */
export const currentTaskShape = once(() =>
  z.object({
    taskId: z.string(),
    title: z.string(),
    phase: z.string().nullable(),
    state: z.enum(taskStates),
    claim: claimShape(),
  }),
);

export const attemptShape = once(() =>
  claimShape()
    .omit({ healthStatus: true, remainingMs: true, releasedAt: true, releaseReason: true, lateResult: true })
    .extend({
      project: z.string(),
      healthStatus: healthShape().nullable(),
      remainingMs: z.number().nullable(),
      releasedAt: maybeTime(),
      releaseReason: z.string().nullable(),
      result: resultShape().nullable(),
      error: z.string().nullable(),
      lateResult: z
        .object({ at: time(), result: resultShape().nullable(), error: z.string().nullable() })
        .nullable(),
    }),
);

export const landedShape = once(() => z.object({ commit: z.string(), target: z.string(), at: time() }));

export const stageShape = once(() => z.enum(["checking", "review", "landing", "held"]));

export const taskSubmissionShape = once(() =>
  z.object({
    number: z.number(),
    commit: z.string().nullable(),
    submittedAt: time(),
    stage: stageShape().nullable().describe("Where it is on its way to the target; null: it has ended"),
  }),
);

export const checkResultShape = once(() =>
  z.object({
    name: z.string(),
    state: z.enum(checkStates),
    exitCode: z.number().nullable(),
    durationMs: z.number(),
    tree: z.string(),
    ranBy: z.string(),
    logTail: z.string(),
  }),
);

export const landingHoldShape = once(() =>
  z.object({
    reason: z.string(),
    message: z.string(),
    fix: z.string().nullable(),
    tasks: z.array(z.object({ project: z.string(), taskId: z.string() })),
    at: time(),
  }),
);

export const diffShape = once(() =>
  z.object({
    base: z.string().describe("The target's commit that it was merged with"),
    files: z
      .array(
        z.object({
          path: z.string(),
          insertions: z.number().nullable().describe("Null: binary"),
          deletions: z.number().nullable(),
        }),
      )
      .describe("The first ones"),
    fileCount: z.number(),
    insertions: z.number(),
    deletions: z.number(),
    reviewPaths: z.array(z.string()).describe("Those that need a human's approval"),
  }),
);

export const reviewShape = once(() =>
  z.object({
    epoch: z.number().describe("From 1 on, per submission"),
    kind: z.enum(reviewKinds),
    sessionId: z.string().nullable(),
    by: z.string(),
    claimedAt: time(),
    expiresAt: time(),
    live: z.boolean().describe("An agent works on it"),
    verdict: z.enum(verdicts).nullable(),
    comment: z.string().nullable(),
    verdictAt: maybeTime(),
    own: z.boolean().describe("A person approved own work"),
    inheritedFrom: z.number().nullable().describe("The earlier submission with the same changes"),
  }),
);

export const submissionShape = once(() =>
  z.object({
    number: z.number(),
    commit: z.string().nullable(),
    branch: z.string().nullable(),
    base: z.string().nullable(),
    summary: z.string().nullable(),
    host: z.string().nullable(),
    stage: stageShape().nullable().describe("Where it is on its way to the target; null: it has ended"),
    submittedBy: z.string(),
    epoch: z.number(),
    submittedAt: time(),
    durationMs: z.number().describe("How long the attempt worked"),
    checks: z.array(checkResultShape()),
    reviewNeeded: z
      .enum(reviewSettings)
      .describe("Whose approval it needs; a path of land.reviewPaths needs a human's"),
    approved: z.boolean().describe("It has the approval that it needs"),
    reviews: z.array(reviewShape()),
    diff: diffShape().nullable().describe("What it changes, found by the lander; null: not yet known"),
    landed: landedShape().optional(),
    heldReason: z.string().optional(),
    end: z
      .object({
        as: z.enum(["landed", "returned", "withdrawn", "cancelled"]),
        reason: z.string().nullable(),
        detail: z.string().nullable(),
        at: time(),
      })
      .nullable(),
  }),
);

/** A submitted task as the lander sees it. */
export const queuedSubmissionShape = once(() =>
  z.object({
    project: z.string(),
    taskId: z.string(),
    title: z.string(),
    priority: z.number(),
    stage: stageShape(),
    number: z.number(),
    commit: z.string().nullable(),
    branch: z.string().nullable(),
    base: z.string().nullable(),
    summary: z.string().nullable(),
    submittedBy: z.string(),
    epoch: z.number(),
    submittedAt: time(),
    firstSubmittedAt: time(),
    inspected: z.boolean().describe("The lander has recorded what it changes"),
    reviewNeeded: z.enum(reviewSettings),
    approved: z.boolean(),
    reviewing: z.string().nullable().describe("The session that reviews it"),
  }),
);

export const landingShape = once(() =>
  z.object({
    id: z.string(),
    repository: z.string(),
    target: z.string(),
    epoch: z.number(),
    state: z.enum(landingStates),
    base: z.string().nullable(),
    commit: z.string().nullable(),
    tree: z.string().nullable(),
    tasks: z.array(
      z.object({
        project: z.string(),
        taskId: z.string(),
        submission: z.number(),
        commit: z.string().nullable(),
      }),
    ),
    checks: z.array(checkResultShape()),
    ranBy: z.string(),
    openedAt: time(),
    intendedAt: maybeTime(),
    landedAt: maybeTime(),
  }),
);

export const landerLeaseShape = once(() =>
  z.object({
    repository: z.string(),
    target: z.string(),
    epoch: z.number(),
    holder: z.string(),
    host: z.string().nullable(),
    expiresAt: time(),
    landing: landingShape().nullable().describe("The one that is open, or whose intent is not settled"),
    lastLanded: z.object({ commit: z.string(), at: time() }).nullable(),
    holds: z.array(landingHoldShape()),
  }),
);

export const taskShape = once(() =>
  z.object({
    id: z.string(),
    project: z.string(),
    type: z.enum(["task", "group"]),
    parentId: z.string().nullable(),
    title: z.string(),
    prompt: z.string(),
    description: z.string().nullable(),
    state: z.enum(taskStates),
    phase: z.string().nullable(),
    priority: z.number(),
    priorityLabel: z.enum(["low", "medium", "high", "critical"]),
    labels: z.array(z.string()),
    files: z.array(z.string()),
    dependsOn: z.array(z.string()),
    assignee: z.string().nullable(),
    agentType: z.string().nullable(),
    requires: z.array(z.string()),
    uses: usesShape().describe("Units by resource"),
    maxRetries: z.number(),
    retryCount: z.number(),
    lostCount: z.number(),
    notBefore: maybeTime(),
    timeoutMs: z.number().nullable(),
    question: questionShape().nullable(),
    response: z.string().nullable(),
    /** The answer has not been acknowledged by the holder yet. */
    responsePending: z.boolean(),
    submission: taskSubmissionShape().nullable().describe("What was submitted last"),
    landed: landedShape().nullable(),
    noChange: z.boolean().describe("Completed by a submission that changed nothing"),
    returnCount: z.number(),
    usage: z.object(usage()).nullable().describe("What its attempts have cost, as far as they said"),
    result: resultShape().nullable(),
    error: z.string().nullable(),
    correlationId: z.string(),
    epoch: z.number(),
    claim: claimShape().nullable(),
    /** Dependencies that are not completed yet. */
    pendingDependencies: z.number(),
    openChildren: z.number(),
    createdAt: time(),
    updatedAt: time(),
    readyAt: maybeTime(),
    startedAt: maybeTime(),
    endedAt: maybeTime(),
    createdBy: z.string(),
    metadata: z.record(z.string(), z.json()).nullable(),
  }),
);

export const sessionShape = once(() =>
  z.object({
    id: z.string(),
    project: z.string(),
    name: z.string().nullable(),
    agentType: z.string().nullable(),
    pid: z.number().nullable(),
    host: z.string().nullable(),
    processStartedAt: z.string().nullable(),
    capabilities: z.array(z.string()),
    uses: usesShape().describe("Units of resources that each of its claims uses"),
    capacity: z.number(),
    heartbeats: z.boolean(),
    contextPercent: z.number().nullable(),
    score: z.number().nullable(),
    startedAt: time(),
    lastSeenAt: time(),
    endedAt: maybeTime(),
    currentTaskId: z.string().nullable(),
    currentTaskClaimedAt: maybeTime(),
    claimHistory: z.array(
      z.object({
        taskId: z.string(),
        claimedAt: time(),
        releasedAt: time(),
        releaseReason: z.string(),
        duration: z.number(),
      }),
    ),
  }),
);

export const eventShape = once(() =>
  z.object({
    seq: z.number(),
    type: z.enum(eventTypes),
    at: time(),
    org: z.string(),
    project: z.string().nullable(),
    taskId: z.string().nullable(),
    sessionId: z.string().nullable(),
    epoch: z.number().nullable(),
    actor: z.string(),
    data: z.record(z.string(), z.json()),
  }),
);

export const notificationShape = once(() =>
  z.object({
    id: z.string(),
    type: z.enum(notificationTypes),
    severity: z.enum(["info", "warning", "error"]),
    title: z.string(),
    message: z.string(),
    taskId: z.string().nullable(),
    project: z.string(),
    createdAt: time(),
    readAt: maybeTime(),
  }),
);

export const reasonShape = once(() =>
  z.object({
    code: z.enum(reasonCodes),
    message: z.string(),
    taskIds: z.array(z.string()).optional(),
    count: z.number().optional(),
    until: maybeTime().optional(),
    sessionId: z.string().optional().describe("The session that holds it"),
    holderAlive: z.boolean().optional(),
    resource: z.string().optional().describe("The resource that it lacks"),
    ended: z
      .object({ taskId: z.string(), state: z.enum(["failed", "cancelled"]) })
      .optional()
      .describe("What it waits for, directly or not, and only a person can retry"),
    fix: z.string().optional(),
  }),
);

export const nothingShape = once(() =>
  z.object({
    message: z.string().describe("Such as `Nothing to claim: 1 running, 2 blocked. Run: dibs list`"),
    fix: z.string().describe("The command that helps most"),
    reasons: z.array(
      z.object({
        code: z.enum(nothingCodes),
        count: z.number().optional().describe("How many tasks; of a capacity or failures, how many of these"),
        message: z.string(),
      }),
    ),
  }),
);

const positive = once(() => z.number().int().min(1).max(durationMsMax));
const natural = once(() => z.number().int().min(0).max(durationMsMax));

/** Their descriptions are also in the OpenAPI document and in docs/reference/settings.md. */
export const settingsShape = once(() =>
  z.strictObject({
    claim: z.strictObject({
      defaultTtlMs: positive().describe("Lease length if a claim names none"),
      minTtlMs: positive().describe("Shortest lease that a claim can ask for"),
      maxTtlMs: positive().describe("Longest lease that a claim can ask for"),
      startTimeoutMs: positive().describe("A claim that is not started within this time expires"),
      heartbeatIntervalMs: positive().describe("How often Dibs' own clients renew a lease"),
      cleanupIntervalMs: positive().describe("How often a server looks for expired leases"),
      orphanThresholdMs: positive().describe("A session that promised heartbeats is dead after this silence"),
      warningThresholdMs: natural().describe("Remaining lease below which a claim's health is warning"),
      expiringThresholdMs: natural().describe("Remaining lease below which a claim's health is expiring"),
      staleAfterMs: positive().describe("Time without a heartbeat after which a claim's health is stale"),
    }),
    retry: z.strictObject({
      delayMs: natural().describe("Pause before the first automatic retry"),
      backoff: z
        .enum(["exponential", "fixed"])
        .describe("Whether the pause doubles with each retry, or stays the same"),
      maxDelayMs: natural().describe("Longest pause before a retry"),
      jitter: z.number().min(0).max(1).describe("Random part of the pause: 0.1 is 10 % more or less"),
    }),
    ageing: z.strictObject({
      enabled: z.boolean().describe("Whether waiting raises a task's priority"),
      stepMs: positive().describe("Waiting time after which the priority rises by boost"),
      boost: natural().max(100).describe("What each step adds to the priority"),
      boostMax: natural().max(100).describe("What all steps together add at most"),
    }),
    order: z
      .enum(["priority", "depth-first"])
      .describe("Order of the queue: by priority, or the deepest subtasks first"),
    maxRetries: natural().max(1000).describe("Automatic retries of a task that sets none itself"),
    maxLost: positive().max(1000).describe("A task that loses its worker this often in a row fails"),
    notifications: z.strictObject({
      taskCompleted: z.boolean().describe("Whether a completed task creates a notification"),
    }),
    land: landShape(),
    worktree: worktreeShape(),
    uses: uses().describe("Units of resources that every claim uses"),
    scopes: scopesShape(),
  }),
);

const argv = once(() => z.array(z.string().min(1).max(limits.pathLengthMax)).min(1).max(limits.argumentsMax));
const globs = once(() => z.array(z.string().min(1).max(limits.pathLengthMax)).max(limits.filesMax));
/** As git allows it, and never an option. */
const branchName = once(() =>
  z
    .string()
    .max(limits.gitNameLengthMax)
    .regex(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: git allows none of them.
      /^(?![-/.])(?!.*(\.\.|@\{|\/\/|\.lock$|[/.]$))[^\u0000-\u0020~^:?*[\\\u007f]+$/,
      "must be a branch name",
    ),
);

/** Absent fields of a check and of the setup mean: no bound but the default, and every path. */
const checkTimeoutMs = 10 * 60_000;

const landShape = once(() =>
  z.strictObject({
    target: branchName().nullable().describe("Branch that completed work lands on; null: landing is off"),
    remote: branchName()
      .nullable()
      .describe("Git remote of target and task branches, for workers on several machines"),
    repository: z
      .string()
      .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, "must be a commit id")
      .nullable()
      .describe("Root commit of the repository; dibs init --land or the first lander sets it"),
    checks: z
      .array(
        z.strictObject({
          name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be a word"),
          run: argv(),
          timeoutMs: positive().default(checkTimeoutMs),
          paths: globs().default([]),
        }),
      )
      .max(limits.checksMax)
      .describe("Commands that must exit 0 on the tree that would land"),
    setup: z
      .strictObject({ run: argv(), paths: globs().default([]) })
      .nullable()
      .describe("Command that prepares the landing worktree; runs again when one of its paths changed"),
    review: z
      .enum(reviewSettings)
      .describe(
        "Whose approval a submission needs before it lands: none, that of a human, of an agent, or of any of the two",
      ),
    reviewPaths: globs().describe("A submission that touches one of these needs a human's approval"),
    reviewRoundsMax: positive()
      .max(1000)
      .describe("A task for which changes are requested more often asks a human"),
    returnsMax: positive().max(1000).describe("A task that is returned more often asks a human"),
    batchMax: positive().max(limits.landingTasksMax).describe("How many submissions can share a landing"),
  }),
);

const worktreeShape = once(() =>
  z.strictObject({
    setup: argv().nullable().describe("Command that runs in every new task worktree"),
    copy: globs().describe("Files that are copied into every new task worktree"),
  }),
);

const scopesShape = once(() =>
  z.strictObject({
    exclusive: z
      .array(
        z
          .string()
          .min(1)
          .max(exclusiveLengthMax)
          .refine((glob) => !/\p{Cc}/u.test(glob), "must not contain control characters"),
      )
      .max(exclusiveMax)
      .describe(
        "Globs of paths that one task at a time can change, such as lockfiles and migrations; compared with the files of a task when it is created or edited",
      ),
  }),
);

export const settingsPatch = once(() => {
  const { claim, retry, ageing, notifications, land, worktree, scopes, ...scalars } = settingsShape().shape;
  return z.strictObject({
    land: land.partial().optional(),
    worktree: worktree.partial().optional(),
    scopes: scopes.partial().optional(),
    claim: claim.partial().optional(),
    retry: retry.partial().optional(),
    ageing: ageing.partial().optional(),
    notifications: notifications.partial().optional(),
    order: scalars.order.optional(),
    maxRetries: scalars.maxRetries.optional(),
    maxLost: scalars.maxLost.optional(),
    uses: scalars.uses.optional(),
  });
});

export const projectShape = once(() =>
  z.object({
    id: z.string(),
    settings: settingsShape(),
    paused: z.boolean(),
    isDefault: z.boolean(),
    createdAt: time(),
    updatedAt: time(),
  }),
);

export const tokenShape = once(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    role: z.enum(roles),
    createdAt: time(),
    createdBy: z.string(),
    expiresAt: maybeTime(),
  }),
);

export const resourceShape = once(() =>
  z.object({
    id: z.string(),
    capacity: z.number().nullable().describe("How many units there are; null: no limit"),
    state: z
      .enum(["open", "half-open", "held"])
      .describe("Half open: its hold has ended, one claim goes first and the others follow"),
    holds: z.array(
      z.object({
        source: z.enum(holdSources),
        until: maybeTime().describe("Null: until it is resumed"),
        reason: z.string().nullable(),
        by: z.string(),
        at: time(),
      }),
    ),
    budgets: z.array(
      z.object({
        amount: z.number(),
        unit: z.enum(budgetUnits),
        period: z.enum(budgetPeriods),
        spent: z.number().describe("In the current period"),
        endsAt: maybeTime().describe("When the period ends"),
      }),
    ),
    spent: z
      .object({ usd: z.number(), tokens: z.number(), minutes: z.number() })
      .describe("Ever; minutes where a budget counts them"),
    inUse: z.number().describe("Units that claims hold"),
    waiting: z.number().describe("Ready tasks that lack it; counted in lists"),
    createdAt: time(),
  }),
);
export type WireResource = z.output<ReturnType<typeof resourceShape>>;

export const resourceAnswer = once(() => z.object({ success: success(), resource: resourceShape() }));

export const lockShape = once(() =>
  z.object({
    name: z.string(),
    pid: z.number().nullable(),
    host: z.string().nullable(),
    processStartedAt: z.string().nullable(),
    sessionId: z.string().nullable(),
    /** The token it was acquired with. */
    owner: z.string().nullable(),
    acquiredAt: time(),
    /** Null: it ends with its process. */
    expiresAt: maybeTime(),
    holderAlive: z.boolean(),
    metadata: z.record(z.string(), z.json()).nullable(),
  }),
);

export const success = once(() => z.literal(true));
export const taskAnswer = once(() => z.object({ success: success(), task: taskShape() }));

export type WireTask = z.output<ReturnType<typeof taskShape>>;
export type WireBreaker = z.output<ReturnType<typeof breakerShape>>;
export type WireClaim = z.output<ReturnType<typeof claimShape>>;
export type WireAttempt = z.output<ReturnType<typeof attemptShape>>;
export type WireSession = z.output<ReturnType<typeof sessionShape>>;
export type WireEvent = z.output<ReturnType<typeof eventShape>>;
export type WireNotification = z.output<ReturnType<typeof notificationShape>>;
export type WireReason = z.output<ReturnType<typeof reasonShape>>;
export type WireNothing = z.output<ReturnType<typeof nothingShape>>;
export type WireProject = z.output<ReturnType<typeof projectShape>>;
export type WireLock = z.output<ReturnType<typeof lockShape>>;
export type WireToken = z.output<ReturnType<typeof tokenShape>>;
