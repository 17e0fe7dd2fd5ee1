// The ready queue as the stores keep it. A ready task stands in a lane: the tasks that ask for the same assignee, agent
// type, capabilities and machine, so that a session looks only at lanes it fits and never scans past tasks it may not take.
// A task with labels stands in one more lane per label. In a lane, a level is a priority (or a depth), and within a level
// the order is fixed when the row is written. Ageing therefore needs no writes: an older task of a level is never behind
// a younger one, so the best task of a lane is the best among the heads of its levels.

import { effectivePriority } from "./priority.js";
import type { Order, Project, Settings } from "./project.js";
import { machineOf, namesOf, type SessionTraits } from "./session.js";
import type { Task } from "./task.js";

export interface ReadyEntry {
  id: string;
  lane: string;
  level: number;
  k1: number;
  k2: number;
  /** Scheduled: not before this instant. 0 for most. */
  notBefore: number;
}

interface Identity {
  names: string[];
  agentType: string | null;
  capabilities: ReadonlySet<string>;
  /** Null: it is not known, and fits all. */
  machine: string | null;
}

export interface Who extends Identity {
  /** Beginnings of all lanes that could fit; the capabilities at the end are tested lane by lane. */
  prefixes: string[];
}

export interface Wants extends Pick<Task, "assignee" | "agentType" | "requires"> {
  /** Where the change is that was handed in last; matters only while work lands without a remote. */
  machine: string | null;
}
export type Misfit = "ASSIGNED_TO_OTHER" | "WRONG_AGENT_TYPE" | "MISSING_CAPABILITY" | "ON_OTHER_HOST";

const labelEnd = "\u001d";
const partEnd = "\u001f";
const itemEnd = "\u001e";
/** Before a machine, which stands in a lane as one more capability; no capability begins with it. */
const machineMark = "\u0001";

/** A session claims again and again: who it is, and where it may look, is worked out once per row of it. */
const known = new WeakMap<SessionTraits, Who>();

export function whoIs(session: SessionTraits, agentType?: string | null): Who {
  const usual = agentType === undefined || agentType === null || agentType === session.agentType;
  const before = usual ? known.get(session) : undefined;
  if (before) return before;
  const who = {
    names: namesOf(session),
    agentType: agentType ?? session.agentType,
    capabilities: new Set(session.capabilities),
    machine: machineOf(session.host),
  };
  const whole = { ...who, prefixes: prefixesFor(who, [""]) };
  if (usual) known.set(session, whole);
  return whole;
}

/** Why a session may not take a task; empty when it may. Claiming, claim-next and explain all ask this. */
export function misfits(wants: Wants, who: Who, { land }: Pick<Settings, "land">): Misfit[] {
  const found: Misfit[] = [];
  if (wants.assignee !== null && !who.names.includes(wants.assignee)) found.push("ASSIGNED_TO_OTHER");
  if (wants.agentType !== null && wants.agentType !== who.agentType) found.push("WRONG_AGENT_TYPE");
  if (wants.requires.some((capability) => !who.capabilities.has(capability)))
    found.push("MISSING_CAPABILITY");
  const isLocal = land.target !== null && land.remote === null;
  if (isLocal && wants.machine !== null && who.machine !== null && wants.machine !== who.machine)
    found.push("ON_OTHER_HOST");
  return found;
}

export function wantsOf({ assignee, agentType, requires, submission }: Task): Wants {
  const machine = submission?.commit ? machineOf(submission.host) : null;
  return { assignee, agentType, requires, machine };
}

const plainLane = `${labelEnd}${partEnd}${partEnd}`;

export function laneOf(task: Task, label = ""): string {
  const wants = wantsOf(task);
  const items = wants.machine === null ? wants.requires : [...wants.requires, machineMark + wants.machine];
  if (label === "" && wants.assignee === null && wants.agentType === null && items.length === 0)
    return plainLane;
  const requires = [...items].sort().join(itemEnd);
  return `${label}${labelEnd}${wants.assignee ?? ""}${partEnd}${wants.agentType ?? ""}${partEnd}${requires}`;
}

function wantsIn(lane: string): Wants {
  const [assignee = "", agentType = "", requires = ""] = lane
    .slice(lane.indexOf(labelEnd) + 1)
    .split(partEnd);
  const items = requires ? requires.split(itemEnd) : [];
  const machine = items.find((item) => item.startsWith(machineMark));
  return {
    assignee: assignee || null,
    agentType: agentType || null,
    requires: machine === undefined ? items : items.filter((item) => item !== machine),
    machine: machine?.slice(machineMark.length) ?? null,
  };
}

/**
 * A lane that begins with one of the session's prefixes fits but for what it requires; one that is no longer than the prefix
 * requires nothing.
 */
function fits(lane: string, prefix: string, who: Who, settings: Settings): boolean {
  return lane.length === prefix.length || misfits(wantsIn(lane), who, settings).length === 0;
}

function lanePrefixes(who: Who, labels: string[] | undefined): string[] {
  return labels?.length ? prefixesFor(who, labels) : who.prefixes;
}

function prefixesFor(who: Identity, labels: string[]): string[] {
  const agentTypes = who.agentType ? ["", who.agentType] : [""];
  const prefixes: string[] = [];
  for (const label of labels) {
    for (const assignee of ["", ...who.names]) {
      for (const agentType of agentTypes) {
        prefixes.push(`${label}${labelEnd}${assignee}${partEnd}${agentType}${partEnd}`);
      }
    }
  }
  return prefixes;
}

type Place = Pick<ReadyEntry, "level" | "k1" | "k2">;

/** What decides when a ready task is claimed. */
export interface Queued {
  priority: number;
  readyAt: number;
  depth: number;
  sequence: number;
  ordinal: number;
}

/** The place of a ready task: the higher level first (with ageing, see `rankOf`), within a level the smaller k1, then k2. */
function placeOf({ priority, readyAt, depth, sequence, ordinal }: Queued, order: Order): Place {
  if (order === "priority") return { level: priority, k1: readyAt, k2: ordinal };
  return { level: depth, k1: -sequence, k2: -ordinal };
}

function rankOf({ level, k1 }: Place, { order, ageing }: Ordering, now: number): number {
  return order === "priority" ? effectivePriority({ priority: level, readyAt: k1 }, ageing, now) : level;
}

type Ordering = Pick<Settings, "order" | "ageing">;

/** The order in which claims take ready tasks: smaller keys first. Lists that show the queue sort by it. */
export function claimKeys(task: Queued, ordering: Ordering, now: number): [number, number, number] {
  const place = placeOf(task, ordering.order);
  return [-rankOf(place, ordering, now), place.k1, place.k2];
}

/** The rows of a ready task: one, and one more per label. */
export function readyEntries(task: Task, order: Order): ReadyEntry[] {
  const { id, labels } = task;
  const { level, k1, k2 } = placeOf({ ...task, readyAt: task.readyAt ?? task.createdAt }, order);
  const notBefore = task.notBefore ?? 0;
  const entries = [{ id, lane: laneOf(task), level, k1, k2, notBefore }];
  for (const label of labels) entries.push({ id, lane: laneOf(task, label), level, k1, k2, notBefore });
  return entries;
}

interface ReadyLanes {
  org(): { highestAt: number };
  readyLanes(project: string, prefix: string): Iterable<string>;
  readyLevels(project: string, lane: string): Iterable<number>;
  readyEntries(project: string, lane: string, level: number): Iterable<ReadyEntry>;
}

export interface Picked {
  entry: ReadyEntry | null;
  /** When nothing fits now: the instant at which something scheduled will. */
  soonestAt: number | null;
}

/**
 * Behind a task that is scheduled for later stand only later ones: true by priority, as long as the clock has not gone far
 * back since they were put there.
 */
function isInOrderOfTime(view: ReadyLanes, settings: Settings, now: number): boolean {
  return settings.order === "priority" && view.org().highestAt <= now;
}

/** The task that this session should get next, of those that are ready. */
export function pickNext(
  view: ReadyLanes,
  query: {
    project: string;
    settings: Settings;
    who: Who;
    labels?: string[] | undefined;
    avoid: ReadonlyMap<string, number>;
    now: number;
  },
): Picked {
  const { project, settings, who, avoid, now } = query;
  const best = new Best(settings, now);
  const inOrderOfTime = isInOrderOfTime(view, settings, now);
  let soonestAt: number | null = null;
  for (const prefix of lanePrefixes(who, query.labels)) {
    for (const lane of view.readyLanes(project, prefix)) {
      if (!fits(lane, prefix, who, settings)) continue;
      for (const level of view.readyLevels(project, lane)) {
        if (!best.canBeBeatenBy(level)) break;
        for (const entry of view.readyEntries(project, lane, level)) {
          const availableAt = Math.max(entry.notBefore, avoid.get(entry.id) ?? 0);
          if (availableAt <= now) {
            best.offer(entry);
            break;
          }
          if (soonestAt === null || availableAt < soonestAt) soonestAt = availableAt;
          if (entry.notBefore > now && inOrderOfTime) break;
        }
      }
    }
  }
  return { entry: best.entry, soonestAt: best.entry ? null : soonestAt };
}

export interface ReadyNow {
  /** Tasks that a session can claim now, counted up to about the limit. */
  count: number;
  /** When the next scheduled one can be claimed. */
  soonestAt: number | null;
  /** Whom ready tasks are assigned to. */
  assignees: Set<string>;
}

/** The ready queue of a project, for any session. */
export function readyNow(
  view: ReadyLanes,
  query: { project: string; settings: Settings; now: number; limit: number },
): ReadyNow {
  const { project, settings, now, limit } = query;
  const assignees = new Set<string>();
  const inOrderOfTime = isInOrderOfTime(view, settings, now);
  let count = 0;
  let soonestAt: number | null = null;
  for (const lane of view.readyLanes(project, labelEnd)) {
    const { assignee } = wantsIn(lane);
    if (assignee !== null) assignees.add(assignee);
    for (const level of view.readyLevels(project, lane)) {
      for (const { notBefore } of view.readyEntries(project, lane, level)) {
        if (notBefore <= now) count++;
        else if (soonestAt === null || notBefore < soonestAt) soonestAt = notBefore;
        // Who could take what is scheduled behind takes what is ready first.
        if (notBefore <= now ? count >= limit : inOrderOfTime) break;
      }
    }
  }
  return { count, soonestAt, assignees };
}

/** The tasks of one lane: how many can be claimed now, and how many are scheduled for later. */
export interface ReadyCount {
  lane: string;
  ready: number;
  scheduled: number;
}

/** Each ready task is in one lane without a label; these lanes are between the two, without the second. */
export const unlabelledLanes = { from: labelEnd, to: itemEnd };

/** Why a session cannot claim from a lane; null if it can. */
export function laneMisfit(lane: string, who: Who, settings: Settings): Misfit | null {
  return misfits(wantsIn(lane), who, settings)[0] ?? null;
}

/** What can be claimed now, best first; without a session, by anybody. */
export function listReady(
  view: ReadyLanes,
  query: { project: string; settings: Settings; who: Who | null; now: number; limit: number },
): ReadyEntry[] {
  const { project, settings, who, now, limit } = query;
  const found: ReadyEntry[] = [];
  const inOrderOfTime = isInOrderOfTime(view, settings, now);
  for (const prefix of who ? lanePrefixes(who, undefined) : [labelEnd]) {
    for (const lane of view.readyLanes(project, prefix)) {
      if (who && !fits(lane, prefix, who, settings)) continue;
      for (const level of view.readyLevels(project, lane)) {
        let count = 0;
        for (const entry of view.readyEntries(project, lane, level)) {
          if (entry.notBefore <= now) {
            found.push(entry);
            if (++count >= limit) break;
          } else if (inOrderOfTime) break;
        }
      }
    }
  }
  const rank = (entry: ReadyEntry) => rankOf(entry, settings, now);
  return found.sort((a, b) => rank(b) - rank(a) || a.k1 - b.k1 || a.k2 - b.k2).slice(0, limit);
}

/**
 * Since when the oldest of the heads of the queue is ready; null if nothing can be claimed now. By depth a head is not the oldest
 * of its level, but only heads are looked at: the queue may be long.
 */
export function oldestReadyAt(
  view: ReadyLanes & { task(project: string, id: string): Task | undefined },
  { id: project, settings, paused }: Project,
  now: number,
): number | null {
  let oldest: number | null = null;
  if (paused) return oldest;
  for (const lane of view.readyLanes(project, labelEnd)) {
    for (const level of view.readyLevels(project, lane)) {
      for (const { id, k1, notBefore } of view.readyEntries(project, lane, level)) {
        const at = settings.order === "priority" ? k1 : (view.task(project, id)?.readyAt ?? null);
        if (notBefore <= now && at !== null && (oldest === null || at < oldest)) oldest = at;
        break;
      }
    }
  }
  return oldest;
}

class Best {
  entry: ReadyEntry | null = null;
  private rank = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly settings: Settings,
    private readonly now: number,
  ) {}

  canBeBeatenBy(level: number): boolean {
    if (!this.entry) return true;
    const { order, ageing } = this.settings;
    const rankMax = order === "priority" && ageing.enabled ? Math.min(100, level + ageing.boostMax) : level;
    return rankMax >= this.rank;
  }

  offer(entry: ReadyEntry): void {
    const rank = rankOf(entry, this.settings, this.now);
    const holder = this.entry;
    if (
      !holder ||
      rank > this.rank ||
      (rank === this.rank && (entry.k1 < holder.k1 || (entry.k1 === holder.k1 && entry.k2 < holder.k2)))
    ) {
      this.entry = entry;
      this.rank = rank;
    }
  }
}

/** The same row. Depth first, the time is no part of the key, but it must be right all the same. */
function samePlace(a: ReadyEntry, b: ReadyEntry): boolean {
  return (
    a.lane === b.lane && a.level === b.level && a.k1 === b.k1 && a.k2 === b.k2 && a.notBefore === b.notBefore
  );
}

/** Which rows of the queue a task leaves, and which it joins. */
export function movesBetween(before: ReadyEntry[], after: ReadyEntry[]) {
  // Nearly always it only left, or only joined.
  if (before.length === 0 || after.length === 0) return { left: before, joined: after };
  const isIn = (entries: ReadyEntry[], entry: ReadyEntry) => entries.some((other) => samePlace(entry, other));
  return {
    left: before.filter((entry) => !isIn(after, entry)),
    joined: after.filter((entry) => !isIn(before, entry)),
  };
}
