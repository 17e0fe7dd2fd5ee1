// The ready queue as the stores keep it. A ready task stands in a lane: the tasks that ask for the same assignee, agent
// type, capabilities and machine, so that a session looks only at lanes it fits and never scans past tasks it may not take.
// A task with labels stands in one more lane per label. What a task uses is part of its lane, too: while a resource is exhausted,
// the lanes that use it are skipped whole. In a lane, a level is a priority (or a depth), and within a level
// the order is fixed when the row is written. Ageing therefore needs no writes: an older task of a level is never behind
// a younger one, so the best task of a lane is the best among the heads of its levels.

import { type Availability, needsMany, type Obstacle, type Starved, starvedMs } from "./availability.js";
import { effectivePriority } from "./priority.js";
import type { Order, Project, Settings } from "./project.js";
import { ownUses, projectUses, sumOfUses, type Uses } from "./resource.js";
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
  /** What each of its claims uses. */
  uses: Uses;
}

export interface Who extends Identity {
  /** Beginnings of all lanes that could fit; the capabilities at the end are tested lane by lane. */
  prefixes: string[];
}

export interface Wants extends Pick<Task, "assignee" | "agentType" | "requires"> {
  /** Where the change is that was handed in last; matters only while work lands without a remote. */
  machine: string | null;
  uses: Uses;
}
export type Misfit = "ASSIGNED_TO_OTHER" | "WRONG_AGENT_TYPE" | "MISSING_CAPABILITY" | "ON_OTHER_HOST";

const labelEnd = "\u001d";
const partEnd = "\u001f";
const itemEnd = "\u001e";
/** Before a machine, which stands in a lane as one more capability; no capability begins with it. */
const machineMark = "\u0001";
/** Before the id of a resource and its units, likewise. */
const usesMark = "\u0002";

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
    uses: session.uses,
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

export function wantsOf(task: Task): Wants {
  const { assignee, agentType, requires, submission } = task;
  const machine = submission?.commit ? machineOf(submission.host) : null;
  return { assignee, agentType, requires, machine, uses: ownUses(task) };
}

const plainLane = `${labelEnd}${partEnd}${partEnd}`;

export function laneOf(task: Task, label = ""): string {
  const wants = wantsOf(task);
  const { machine, uses } = wants;
  const items = machine === null && uses === null ? wants.requires : [...wants.requires];
  if (machine !== null) items.push(machineMark + machine);
  for (const id in uses) items.push(`${usesMark}${id}=${uses[id]}`);
  if (label === "" && wants.assignee === null && wants.agentType === null && items.length === 0)
    return plainLane;
  const requires = [...items].sort().join(itemEnd);
  return `${label}${labelEnd}${wants.assignee ?? ""}${partEnd}${wants.agentType ?? ""}${partEnd}${requires}`;
}

/** Each claim looks at the lanes again: what they say is worked out once. */
const knownLanes = new Map<string, Wants>();
const knownLanesMax = 10_000;

function wantsIn(lane: string): Wants {
  const known = knownLanes.get(lane);
  if (known) return known;
  if (knownLanes.size >= knownLanesMax) knownLanes.clear();
  const wants = parsedLane(lane);
  knownLanes.set(lane, wants);
  return wants;
}

function parsedLane(lane: string): Wants {
  const [assignee = "", agentType = "", requires = ""] = lane
    .slice(lane.indexOf(labelEnd) + 1)
    .split(partEnd);
  const items = requires ? requires.split(itemEnd) : [];
  const wants: Wants & { uses: Uses } = {
    assignee: assignee || null,
    agentType: agentType || null,
    requires: [],
    machine: null,
    uses: null,
  };
  for (const item of items) {
    if (item.startsWith(machineMark)) wants.machine = item.slice(machineMark.length);
    else if (item.startsWith(usesMark)) {
      const end = item.lastIndexOf("=");
      const id = item.slice(usesMark.length, end);
      wants.uses = { ...wants.uses, [id]: Number(item.slice(end + 1)) };
    } else wants.requires.push(item);
  }
  return wants;
}

/**
 * A lane that begins with one of the session's prefixes fits but for what it requires; one that is no longer than the prefix
 * requires nothing.
 */
function fits(lane: string, prefix: string, who: Who, settings: Settings): boolean {
  if (lane.length === prefix.length) return true;
  const wants = wantsIn(lane);
  // The usual case, of which each claim asks for every lane: only resources differ.
  if (wants.requires.length === 0 && wants.machine === null) return true;
  return misfits(wants, who, settings).length === 0;
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

interface ReadyTasks extends ReadyLanes {
  task(project: string, id: string): Task | undefined;
}

export interface Picked {
  entry: ReadyEntry | null;
  /** When nothing fits now: the instant at which something scheduled will. */
  soonestAt: number | null;
  /** Something would fit, but for a resource. */
  lacksResource: boolean;
  /** When the first hold of such a resource ends by itself. */
  heldUntil: number | null;
  /** The highest task that has long waited for many units at once. */
  starved: Starved | null;
}

/**
 * Behind a task that is scheduled for later stand only later ones: true by priority, as long as the clock has not gone far
 * back since they were put there.
 */
function isInOrderOfTime(view: ReadyLanes, settings: Settings, now: number): boolean {
  return settings.order === "priority" && view.org().highestAt <= now;
}

/** The task that this session should get next, of those that are ready. */
export function pickNext(view: ReadyTasks, query: PickQuery): Picked {
  const { project, settings, who, avoid, now, resources } = query;
  const best = new Best(settings, now);
  const starving = new Best(settings, now);
  const inOrderOfTime = isInOrderOfTime(view, settings, now);
  const base = usesOfClaim(who, settings);
  let soonestAt: number | null = null;
  let lacksResource = false;
  let heldUntil: number | null = null;
  const prefixes = lanePrefixes(who, query.labels);
  for (const prefix of prefixes) {
    for (const lane of view.readyLanes(project, prefix)) {
      if (!fits(lane, prefix, who, settings)) continue;
      const uses = laneUses(lane, prefix, base);
      const obstacle = uses && resources.obstacle(uses);
      if (obstacle) {
        // A lane can have been left empty.
        const { code, until } = obstacle;
        const isEarlier =
          code === "RESOURCE_HELD" && until !== null && until < (heldUntil ?? Number.POSITIVE_INFINITY);
        if ((isEarlier || !lacksResource) && hasEntry(view, project, lane)) {
          lacksResource = true;
          if (isEarlier) heldUntil = until;
        }
        if (obstacle.code === "RESOURCE_BUSY" && needsMany(uses)) offerStarved(view, query, lane, starving);
        continue;
      }
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
  if (lacksResource) {
    for (const entry of reservedEntries(view, query, prefixes))
      if ((avoid.get(entry.id) ?? 0) <= now) best.offer(entry);
  }
  return {
    entry: best.entry,
    soonestAt: best.entry ? null : soonestAt,
    lacksResource,
    heldUntil: best.entry ? null : heldUntil,
    starved: starving.entry && starvedTask(view, query, starving.entry.id),
  };
}

function hasEntry(view: ReadyLanes, project: string, lane: string): boolean {
  for (const level of view.readyLevels(project, lane)) {
    for (const _ of view.readyEntries(project, lane, level)) return true;
  }
  return false;
}

export interface PickQuery {
  project: string;
  settings: Settings;
  who: Who;
  labels?: string[] | undefined;
  avoid: ReadonlyMap<string, number>;
  now: number;
  resources: Availability;
}

/** What a claim uses besides what the task does. */
export function usesOfClaim(who: Pick<Who, "uses"> | null, settings: Settings): Uses {
  return sumOfUses(who?.uses, projectUses({ settings }));
}

/** What keeps each of these sessions from a task; empty if one of them gets it, or there is none. */
export function lackedByAll(fitting: readonly Who[], obstaclesOf: (who: Who) => Obstacle[]): Obstacle[] {
  const isLackedByAll = fitting.length > 0 && fitting.every((who) => obstaclesOf(who).length > 0);
  return isLackedByAll ? fitting.flatMap(obstaclesOf) : [];
}

/** Of a claim of a task in this lane; a lane that is no longer than the prefix uses nothing. */
function laneUses(lane: string, prefix: string, base: Uses): Uses {
  if (lane.length === prefix.length) return base;
  const { uses } = wantsIn(lane);
  return uses === null ? base : sumOfUses(uses, base);
}

const starvedLooksMax = 50;

/** The first of each level that has waited long enough. */
function offerStarved(view: ReadyTasks, query: PickQuery, lane: string, starving: Best): void {
  const { project, settings, avoid, now } = query;
  for (const level of view.readyLevels(project, lane)) {
    if (!starving.canBeBeatenBy(level)) return;
    let looked = 0;
    for (const entry of view.readyEntries(project, lane, level)) {
      if (Math.max(entry.notBefore, avoid.get(entry.id) ?? 0) > now) continue;
      const isByPriority = settings.order === "priority";
      const at = isByPriority ? entry.k1 : (view.task(project, entry.id)?.readyAt ?? now);
      if (now - at >= starvedMs) starving.offer(entry);
      // By depth the newest comes first, and an older one may be behind it.
      else if (!isByPriority && ++looked < starvedLooksMax) continue;
      break;
    }
  }
}

function starvedTask(view: ReadyTasks, { project, settings, now }: PickQuery, id: string): Starved | null {
  const task = view.task(project, id);
  const uses = task && sumOfUses(ownUses(task), projectUses({ settings }));
  if (!task || !uses || !needsMany(uses)) return null;
  return { project, taskId: id, uses, rank: rankOfTask(task, settings, now) };
}

export function rankOfTask(task: Task, { ageing }: Pick<Settings, "ageing">, now: number): number {
  return effectivePriority({ priority: task.priority, readyAt: task.readyAt ?? now }, ageing, now);
}

/** What is reserved for a task keeps its lane back, but not the task itself. */
function* reservedEntries(
  view: ReadyTasks,
  query: Omit<PickQuery, "who" | "avoid" | "labels"> & { who: Who | null },
  prefixes: string[],
): Generator<ReadyEntry> {
  const { project, settings, who, resources } = query;
  for (const reservation of resources.reservations()) {
    if (reservation.project !== project) continue;
    const task = view.task(project, reservation.taskId);
    if (!task) continue;
    const uses = sumOfUses(ownUses(task), usesOfClaim(who, settings));
    if (resources.obstacle(uses, `${project}/${task.id}`)) continue;
    const entry = readyEntries(task, settings.order).find(({ lane }) =>
      prefixes.some((prefix) => lane.startsWith(prefix) && (!who || fits(lane, prefix, who, settings))),
    );
    if (entry && laneObstacle(entry.lane, query)) yield entry;
  }
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

/** Lanes of a label begin with it. */
export const lanePrefix = (label: string) => label + labelEnd;

/** Why a session cannot claim from a lane; null if it can. */
export function laneMisfit(lane: string, who: Who, settings: Settings): Misfit | null {
  return misfits(wantsIn(lane), who, settings)[0] ?? null;
}

/** All that keeps tasks of a lane back. */
export function laneObstacles(
  lane: string,
  { who, settings, resources }: Pick<PickQuery, "settings" | "resources"> & { who: Who | null },
): Obstacle[] {
  return resources.obstacles(sumOfUses(wantsIn(lane).uses, usesOfClaim(who, settings)));
}

/** Why no session could take a task from a lane; null if one can. */
export function laneObstacle(
  lane: string,
  { who, settings, resources }: Pick<PickQuery, "settings" | "resources"> & { who: Who | null },
): Obstacle | null {
  return resources.obstacle(sumOfUses(wantsIn(lane).uses, usesOfClaim(who, settings)));
}

/** What can be claimed now, best first; without a session, by anybody. */
export function listReady(
  view: ReadyTasks,
  query: Omit<PickQuery, "who" | "avoid" | "labels"> & { who: Who | null; limit: number },
): ReadyEntry[] {
  const { project, settings, who, now, limit } = query;
  const found: ReadyEntry[] = [];
  const inOrderOfTime = isInOrderOfTime(view, settings, now);
  const prefixes = who ? lanePrefixes(who, undefined) : [labelEnd];
  found.push(...reservedEntries(view, query, prefixes));
  for (const prefix of prefixes) {
    for (const lane of view.readyLanes(project, prefix)) {
      if (who && !fits(lane, prefix, who, settings)) continue;
      if (laneObstacle(lane, query)) continue;
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
