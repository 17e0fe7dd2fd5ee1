// What the lander reports, each under its lease's epoch: what it works on, what it is about to do, and what became of it. The
// intent is recorded before the target moves; a successor reads it, and finishes or drops it.

import type {
  AcquireLanderCommand,
  DropLandingCommand,
  HoldLandingCommand,
  IntendLandingCommand,
  LandCommand,
  OpenLandingCommand,
  RecordChecksCommand,
  ReleaseLanderCommand,
  ReturnCommand,
} from "../command.js";
import type { Draft } from "../draft.js";
import {
  type CheckResult,
  type Hold,
  isLeaseLive,
  type LanderLease,
  type Landing,
  type LandingPlace,
  type LandingTask,
  landingOf,
  landingPlace,
  landsOn,
  leaseOf,
  nextLandingId,
  putLanding,
  putLease,
  putPatch,
  putSubmission,
  removeLanding,
  removeLease,
  submissionOf,
} from "../landing.js";
import { beginningOf, landerTtlMs, limits } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { isApproved } from "../review.js";
import type { Task } from "../task.js";
import { taskNotFound } from "./holder.js";
import { markRead } from "./notification.js";
import { landingNow, landTask, returnTask, withoutTasks } from "./unsubmit.js";

/** Takes or renews the lease. The first lander of a project tells which repository its work lands in. */
export function acquireLander(draft: Draft, command: AcquireLanderCommand): Outcome<LanderLease> {
  const { repository, target, host = null } = command;
  const project = draft.project(command.project);
  const { land } = project.settings;
  if (land.target === null) return landingIsOff(project.id);
  if (!landsOn(land, command)) {
    const message = `Project ${project.id} lands on ${land.target} of another repository than this one (${target}).`;
    return refuse("INVALID_STATE", message, {
      hint: "Start the lander inside the project's repository.",
      details: { project: project.id, target: land.target, repository: land.repository },
    });
  }
  const unbound = land.repository === null ? leaseOf(draft, landingPlace(project)!) : null;
  if (land.repository === null) {
    if (unbound) removeLease(draft, landingPlace(project)!);
    draft.putProject({
      ...project,
      settings: { ...project.settings, land: { ...land, repository } },
      updatedAt: draft.now,
    });
    draft.emit("project:updated", { project: project.id, data: { settings: { land: { repository } } } });
  }
  const known = leaseOf(draft, command);
  const isLive = isLeaseLive(known, draft.now);
  const isRenewed = isLive && known?.holder === command.holder;
  if (known && isLive && !isRenewed && !isReplaced(draft, known, command)) return leaseHeld(known);
  for (const id of [known?.missingId, unbound?.missingId]) if (id) markRead(draft, id);
  const ttlMs = command.ttlMs ?? landerTtlMs;
  const epoch = isRenewed && known ? known.epoch : (known?.epoch ?? 0) + 1;
  const lease: LanderLease = {
    repository,
    target,
    epoch,
    holder: command.holder ?? `lander-${epoch}`,
    host,
    ttlMs,
    expiresAt: draft.now + ttlMs,
    landing: known?.landing ?? null,
    lastLanded: known?.lastLanded ?? null,
    holds: known?.holds ?? [],
    missingId: null,
  };
  const left = isRenewed ? lease : withoutUnfinished(draft, lease);
  putLease(draft, left);
  return accept(left);
}

/** Not while it was moving the target: its git command can outlive it, and has ended when its lease ends. */
function isReplaced(draft: Draft, known: LanderLease, { replaces }: AcquireLanderCommand): boolean {
  return known.holder === replaces && unsettled(draft, known) === null;
}

/** What the lander before was checking is begun again; its intent, if it recorded one, must be settled. */
function withoutUnfinished(draft: Draft, lease: LanderLease): LanderLease {
  const open = lease.landing === null ? null : landingOf(draft, lease.landing);
  if (!open || open.state === "intended") return lease;
  if (open.state === "checking") removeLanding(draft, open.id);
  return { ...lease, landing: null };
}

export function releaseLander(draft: Draft, command: ReleaseLanderCommand): Outcome<null> {
  const lease = leaseUnder(draft, command, command.epoch);
  if ("ok" in lease) return lease;
  // Its host stays: what is handed in meanwhile must be where the next lander looks.
  putLease(draft, { ...withoutUnfinished(draft, lease), holder: null, expiresAt: 0 });
  return accept(null);
}

export function openLanding(draft: Draft, command: OpenLandingCommand): Outcome<Landing> {
  const { epoch, base = null, commit, tree } = command;
  const lease = leaseUnder(draft, command, epoch);
  if ("ok" in lease) return lease;
  const refusal = unsettled(draft, lease) ?? tasksProblem(draft, command.tasks, lease);
  if (refusal) return refusal;
  const free = withoutUnfinished(draft, lease);
  const landing: Landing = {
    id: nextLandingId(draft),
    repository: lease.repository,
    target: lease.target,
    epoch,
    state: "checking",
    base,
    commit: null,
    tree: null,
    tasks: command.tasks,
    checks: [],
    ranBy: lease.holder ?? "",
    openedAt: draft.now,
    intendedAt: null,
    landedAt: null,
  };
  putLanding(draft, landing);
  putLease(draft, { ...free, landing: landing.id });
  if (commit === undefined) return accept(landing);
  return intend(draft, landing, { commit, tree: tree ?? null, tasks: command.tasks });
}

function unsettled(draft: Draft, lease: LanderLease): Refusal | null {
  const open = lease.landing === null ? null : landingOf(draft, lease.landing);
  if (open?.state !== "intended") return null;
  return refuse("LANDING_NOW", `Landing ${open.id} is not settled yet.`, {
    hint: "Its lander, or the next one, finishes or drops it first.",
    details: { landing: open.id },
  });
}

/** Every one must be submitted with this number, not part of an intent, and land in this place. */
function tasksProblem(draft: Draft, tasks: readonly LandingTask[], place: LandingPlace): Refusal | null {
  const seen = new Set<string>();
  for (const { project, taskId, submission } of tasks) {
    const task = draft.view.project(project) ? draft.task(project, taskId) : undefined;
    if (!task) return taskNotFound(draft, project, taskId);
    if (seen.has(`${project}/${taskId}`))
      return refuse("VALIDATION_FAILED", `Task ${taskId} is named twice.`, { details: { taskId } });
    seen.add(`${project}/${taskId}`);
    if (task.state !== "submitted" || task.submission?.number !== submission) {
      const message = `Submission ${submission} of task ${taskId} does not wait to land: the task is ${task.state}.`;
      return refuse("INVALID_STATE", message, { details: { taskId, state: task.state } });
    }
    if (!landsOn(draft.project(project).settings.land, place)) {
      const message = `Task ${taskId} of project ${project} does not land on ${place.target}.`;
      return refuse("INVALID_STATE", message, { details: { taskId, project } });
    }
    const now = landingNow(task);
    if (now) return now;
  }
  return null;
}

export function intendLanding(draft: Draft, command: IntendLandingCommand): Outcome<Landing> {
  const found = openUnder(draft, command);
  if ("ok" in found) return found;
  const { landing, lease } = found;
  if (landing.state !== "checking") {
    const isSame = landing.state === "intended" && landing.commit === command.commit;
    return isSame ? accept(landing) : settledAlready(landing);
  }
  const refusal = tasksProblem(draft, command.tasks, lease);
  if (refusal) return refusal;
  return intend(draft, landing, command);
}

interface Intent {
  commit: string;
  tree: string | null;
  tasks: LandingTask[];
}

function intend(draft: Draft, landing: Landing, { commit, tree, tasks }: Intent): Outcome<Landing> {
  for (const { project, taskId } of tasks) {
    if (draft.project(project).paused) {
      return refuse("INVALID_STATE", `Project ${project} is paused, so nothing lands.`, {
        hint: `Run: dibs project resume ${project}`,
        details: { project, taskId },
      });
    }
    const refusal = unapproved(draft, project, taskId);
    if (refusal) return refusal;
  }
  const intended: Landing = { ...landing, state: "intended", commit, tree, tasks, intendedAt: draft.now };
  putLanding(draft, intended);
  for (const each of tasks) {
    const task = taskOf(draft, each);
    draft.putTask({ ...task, submission: { ...task.submission!, landing: landing.id } });
  }
  return accept(intended);
}

function unapproved(draft: Draft, project: string, taskId: string): Refusal | null {
  const submission = submissionOf(draft, draft.task(project, taskId)!);
  if (!submission || isApproved(draft.project(project), submission)) return null;
  return refuse("INVALID_STATE", `Submission ${submission.number} of task ${taskId} is not approved.`, {
    hint: `Run: dibs review ${taskId}`,
    details: { taskId, submission: submission.number },
  });
}

const taskOf = (draft: Draft, { project, taskId }: LandingTask): Task => draft.task(project, taskId)!;

export function recordChecks(draft: Draft, command: RecordChecksCommand): Outcome<Landing> {
  const found = openUnder(draft, command);
  if ("ok" in found) return found;
  if (found.landing.state === "landed") return settledAlready(found.landing);
  const checks = command.checks.map((check) => ({
    ...check,
    logTail: beginningOf(check.logTail, limits.logTailLengthMax),
  }));
  const landing = { ...found.landing, checks: withChecks(found.landing.checks, checks) };
  putLanding(draft, landing);
  for (const each of command.tasks ?? landing.tasks) {
    const task = draft.task(each.project, each.taskId);
    const submission = task && submissionOf(draft, task, each.submission);
    if (submission && submission.end === null)
      putSubmission(draft, task, { ...submission, checks: withChecks(submission.checks, checks) });
  }
  return accept(landing);
}

/** A check that ran again on the same tree replaces what it said before. */
function withChecks(before: CheckResult[], added: CheckResult[]): CheckResult[] {
  const isReplaced = (old: CheckResult) =>
    added.some(({ name, tree }) => name === old.name && tree === old.tree);
  return [...before.filter((old) => !isReplaced(old)), ...added].slice(-limits.checkResultsMax);
}

/** The target has moved: what the intent names is completed. Repeated: nothing changes. */
export function land(
  draft: Draft,
  command: LandCommand,
): Outcome<{ landing: Landing; unblocked: string[]; unblockedCount: number }> {
  const found = openUnder(draft, command);
  if ("ok" in found) return found;
  const { landing, lease } = found;
  if (landing.state === "landed") return accept({ landing, unblocked: [], unblockedCount: 0 });
  if (landing.state !== "intended") {
    return refuse(
      "INVALID_STATE",
      `Landing ${landing.id} has no recorded intent, so nothing can have landed.`,
      {
        details: { landing: landing.id },
      },
    );
  }
  const landed: Landing = { ...landing, state: "landed", landedAt: draft.now };
  putLanding(draft, landed);
  // Where nothing was changed the tip is somebody else's, who can amend it.
  const hasChange =
    landing.commit !== null && landing.tasks.some((each) => taskOf(draft, each).submission!.commit !== null);
  const freed: string[] = [];
  for (const each of landing.tasks) freed.push(...landTask(draft, taskOf(draft, each), each.commit, landing));
  putLease(draft, {
    ...changedLease(draft, lease),
    landing: null,
    lastLanded: hasChange ? { commit: landing.commit!, at: draft.now } : lease.lastLanded,
    holds: withoutTasks(draft, lease.holds, landing.tasks),
  });
  return accept({
    landing: landed,
    unblocked: freed.slice(0, limits.unblockedMax),
    unblockedCount: freed.length,
  });
}

/** The recorded intent was not carried out: the target does not contain it. Its submissions wait again. */
export function dropLanding(draft: Draft, command: DropLandingCommand): Outcome<null> {
  const found = openUnder(draft, command);
  if ("ok" in found) return found;
  const { landing, lease } = found;
  if (landing.state === "landed") return settledAlready(landing);
  if (landing.state === "intended") {
    for (const each of landing.tasks) {
      const task = taskOf(draft, each);
      draft.putTask({ ...task, submission: { ...task.submission!, landing: null } });
    }
  }
  removeLanding(draft, landing.id);
  putLease(draft, { ...lease, landing: null });
  return accept(null);
}

export function returnSubmission(draft: Draft, command: ReturnCommand): Outcome<null> {
  const { taskId, submission, reason, detail = null } = command;
  const found = openUnder(draft, command);
  if ("ok" in found) return found;
  const { lease } = found;
  const of = { project: command.project, taskId, submission, commit: null };
  const task = draft.task(command.project, taskId);
  if (task && isReturned(draft, task, submission)) return accept(null);
  const refusal = tasksProblem(draft, [of], lease);
  if (refusal) return refusal;
  recordChange(draft, task!, command);
  returnTask(draft, task!, { reason, detail });
  putLease(draft, { ...changedLease(draft, lease), holds: withoutTasks(draft, lease.holds, [of]) });
  return accept(null);
}

/** The end of the last submission closes the notification of a missing lander, which the lease names. */
const changedLease = (draft: Draft, lease: LanderLease): LanderLease => leaseOf(draft, lease) ?? lease;

/** The next attempt and its reviewers see what came back. */
function recordChange(draft: Draft, task: Task, { diff, patch }: ReturnCommand): void {
  const submission = submissionOf(draft, task);
  if (!submission || submission.diff !== null || !diff) return;
  putSubmission(draft, task, { ...submission, diff });
  if (patch) putPatch(draft, task, { submission: submission.number, ...patch });
}

const isReturned = (draft: Draft, task: Task, number: number) =>
  submissionOf(draft, task, number)?.end?.as === "returned";

/** All that holds the lander now: a hold that is not named any more has ended. */
export function holdLanding(draft: Draft, command: HoldLandingCommand): Outcome<Hold[]> {
  const found = openUnder(draft, command);
  if ("ok" in found) return found;
  const { lease } = found;
  const same = (hold: Hold, other: (typeof command.holds)[number]) =>
    hold.reason === other.reason && hold.message === other.message;
  for (const hold of lease.holds)
    if (!command.holds.some((each) => same(hold, each))) markRead(draft, hold.notificationId);
  const holds = command.holds.map((each): Hold => {
    const known = lease.holds.find((hold) => same(hold, each));
    const tasks = each.tasks ?? [];
    const at = known?.at ?? draft.now;
    return {
      ...each,
      fix: each.fix ?? null,
      tasks,
      at,
      notificationId: known?.notificationId ?? held(draft, command.project, lease.target, each),
    };
  });
  putLease(draft, { ...lease, holds });
  return accept(holds);
}

function held(
  draft: Draft,
  project: string,
  target: string,
  { message, fix, tasks = [] }: HoldLandingCommand["holds"][number],
): string {
  const only = tasks.length === 1 ? tasks[0]! : null;
  const { id } = draft.notify("LANDING_HELD", {
    task: { project: only?.project ?? project, id: only?.taskId ?? null },
    title: `Landing on ${target} is held`,
    message: fix ? `${message} Run: ${fix}` : message,
  });
  return id;
}

/** The lease, if it is held under this epoch; a lander that lost it changes nothing. */
function leaseUnder(draft: Draft, place: LandingPlace, epoch: number): LanderLease | Refusal {
  const lease = leaseOf(draft, place);
  if (lease && lease.epoch === epoch && isLeaseLive(lease, draft.now)) return lease;
  return refuse("STALE_EPOCH", `The lander's lease on ${place.target} with epoch ${epoch} has ended.`, {
    hint: "Stop this lander: another one works, or will.",
    details: { target: place.target, epoch: lease?.epoch ?? 0 },
  });
}

interface OnLanding {
  id: string;
  epoch: number;
}

export function openUnder(
  draft: Draft,
  { id, epoch }: OnLanding,
): { landing: Landing; lease: LanderLease } | Refusal {
  const landing = landingOf(draft, id);
  if (!landing) return refuse("NOT_FOUND", `Landing ${id} not found.`, { details: { id } });
  const lease = leaseUnder(draft, landing, epoch);
  if ("ok" in lease) return lease;
  return { landing, lease };
}

function settledAlready(landing: Landing): Refusal {
  return refuse("INVALID_STATE", `Landing ${landing.id} is already ${landing.state}.`, {
    details: { landing: landing.id, state: landing.state },
  });
}

function leaseHeld(lease: LanderLease): Refusal {
  return refuse("SESSION_BUSY", `Another lander (${lease.holder}) works on ${lease.target}.`, {
    hint: "It takes turns by itself: this one continues when the other stops.",
    details: { holder: lease.holder, host: lease.host, epoch: lease.epoch },
  });
}

function landingIsOff(project: string): Refusal {
  return refuse("INVALID_STATE", `Landing is off in project ${project}.`, {
    hint: "Run: dibs init --land <branch>",
    details: { project },
  });
}
