// What must hold over time, checked after every job on the reference model: epochs only rise, ids are never given twice,
// nothing is lost, a stale holder writes nothing, what is repeated happens once, and claim-next hands out the right task.

import type { Changes } from "../../src/core/changes.js";
import { type Attempt, isOver } from "../../src/core/claim.js";
import type { Command } from "../../src/core/command.js";
import { brokenInvariants, everythingIn } from "../../src/core/invariants.js";
import type { Outcome } from "../../src/core/refusal.js";
import { inUse, liveProbe, openHolds, resourceOf } from "../../src/core/resource.js";
import { epochOf, stateOf, type Task } from "../../src/core/task.js";
import type { Reads } from "../../src/core/view.js";
import { firstDifference } from "./difference.js";

/** One command as the ledger saw it carried out. */
export interface Deed {
  command: Command;
  outcome: Outcome<unknown>;
  /** What the command itself changed, without the settling before it. */
  changes: Changes | null;
  /** It came from a session that did not hold the task, or with another epoch. */
  stale: boolean;
  /** The attempts of its task before it. */
  attempts: Attempt[];
}

const byHolder = new Set(["start", "heartbeat", "progress", "ask", "complete", "fail", "release"]);

export function isStale(view: Reads, command: Command, now: number): boolean {
  if (!byHolder.has(command.type) || !("taskId" in command)) return false;
  if (command.type === "release" && command.force) return false;
  const claim = view.claim(command.project, command.taskId);
  if (!claim || isOver(claim, now)) return true;
  const { sessionId, epoch } = command as { sessionId?: string; epoch?: number };
  return claim.sessionId !== sessionId || (epoch !== undefined && epoch !== claim.epoch);
}

/** All rows but late results. */
export function isSilent(changes: Changes | null, before: readonly Attempt[]): string | null {
  if (!changes) return null;
  const { attempts, ...others } = changes;
  for (const [table, rows] of Object.entries(others)) {
    const size = rows instanceof Map ? rows.size : Array.isArray(rows) ? rows.length : rows === null ? 0 : 1;
    if (size > 0) return `changed ${table}`;
  }
  for (const attempt of attempts.values()) {
    const earlier = before.find(({ epoch }) => epoch === attempt.epoch);
    if (!earlier) return `made attempt ${attempt.epoch}`;
    const difference = firstDifference({ ...earlier, lateResult: null }, { ...attempt, lateResult: null }, [
      "before",
      "after",
    ]);
    if (difference) return `changed attempt ${attempt.epoch}: ${difference}`;
  }
  return null;
}

/** The second of two equal calls must answer alike and change nothing. */
export function unequal(first: Deed, again: Deed): string[] {
  const { command } = first;
  if (command.type === "release" && command.force) return [];
  const broken: string[] = [];
  const difference = firstDifference(first.outcome, again.outcome, ["first", "then"]);
  if (difference) broken.push(`I13: ${command.type} repeated answers otherwise: ${difference}`);
  const silent = isSilent(again.changes, again.attempts);
  if (silent) broken.push(`I13: ${command.type} repeated ${silent}`);
  return broken;
}

export class Ledger {
  private readonly epochs = new Map<string, number>();
  private readonly grants = new Map<string, string>();
  private readonly ids = new Set<string>();
  private readonly tasks = new Set<string>();
  private readonly archived = new Set<string>();
  private eventSeq = 0;

  /** What is wrong after the deeds of one job; empty when all is well. To be called only for what stays. */
  enter(view: Reads, deeds: readonly Deed[], now: number): string[] {
    const broken = brokenInvariants(everythingIn(view));
    for (const deed of deeds) broken.push(...this.checkDeed(deed), ...checkGrant(view, deed, now));
    this.checkEpochs(view, broken);
    checkWaiting(view, broken);
    const { eventSeq } = view.org();
    if (eventSeq < this.eventSeq) broken.push(`I6: events went back from ${this.eventSeq} to ${eventSeq}`);
    this.eventSeq = eventSeq;
    return broken;
  }

  private checkDeed({ command, outcome, changes, stale, attempts }: Deed): string[] {
    const silent = !outcome.ok || stale ? isSilent(changes, attempts) : null;
    const broken = silent
      ? [`I3: ${command.type} was ${outcome.ok ? "stale" : "refused"} but ${silent}`]
      : [];
    for (const [key, task] of changes?.removed ?? []) {
      if (!isFinished(task, command)) broken.push(`I4: ${key} was archived while it was ${task.state}`);
      this.tasks.delete(key);
      this.archived.add(key);
    }
    for (const { id, generated } of newIds(command, outcome)) {
      if (this.archived.has(id)) broken.push(`I9: ${id} was archived, and given a second time`);
      if (generated && this.ids.has(id)) broken.push(`I9: ${id} was given a second time`);
      this.ids.add(id);
    }
    return broken;
  }

  private checkEpochs(view: Reads, broken: string[]): void {
    const present = new Set<string>();
    for (const task of view.tasks({ project: null, afterOrdinal: 0, limit: 1_000_000 })) {
      const key = `${task.project}/${task.id}`;
      const claim = view.claim(task.project, task.id);
      const epoch = epochOf(task, claim);
      present.add(key);
      this.tasks.add(key);
      if (epoch < (this.epochs.get(key) ?? 0)) broken.push(`I2: the epoch of ${key} went back to ${epoch}`);
      this.epochs.set(key, epoch);
      if (!claim) continue;
      const grant = `${claim.sessionId} at ${claim.claimedAt}`;
      const first = this.grants.get(`${key}#${epoch}`) ?? grant;
      if (first !== grant) broken.push(`I2: epoch ${epoch} of ${key} was of ${first}, now of ${grant}`);
      this.grants.set(`${key}#${epoch}`, grant);
    }
    for (const key of this.tasks) if (!present.has(key)) broken.push(`I4: ${key} is lost`);
  }
}

/** R1 and R3: what is granted fits into the capacity, and nothing is granted with a held resource but the first after a hold. */
function checkGrant(view: Reads, { outcome, changes }: Deed, now: number): string[] {
  const broken: string[] = [];
  if (!outcome.ok || !changes?.events.some(({ type }) => type === "task:claimed")) return broken;
  for (const claim of changes.claims.values()) {
    for (const id in claim?.uses) {
      const resource = resourceOf(view, id);
      if (!resource || !claim) continue;
      const { units } = inUse(view, id);
      if (resource.capacity !== null && units > resource.capacity)
        broken.push(`R1: ${units} of ${resource.capacity} units of ${id} are granted`);
      const probe = liveProbe(resource, now);
      if (openHolds(resource, now).length > 0) broken.push(`R3: ${claim.taskId} was granted held ${id}`);
      if (probe && (probe.taskId !== claim.taskId || probe.epoch !== claim.epoch))
        broken.push(`R3: ${claim.taskId} was granted ${id} beside its probe ${probe.taskId}`);
    }
  }
  return broken;
}

function isFinished({ state, endedAt }: Task, command: Command): boolean {
  const before = command.type === "archive-tasks" ? command.before : 0;
  return ["completed", "cancelled"].includes(state) && endedAt !== null && endedAt < before;
}

function newIds(command: Command, outcome: Outcome<unknown>): { id: string; generated: boolean }[] {
  if (!outcome.ok) return [];
  if (command.type === "reserve-id") {
    return [{ id: `${command.project}/${(outcome.value as { id: string }).id}`, generated: true }];
  }
  if (command.type !== "create") return [];
  return (outcome.value as { ids: string[] }).ids.map((id, index) => ({
    id: `${command.project}/${id}`,
    generated: command.tasks[index]?.id === undefined,
  }));
}

/** Who waits for whom, from the rows alone: for open dependencies, and as a parent for open children. */
function waitingFor(view: Reads, tasks: readonly Task[]): Map<string, string[]> {
  const isOver = new Map(tasks.map((task) => [task.id, task.state === "completed"]));
  const waits = new Map(
    tasks.map(({ id, dependsOn }) => [id, dependsOn.filter((other) => !isOver.get(other))]),
  );
  for (const task of tasks) {
    const isOpen = stateOf(task, view.claim(task.project, task.id)) !== "cancelled" && !isOver.get(task.id);
    if (task.parentId !== null && isOpen) waits.get(task.parentId)!.push(task.id);
    if (isOver.get(task.id)) waits.set(task.id, []);
  }
  return waits;
}

function findCycle(waits: Map<string, string[]>): string[] | null {
  const done = new Set<string>();
  const walk = (id: string, path: string[]): string[] | null => {
    if (path.includes(id)) return [...path.slice(path.indexOf(id)), id];
    if (done.has(id)) return null;
    for (const other of waits.get(id) ?? []) {
      const found = walk(other, [...path, id]);
      if (found) return found;
    }
    done.add(id);
    return null;
  };
  for (const id of waits.keys()) {
    const found = walk(id, []);
    if (found) return found;
  }
  return null;
}

/** Nobody waits for ever: no circle of tasks, and no group that is done but still open. */
function checkWaiting(view: Reads, broken: string[]): void {
  for (const { id: project } of view.projects()) {
    const tasks = view.tasks({ project, afterOrdinal: 0, limit: 1_000_000 });
    const cycle = findCycle(waitingFor(view, tasks));
    if (cycle) broken.push(`${project}: these wait for each other for ever: ${cycle.join(" → ")}`);
    for (const task of tasks) {
      if (task.type !== "group" || task.state !== "queued" || task.completedChildren === 0) continue;
      if (task.openChildren > 0 || task.pendingDeps > 0) continue;
      broken.push(`${project}/${task.id} is a group with nothing open, but still queued`);
    }
  }
}
