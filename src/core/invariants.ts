// I1–I9, and R2 and R4 of resources, as code, over a whole store at one instant. Test rigs call this after every step.

import type { Attempt, AttemptEnd, Claim } from "./claim.js";
import { sumOfUsage, type TaskUsage, usageFields } from "./cost.js";
import type { DibsEvent, EventType } from "./event.js";
import { isArchival } from "./moves.js";
import type { Org, Project } from "./project.js";
import {
  type InUse,
  inUsesOf,
  isHidden,
  projectUses,
  type Resource,
  resourcesOf,
  type Uses,
} from "./resource.js";
import { isOpenChild, isReady, stateOf, type Task } from "./task.js";
import { keptUses, namesOf } from "./transitions/account.js";
import type { Reads } from "./view.js";

export interface Everything {
  org: Org;
  tasks: Task[];
  claims: Claim[];
  attempts: Attempt[];
  events: DibsEvent[];
  projects: Project[];
  resources: readonly Resource[];
  inUse: Readonly<Record<string, InUse>>;
}

const all = 1_000_000;

/** A whole store, for test rigs. */
export function everythingIn(view: Reads): Everything {
  const tasks = view.tasks({ project: null, afterOrdinal: 0, limit: all });
  return {
    org: view.org(),
    tasks,
    claims: view.openClaims({ project: null, limit: all }),
    attempts: tasks.flatMap((task) => view.attempts(task.project, task.id, all)),
    events: view.events({ after: 0, limit: all }),
    projects: view.projects(),
    resources: resourcesOf(view),
    inUse: inUsesOf(view),
  };
}

/** Each broken invariant as a sentence; empty when all hold. */
export function brokenInvariants(all: Everything): string[] {
  const { org, tasks, claims, attempts, events } = all;
  const broken: string[] = [];
  const check = (holds: boolean, message: string) => {
    if (!holds) broken.push(message);
  };
  const taskOf = new Map(tasks.map((task) => [`${task.project}/${task.id}`, task]));
  const claimOf = new Map<string, Claim>();
  for (const claim of claims) {
    const key = `${claim.project}/${claim.taskId}`;
    const task = taskOf.get(key);
    check(!claimOf.has(key), `I1: ${key} has two holders`);
    claimOf.set(key, claim);
    check(task !== undefined, `I4: ${key} is held but lost`);
    check(
      task === undefined || claim.epoch === task.epoch + 1,
      `I2: ${key} holds epoch ${claim.epoch}, not the next`,
    );
    check(task?.pendingDeps === 0, `I7: ${key} is held with open dependencies`);
  }
  check(taskOf.size === tasks.length, "I9: an id exists twice");
  checkTasks(all, taskOf, claimOf, check);
  checkAttempts(attempts, taskOf, check);
  checkEvents(org, events, tasks, claimOf, check);
  checkEndings(org, events, attempts, check);
  checkResources(all, check);
  checkUsage(all, claimOf, check);
  return broken;
}

/** R2: what is counted is what claims hold, and what submitted tasks keep. */
function checkResources({ tasks, claims, projects, resources, inUse }: Everything, check: Check): void {
  const known = [...Object.keys(inUse), ...resources.map(({ id }) => id)];
  const counted = new Map<string, InUse>(known.map((id) => [id, { units: 0, named: 0 }]));
  const add = (uses: Uses, of: keyof InUse) => {
    for (const id in uses) {
      const count = counted.get(id) ?? { units: 0, named: 0 };
      counted.set(id, { ...count, [of]: count[of] + (of === "units" ? uses[id]! : 1) });
    }
  };
  for (const { uses } of claims) add(uses, "units");
  for (const task of tasks) {
    add(namesOf(task), "named");
    add(keptUses(task), "units");
  }
  for (const project of projects) add(projectUses(project), "named");
  for (const [id, { units, named }] of counted) {
    const stored = Object.hasOwn(inUse, id) ? inUse[id]! : { units: 0, named: 0 };
    check(stored.units === units, `R2: resource ${id} counts ${stored.units} units, ${units} are held`);
    check(stored.named === named, `resource ${id} counts ${stored.named} names, there are ${named}`);
    check(!isHidden(id) || units <= 1, `R1: ${units} tasks have ${id} alone`);
  }
}

/** R4: what a task has cost is what its attempts have cost. */
function checkUsage({ tasks, attempts }: Everything, claimOf: Map<string, Claim>, check: Check): void {
  const sums = new Map<string, TaskUsage>();
  for (const { project, taskId, usage } of [...attempts, ...claimOf.values()]) {
    const key = `${project}/${taskId}`;
    if (usage) sums.set(key, sumOfUsage(sums.get(key) ?? null, usage));
  }
  for (const { project, id, usage } of tasks) {
    const sum = sums.get(`${project}/${id}`);
    for (const field of usageFields) {
      const [counted, found] = [usage?.[field] ?? null, sum?.[field] ?? null];
      check(counted === found, `R4: ${project}/${id} counts ${counted} ${field}, its attempts ${found}`);
    }
  }
}

type Check = (holds: boolean, message: string) => void;

function checkTasks(
  { org, tasks, events }: Everything,
  taskOf: Map<string, Task>,
  claimOf: Map<string, Claim>,
  check: Check,
): void {
  const open = new Map<string, number>();
  const completed = new Map<string, number>();
  for (const task of tasks) {
    const key = `${task.project}/${task.id}`;
    const claim = claimOf.get(key);
    const pending = task.dependsOn.filter((id) => taskOf.get(`${task.project}/${id}`)?.state !== "completed");
    check(
      pending.length === task.pendingDeps,
      `I7: ${key} counts ${task.pendingDeps} dependencies, has ${pending.length}`,
    );
    check(!claim || task.type === "task", `${key} is a group and held`);
    check(!isReady(task, claim) || task.readyAt !== null, `I4: ${key} is ready without a place in the queue`);
    check(task.state !== "awaiting_response" || task.question !== null, `${key} waits without a question`);
    check(!claim || task.state === "queued", `${key} is ${task.state} and held`);
    check(task.state !== "submitted" || task.submission !== null, `${key} is submitted without a submission`);
    check(
      task.submission?.landing == null || task.state === "submitted",
      `L4: ${key} is ${task.state} and being landed`,
    );
    check(
      task.landed === null || (task.state === "completed" && !task.noChange),
      `L1: ${key} is ${task.state} and landed`,
    );
    if (task.parentId === null) continue;
    const parent = `${task.project}/${task.parentId}`;
    check(taskOf.has(parent), `I4: the parent of ${key} is lost`);
    if (isOpenChild(stateOf(task, claim))) open.set(parent, (open.get(parent) ?? 0) + 1);
    if (task.state === "completed") completed.set(parent, (completed.get(parent) ?? 0) + 1);
  }
  /** Completed children that were archived stay counted. */
  const someAreGone = org.eventMin > 1 || events.some(isArchival);
  for (const task of tasks) {
    const key = `${task.project}/${task.id}`;
    const children = open.get(key) ?? 0;
    check(
      children === task.openChildren,
      `I7: ${key} counts ${task.openChildren} open subtasks, has ${children}`,
    );
    const done = completed.get(key) ?? 0;
    check(
      done === task.completedChildren || (someAreGone && done < task.completedChildren),
      `${key} miscounts its completed subtasks`,
    );
    check(task.state !== "completed" || children === 0, `I7: ${key} is completed with open subtasks`);
  }
}

function checkAttempts(attempts: Attempt[], taskOf: Map<string, Task>, check: Check): void {
  const epochs = new Set<string>();
  for (const attempt of attempts) {
    const key = `${attempt.project}/${attempt.taskId}`;
    const task = taskOf.get(key);
    check(!epochs.has(`${key}/${attempt.epoch}`), `I2: ${key} used epoch ${attempt.epoch} twice`);
    epochs.add(`${key}/${attempt.epoch}`);
    check(
      task !== undefined && attempt.epoch <= task.epoch,
      `I2: ${key} went back from epoch ${attempt.epoch}`,
    );
  }
}

/** The last event that names a state must name the one the task is in. */
const stateAfter: Partial<Record<DibsEvent["type"], string>> = {
  "task:queued": "queued",
  "task:claimed": "claimed",
  "task:started": "running",
  "task:awaiting-response": "awaiting_response",
  "task:submitted": "submitted",
  "task:withdrawn": "queued",
  "task:returned": "queued",
  "task:completed": "completed",
  "task:failed": "failed",
  "task:retry-scheduled": "queued",
  "task:retried": "queued",
  "task:cancelled": "cancelled",
};

function checkEvents(
  org: Org,
  events: DibsEvent[],
  tasks: Task[],
  claimOf: Map<string, Claim>,
  check: Check,
): void {
  const last = new Map<string, DibsEvent>();
  const retries = new Map<string, number>();
  const gone = new Set<string>();
  const submitted = new Map<string, unknown>();
  /** The beginning of the log is gone, with some tasks' first events. */
  const isArchived = org.eventMin > 1;
  let seq = org.eventMin - 1;
  for (const event of events) {
    check(event.seq === seq + 1, `I6: event ${event.seq} follows ${seq}`);
    seq = event.seq;
    const of = `${event.project}/${event.taskId}`;
    // A quick failure costs no retry.
    if (event.type === "task:retry-scheduled" && event.data.quick !== true)
      retries.set(of, (retries.get(of) ?? 0) + 1);
    if (event.type === "task:retried" || event.type === "task:submitted") retries.delete(of);
    if (event.type === "task:submitted") submitted.set(of, event.data.submission);
    if (event.type === "task:returned" || event.type === "task:withdrawn") submitted.delete(of);
    if (event.type === "task:landed") {
      const isSubmitted = submitted.get(of) === event.data.submission;
      check(isSubmitted || (isArchived && !submitted.has(of)), `L5: ${of} landed what was not submitted`);
      submitted.delete(of);
    }
    if (isArchival(event)) gone.add(of);
    if (event.taskId !== null && stateAfter[event.type]) last.set(`${event.project}/${event.taskId}`, event);
  }
  check(seq === org.eventSeq, `I6: the org counts ${org.eventSeq} events, the log ends at ${seq}`);
  for (const task of tasks) {
    const key = `${task.project}/${task.id}`;
    const event = last.get(key);
    const state = stateOf(task, claimOf.get(key));
    const retried = retries.get(key) ?? 0;
    check(event !== undefined || isArchived, `I5: ${key} has no event`);
    check(!gone.has(key), `I9: ${key} was archived, and there is a task of this id`);
    check(
      retried === task.retryCount || (isArchived && retried < task.retryCount),
      `I8: ${key} miscounts its retries`,
    );
    if (event && ["submitted", "completed", "failed", "cancelled"].includes(state)) {
      check(stateAfter[event.type] === state, `I5: ${key} is ${state}, its last event ${event.type}`);
    }
  }
}

const lost: EventType[] = ["task:claim-expired", "task:claim-orphaned"];

/** The events that report the end of an attempt, with its epoch. */
const endingEvents: Record<AttemptEnd, readonly EventType[]> = {
  complete: ["task:completed"],
  submit: ["task:submitted"],
  fail: ["task:retry-scheduled", "task:failed"],
  release: ["task:released"],
  // A timeout is a failure.
  expire: ["task:claim-expired", "task:retry-scheduled", "task:failed"],
  orphan: ["task:claim-orphaned"],
  cancel: ["task:cancelled"],
  abandon: ["task:released", ...lost],
};

function checkEndings(org: Org, events: DibsEvent[], attempts: Attempt[], check: Check): void {
  if (org.eventMin > 1) return;
  const ended = new Set(
    events.map(({ project, taskId, epoch, type }) => [project, taskId, epoch, type].join("/")),
  );
  for (const { project, taskId, epoch, end } of attempts) {
    const isReported = endingEvents[end].some((type) => ended.has([project, taskId, epoch, type].join("/")));
    check(isReported, `I5: attempt ${epoch} of ${project}/${taskId} ended (${end}) without its event`);
  }
}
