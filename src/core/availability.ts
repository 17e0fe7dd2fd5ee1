// What can be taken now: units that are free, holds that have ended, and units that are kept for a task that needs many at once.

import type { Project } from "./project.js";
import {
  type Config,
  configOf,
  type Documents,
  type InUseById,
  inUsesOf,
  isHidden,
  isTooMany,
  liveProbe,
  openHolds,
  putReservations,
  type Reservation,
  type Resource,
  reservationsOf,
  type Uses,
  type WritableDocuments,
} from "./resource.js";
import type { Task } from "./task.js";

export type ObstacleCode = "RESOURCE_HELD" | "RESOURCE_BUSY" | "RESOURCE_TOO_SMALL";

/** Why units cannot be taken now. */
export interface Obstacle {
  code: ObstacleCode;
  id: string;
  /** When it ends by itself, if that is known. */
  until: number | null;
  /** Units are free, but reserved for this task. */
  reservedFor?: { project: string; taskId: string };
}

/** Freed units are reserved for a task that has been ready for this long. */
export const starvedMs = 10 * 60_000;
const reservationMs = 2 * 60_000;
/** A reservation is renewed in steps, so that waiting claims do not wake each other. */
const reservationStepMs = 60_000;

const keyOfTask = ({ project, taskId }: { project: string; taskId: string }) => `${project}/${taskId}`;

interface Lookups extends Documents {
  task(project: string, id: string): Task | undefined;
  project(id: string): Project | undefined;
  claim(project: string, taskId: string): unknown;
}

/** What one resource allows now. */
interface Allowance {
  /** Null: no limit. */
  capacity: number | null;
  free: number;
  /** Null: held until it is resumed; undefined: not held. */
  heldUntil: number | null | undefined;
}

/** What can be taken now. Reads the documents once, and works out each resource once. */
export class Availability {
  private readonly config: Config;
  private allowances: Map<string, Allowance> | null = null;
  private byId: Map<string, Resource> | null = null;
  private inUse: InUseById | null = null;
  private reserved: Reservation[] | null = null;

  constructor(
    private readonly view: Lookups,
    readonly now: number,
  ) {
    this.config = configOf(view);
    // Early: a store that fetches then answers both at once.
    if (this.config.resources.length > 0) this.inUse = inUsesOf(view);
  }

  private allowance(id: string): Allowance {
    const known = this.allowances?.get(id);
    if (known) return known;
    this.allowances ??= new Map();
    this.byId ??= new Map(this.config.resources.map((each) => [each.id, each]));
    const resource = this.byId.get(id);
    const capacity = resource ? resource.capacity : isHidden(id) ? 1 : null;
    const allowance = {
      capacity,
      free: capacity === null ? Number.POSITIVE_INFINITY : capacity - this.unitsOf(id),
      heldUntil: resource && heldUntil(resource, this.now),
    };
    this.allowances.set(id, allowance);
    return allowance;
  }

  private unitsOf(id: string): number {
    this.inUse ??= inUsesOf(this.view);
    return Object.hasOwn(this.inUse, id) ? this.inUse[id]!.units : 0;
  }

  /** The usual case, of which each claim asks for every lane. */
  private isSimplyFree(uses: NonNullable<Uses>): boolean {
    if (isTooMany(uses) || this.reservations().length > 0) return false;
    for (const id in uses) {
      const { free, heldUntil } = this.allowance(id);
      if (uses[id]! > free || heldUntil !== undefined) return false;
    }
    return true;
  }

  /** Those that still keep units. */
  reservations(): readonly Reservation[] {
    this.reserved ??= this.config.reservations.filter((each) => this.isInForce(each));
    return this.reserved;
  }

  private isInForce({ project, taskId, until }: Reservation): boolean {
    const { view, now } = this;
    if (until <= now || until > now + reservationMs) return false;
    const task = view.task(project, taskId);
    const isWaiting =
      task?.state === "queued" &&
      task.readyAt !== null &&
      task.readyAt <= now &&
      !view.claim(project, taskId);
    return isWaiting && view.project(project)?.paused === false;
  }

  private reservedFor(id: string, taskKey: string | null): { units: number; by: Reservation | null } {
    let units = 0;
    let by: Reservation | null = null;
    for (const each of this.reservations()) {
      if (keyOfTask(each) === taskKey || !Object.hasOwn(each.uses, id)) continue;
      units += each.uses[id]!;
      by ??= each;
    }
    return { units, by };
  }

  /** The first reason why these units cannot be taken; for the named task, whose own reservation does not count. */
  obstacle(uses: Uses, taskKey: string | null = null): Obstacle | null {
    if (uses === null || this.isSimplyFree(uses)) return null;
    return this.obstacles(uses, taskKey)[0] ?? null;
  }

  obstacles(uses: Uses, taskKey: string | null = null): Obstacle[] {
    if (uses === null) return [];
    const found: Obstacle[] = [];
    if (isTooMany(uses)) found.push({ code: "RESOURCE_TOO_SMALL", id: "", until: null });
    for (const id in uses) {
      const units = uses[id]!;
      const { capacity, free, heldUntil } = this.allowance(id);
      if (capacity !== null && units > capacity) found.push({ code: "RESOURCE_TOO_SMALL", id, until: null });
      if (heldUntil !== undefined) found.push({ code: "RESOURCE_HELD", id, until: heldUntil });
      if (capacity === null || units > capacity) continue;
      if (units > free) found.push({ code: "RESOURCE_BUSY", id, until: null });
      else {
        const reserved = this.reservedFor(id, taskKey);
        if (reserved.by && units > free - reserved.units) {
          found.push({
            code: "RESOURCE_BUSY",
            id,
            until: reserved.by.until,
            reservedFor: reserved.by,
          });
        }
      }
    }
    return found.sort((a, b) => ranks[a.code] - ranks[b.code]);
  }

  /** When time alone can next free something: the end of a hold, of a probe or of a reservation. */
  nextAt(): number | null {
    return nextChangeAt(this.config, this.now);
  }
}

/** What a person can change comes first. */
const ranks: Record<ObstacleCode, number> = { RESOURCE_TOO_SMALL: 0, RESOURCE_HELD: 1, RESOURCE_BUSY: 2 };

/** Undefined: not held. */
function heldUntil(resource: Resource, now: number): number | null | undefined {
  const open = openHolds(resource, now);
  if (open.length > 0) {
    const ends = open.map(({ until }) => until);
    return ends.includes(null) ? null : Math.max(...(ends as number[]));
  }
  return liveProbe(resource, now)?.until;
}

function nextChangeAt({ resources, reservations }: Config, now: number): number | null {
  let next: number | null = null;
  const note = (at: number | null | undefined) => {
    if (at != null && at > now && (next === null || at < next)) next = at;
  };
  for (const resource of resources) {
    for (const { until } of resource.holds) note(until);
    note(liveProbe(resource, now)?.until);
  }
  for (const { until } of reservations) note(until);
  return next;
}

/** When time alone can next let a waiting claim take units. */
export const resourcesChangeAt = (view: Documents, now: number): number | null =>
  nextChangeAt(configOf(view), now);

/** A task that has waited long for many units, as a claim has found it. */
export interface Starved {
  project: string;
  taskId: string;
  uses: NonNullable<Uses>;
  /** Its priority now. */
  rank: number;
}

/** A claim of one unit competes like any other; only more than one at a time can be starved by small ones. */
export function needsMany(uses: NonNullable<Uses>): boolean {
  let sum = 0;
  for (const id in uses) sum += uses[id]!;
  return sum > 1;
}

/**
 * Keeps freed units for this task, unless a higher one needs some of the same: all its resources or none, so that no two tasks
 * wait for each other. Returns whether something has changed.
 */
export function reserve(
  draft: WritableDocuments & Lookups,
  starved: Starved,
  rankOf: (reservation: Reservation) => number,
  now: number,
): boolean {
  const { project, taskId, uses } = starved;
  const key = keyOfTask(starved);
  const all = new Availability(draft, now).reservations();
  const own = all.find((each) => keyOfTask(each) === key);
  const others = all.filter((each) => each !== own);
  const rivals = others.filter((each) => Object.keys(each.uses).some((id) => Object.hasOwn(uses, id)));
  if (rivals.some((each) => rankOf(each) >= starved.rank)) return false;
  const isSame = own && JSON.stringify(own.uses) === JSON.stringify(uses);
  if (isSame && rivals.length === 0 && own.until - now > reservationMs - reservationStepMs) return false;
  const kept = others.filter((each) => !rivals.includes(each));
  putReservations(draft, [...kept, { project, taskId, uses: { ...uses }, until: now + reservationMs }]);
  return !isSame || rivals.length > 0;
}

/** The task has its turn, or waits no longer. */
export function dropReservation(draft: WritableDocuments, project: string, taskId: string): void {
  const reservations = reservationsOf(draft);
  const others = reservations.filter((each) => each.project !== project || each.taskId !== taskId);
  if (others.length < reservations.length) putReservations(draft, others);
}
