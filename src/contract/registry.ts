// Every operation of Dibs, grouped as callers see them. A new operation is one file and one line here.

import { manyCalls } from "./calls/many.js";
import { cleanupClaims } from "./claims/cleanup.js";
import { claimStats } from "./claims/stats.js";
import { listEvents } from "./events/list.js";
import { recordChecks } from "./landings/checks.js";
import { recordDiff } from "./landings/diff.js";
import { dropLanding } from "./landings/dropped.js";
import { holdLanding } from "./landings/held.js";
import { intendLanding } from "./landings/intent.js";
import { reportLanded } from "./landings/landed.js";
import { leaseLander } from "./landings/lease.js";
import { listLandings } from "./landings/list.js";
import { openLanding } from "./landings/open.js";
import { releaseLander } from "./landings/release.js";
import { returnSubmission } from "./landings/returned.js";
import { acquireLock } from "./locks/acquire.js";
import { getLock } from "./locks/get.js";
import { listLocks } from "./locks/list.js";
import { releaseLock } from "./locks/release.js";
import { metricsHistory } from "./metrics/history.js";
import { showInbox } from "./notifications/inbox.js";
import { listNotifications } from "./notifications/list.js";
import { readNotification } from "./notifications/read.js";
import type { Operation } from "./operation.js";
import { createProject } from "./projects/create.js";
import { getProject } from "./projects/get.js";
import { listProjects } from "./projects/list.js";
import { nextId } from "./projects/next-id.js";
import { pauseProject } from "./projects/pause.js";
import { resumeProject } from "./projects/resume.js";
import { updateProject } from "./projects/update.js";
import { holdResource } from "./resources/hold.js";
import { listResources } from "./resources/list.js";
import { removeResource } from "./resources/remove.js";
import { resumeResource } from "./resources/resume.js";
import { setResource } from "./resources/set.js";
import { currentTask } from "./sessions/current-task.js";
import { endSession } from "./sessions/end.js";
import { getSession } from "./sessions/get.js";
import { heartbeatSession } from "./sessions/heartbeat.js";
import { listSessions } from "./sessions/list.js";
import { registerSession } from "./sessions/register.js";
import { sessionsSummary } from "./sessions/summary.js";
import { getStats } from "./stats/get.js";
import { appendLog } from "./tasks/append-log.js";
import { approveTask } from "./tasks/approve.js";
import { askHuman } from "./tasks/ask.js";
import { taskAttempts } from "./tasks/attempts.js";
import { createTasks } from "./tasks/batch.js";
import { blockedByTask } from "./tasks/blocked-by.js";
import { bulkTasks } from "./tasks/bulk.js";
import { cancelTask } from "./tasks/cancel.js";
import { claimTask } from "./tasks/claim.js";
import { claimNextTask } from "./tasks/claim-next.js";
import { claimableTasks } from "./tasks/claimable.js";
import { completeTask } from "./tasks/complete.js";
import { taskConflicts } from "./tasks/conflicts.js";
import { createTask } from "./tasks/create.js";
import { taskEvents } from "./tasks/events.js";
import { explainTask } from "./tasks/explain.js";
import { failTask } from "./tasks/fail.js";
import { getTask } from "./tasks/get.js";
import { taskGraph } from "./tasks/graph.js";
import { heartbeatTask } from "./tasks/heartbeat.js";
import { tasksInFlight } from "./tasks/in-flight.js";
import { listTasks } from "./tasks/list.js";
import { taskLog } from "./tasks/log.js";
import { taskPatch } from "./tasks/patch.js";
import { reportProgress } from "./tasks/progress.js";
import { releaseTask } from "./tasks/release.js";
import { requestChanges } from "./tasks/request-changes.js";
import { respondTask } from "./tasks/respond.js";
import { retryTask } from "./tasks/retry.js";
import { taskRows } from "./tasks/rows.js";
import { startTask } from "./tasks/start.js";
import { taskSubmission } from "./tasks/submission.js";
import { submitTask } from "./tasks/submit.js";
import { updateTask } from "./tasks/update.js";
import { reportUsage } from "./tasks/usage.js";
import { withdrawTask } from "./tasks/withdraw.js";
import { createToken } from "./tokens/create.js";
import { listTokens } from "./tokens/list.js";
import { revokeToken } from "./tokens/revoke.js";

export const registry = {
  tasks: {
    /** Create a task. It is queued at once and claimable when its dependencies are completed. */
    create: createTask,
    /** Create many tasks at once, all or nothing. `dependsOn` may name keys or titles of the same batch. */
    batch: createTasks,
    /** Cancel, retry, release or update many tasks; with `dryRun` only say what would happen. */
    bulk: bulkTasks,
    /** Show one task with its open claim and result. */
    get: getTask,
    /** List tasks in creation order, filtered, page by page. */
    list: listTasks,
    /** List tasks in creation order, each in short: for views that keep all of them. */
    rows: taskRows,
    /** Edit a task that is not over. */
    update: updateTask,
    /** Claim one task by id. Claiming again what you hold renews the lease. */
    claim: claimTask,
    /** Claim the best task that fits the session; with `waitMs` wait for one. `claim` is null when there is none. */
    claimNext: claimNextTask,
    /** Start working on a claimed task. */
    start: startTask,
    /** Renew the lease. */
    heartbeat: heartbeatTask,
    /** Put a note on the timeline and renew the lease. */
    progress: reportProgress,
    /** Report what the attempt has cost so far. */
    usage: reportUsage,
    /** Ask a human. The lease clock stops until the answer. */
    ask: askHuman,
    /** Answer the open question of a task. */
    respond: respondTask,
    /** Complete a task; answers what became claimable by it. */
    complete: completeTask,
    /** Hand in the change of a task. It is completed when the change is on the target branch. */
    submit: submitTask,
    /** Show the last submission of a task, with its checks. */
    submission: taskSubmission,
    /** Take a submission back: its task is queued again. */
    withdraw: withdrawTask,
    /** Show what a submission changes, as a patch. */
    patch: taskPatch,
    /** Approve a submission. */
    approve: approveTask,
    /** Send a submission back with what is to be changed. */
    requestChanges: requestChanges,
    /** Report a failed attempt; it is retried with backoff while retries last. */
    fail: failTask,
    /** Give a task back to the queue. */
    release: releaseTask,
    /** Cancel a task, with `cascade` also its open descendants. */
    cancel: cancelTask,
    /** Queue a failed or cancelled task again. */
    retry: retryTask,
    /** Say why a task is not running, and what would help. */
    explain: explainTask,
    /** List the dependents of a task. */
    blockedBy: blockedByTask,
    /** List what can be claimed now, in the order of claiming. */
    claimable: claimableTasks,
    /** List what is claimed, and by whom. */
    inFlight: tasksInFlight,
    conflicts: taskConflicts,
    /** List the attempts at a task, newest first. */
    attempts: taskAttempts,
    /** List the events of a task. */
    events: taskEvents,
    /** Add to the log of an attempt. */
    appendLog,
    /** Show the log of an attempt. */
    log: taskLog,
    /** Show the dependency graph of a project. */
    graph: taskGraph,
  },
  calls: {
    /** Run many commands in one request and one commit, each refused on its own. */
    many: manyCalls,
  },
  claims: {
    /** End expired leases and the claims of dead sessions. */
    cleanup: cleanupClaims,
    /** Count the open claims. */
    stats: claimStats,
  },
  sessions: {
    /** Register a session, or refresh it. */
    register: registerSession,
    /** Show one session. */
    get: getSession,
    /** List sessions. */
    list: listSessions,
    /** Show every live session with its current task. */
    summary: sessionsSummary,
    /** Say that a session lives. */
    heartbeat: heartbeatSession,
    /** End a session; what it held goes back at once. */
    end: endSession,
    /** Show what a session works on. */
    currentTask,
  },
  events: {
    /** List events after a number. */
    list: listEvents,
  },
  notifications: {
    /** List notifications, newest first. */
    list: listNotifications,
    /** Mark a notification as read. */
    read: readNotification,
    /** Show what needs a human: open questions first. */
    inbox: showInbox,
  },
  projects: {
    /** Create a project. */
    create: createProject,
    /** Show a project and its settings. */
    get: getProject,
    /** List the projects. */
    list: listProjects,
    /** Change settings, pause or resume. */
    update: updateProject,
    /** Pause: nothing of the project is claimable. */
    pause: pauseProject,
    /** Resume. */
    resume: resumeProject,
  },
  landings: {
    /** Show what waits to land, in order, and the newest landings. */
    list: listLandings,
    /** Become the lander of a target branch, or renew the lease. */
    lease: leaseLander,
    /** Give the lander's lease back. */
    release: releaseLander,
    /** Begin a landing. */
    open: openLanding,
    /** Record the intent to move the target. */
    intent: intendLanding,
    /** Record results of checks. */
    checks: recordChecks,
    /** Record what a submission changes. */
    diff: recordDiff,
    /** Report that the target has moved. */
    landed: reportLanded,
    /** Report that the target does not have the intended commit. */
    dropped: dropLanding,
    /** Return a submission with a reason. */
    returned: returnSubmission,
    /** Report what holds the lander. */
    held: holdLanding,
  },
  resources: {
    /** Create a resource, or change its capacity and budgets. */
    set: setResource,
    /** List the resources. */
    list: listResources,
    /** Let no claim get it until the hold ends. */
    hold: holdResource,
    /** End its holds. */
    resume: resumeResource,
    /** Remove one that nothing uses. */
    remove: removeResource,
  },
  locks: {
    /** Acquire a lock, or renew what one holds. */
    acquire: acquireLock,
    /** Show who holds a lock. */
    get: getLock,
    /** List the locks that are held. */
    list: listLocks,
    /** Release a lock. */
    release: releaseLock,
  },
  tokens: {
    /** Create a token. Its text is shown this once. */
    create: createToken,
    /** List the tokens that are valid. */
    list: listTokens,
    /** Revoke a token. */
    revoke: revokeToken,
  },
  stats: {
    /** Count tasks, throughput and agents. */
    get: getStats,
  },
  metrics: {
    /** Show what happened minute by minute or hour by hour. */
    history: metricsHistory,
  },
  ids: {
    /** Reserve the next id. */
    next: nextId,
  },
} as const;

export type Registry = typeof registry;

/** Names such as `tasks.create`. */
export type OperationName = {
  [G in keyof Registry]: {
    [O in keyof Registry[G]]: Registry[G][O] extends { name: infer N } ? N : never;
  }[keyof Registry[G]];
}[keyof Registry];

export type OperationNamed<N extends OperationName> = Extract<
  { [G in keyof Registry]: Registry[G][keyof Registry[G]] }[keyof Registry],
  { name: N }
>;

export const operations: readonly Operation[] = Object.values(registry).flatMap((group) =>
  Object.values(group),
);
