// Resources: what a fleet shares and runs out of. They belong to the org. Each claim writes down the units it has taken. What
// every claim must know is two documents, read and written in the transaction of the claim: what each resource allows (`resource`),
// and what is in use (`resource-use`). What was spent is a third one (`resource-spent`), so that a report of usage wakes no claim.

import { dateOf, dayMs, daysOf } from "./calendar.js";
import type { Document } from "./changes.js";
import { idProblem } from "./ids.js";
import { limits } from "./limits.js";
import type { Project } from "./project.js";
import { type Refusal, refuse } from "./refusal.js";
import type { Task } from "./task.js";
import type { DocumentValue } from "./view.js";

/** Units by the id of a resource, in the order of the ids. Null: none. */
export type Uses = Readonly<Record<string, number>> | null;

export const holdSources = ["manual", "quota", "budget"] as const;
export type HoldSource = (typeof holdSources)[number];

export interface ResourceHold {
  source: HoldSource;
  /** Null: until it is resumed. */
  until: number | null;
  reason: string | null;
  by: string;
  at: number;
}

export const budgetUnits = ["usd", "minutes", "tokens"] as const;
export type BudgetUnit = (typeof budgetUnits)[number];
export const budgetPeriods = ["hour", "day", "week", "month", "total"] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

export interface Budget {
  amount: number;
  unit: BudgetUnit;
  period: BudgetPeriod;
}

/** The one claim that goes first after a hold has ended. */
export interface Probe {
  project: string;
  taskId: string;
  epoch: number;
  /** Then the others go, too. */
  until: number;
  /** What has ended: if the claim ends without having worked, the next one goes first. */
  holds: ResourceHold[];
}

export interface Resource {
  id: string;
  /** Null: as many as want to. */
  capacity: number | null;
  budgets: Budget[];
  /** At most one per source. One whose time has passed is kept until the next claim, which goes first. */
  holds: ResourceHold[];
  probe: Probe | null;
  /** Quota holds without a time in a row; absent: none. The next one lasts longer. */
  pauses?: number;
  createdAt: number;
}

/** Freed units are kept for a task that needs many at once. */
export interface Reservation {
  project: string;
  taskId: string;
  uses: Record<string, number>;
  /** Ends by itself unless a session that fits the task asks again. */
  until: number;
}

export interface Config {
  resources: Resource[];
  reservations: Reservation[];
}

export interface Documents {
  document(kind: string, key: string): DocumentValue | undefined;
}
export interface WritableDocuments extends Documents {
  putDocument(kind: string, key: string, value: DocumentValue | null): void;
}

export const resourceKind = "resource";
export const resourceUseKind = "resource-use";
export const resourceSpentKind = "resource-spent";
const all = "all";

const noConfig: Config = { resources: [], reservations: [] };

export function configOf(view: Documents): Config {
  return (view.document(resourceKind, all) as unknown as Config | undefined) ?? noConfig;
}

function putConfig(draft: WritableDocuments, config: Config): void {
  const isEmpty = config.resources.length === 0 && config.reservations.length === 0;
  draft.putDocument(resourceKind, all, isEmpty ? null : { ...config });
}

export function resourcesOf(view: Documents): readonly Resource[] {
  return configOf(view).resources;
}

export function resourceOf(view: Documents, id: string): Resource | undefined {
  return resourcesOf(view).find((each) => each.id === id);
}

/** In the place of the one with this id, or as a new one. */
export function putResource(draft: WritableDocuments, resource: Resource): void {
  const config = configOf(draft);
  const others = config.resources.filter(({ id }) => id !== resource.id);
  const resources = [...others, resource].sort((a, b) => (a.id < b.id ? -1 : 1));
  putConfig(draft, { ...config, resources });
}

export function dropResource(draft: WritableDocuments, id: string): void {
  const config = configOf(draft);
  putConfig(draft, { ...config, resources: config.resources.filter((each) => each.id !== id) });
}

export function reservationsOf(view: Documents): readonly Reservation[] {
  return configOf(view).reservations;
}

export function putReservations(draft: WritableDocuments, reservations: Reservation[]): void {
  putConfig(draft, { ...configOf(draft), reservations });
}

/** How many units of a resource are taken, and in how many places its id is named: open tasks, live sessions and projects. */
export interface InUse {
  units: number;
  named: number;
}

export type InUseById = Record<string, InUse>;

export const inUsesOf = (view: Documents): InUseById =>
  (view.document(resourceUseKind, all) as unknown as InUseById | undefined) ?? {};

export function inUse(view: Documents, id: string): InUse {
  const byId = inUsesOf(view);
  return Object.hasOwn(byId, id) ? byId[id]! : { units: 0, named: 0 };
}

/** Adds to both counts; what is not in use any more leaves nothing behind. */
export function countUse(draft: WritableDocuments, changes: ReadonlyMap<string, InUse>): void {
  const byId = { ...inUsesOf(draft) };
  let isChanged = false;
  for (const [id, { units, named }] of changes) {
    if (units === 0 && named === 0) continue;
    isChanged = true;
    const before = Object.hasOwn(byId, id) ? byId[id]! : { units: 0, named: 0 };
    const after = { units: before.units + units, named: before.named + named };
    if (after.units === 0 && after.named === 0) delete byId[id];
    else byId[id] = after;
  }
  if (!isChanged) return;
  const inOrder = Object.keys(byId).sort();
  const value = Object.fromEntries(inOrder.map((id) => [id, byId[id]!]));
  draft.putDocument(resourceUseKind, all, inOrder.length === 0 ? null : value);
}

/** What a budget has spent in the period that began at `start`. */
export interface BudgetSpent {
  unit: BudgetUnit;
  period: BudgetPeriod;
  start: number;
  spent: number;
  /** The inbox has said that it is spent, or the resource was resumed in spite of it: not again in this period. */
  isNoticed: boolean;
  isWaived: boolean;
}

export interface Spent {
  /** Ever. */
  usd: number;
  tokens: number;
  minutes: number;
  /** Attempts that ended without a word about their cost. */
  unknown: number;
  /** The inbox has said that a budget cannot be enforced. */
  isWarned: boolean;
  budgets: BudgetSpent[];
}

const noSpent: Spent = { usd: 0, tokens: 0, minutes: 0, unknown: 0, isWarned: false, budgets: [] };

export function spentOf(view: Documents, id: string): Spent {
  const byId = (view.document(resourceSpentKind, all) as unknown as Record<string, Spent> | undefined) ?? {};
  return Object.hasOwn(byId, id) ? byId[id]! : noSpent;
}

/** Null removes it; nothing spent leaves nothing behind. */
export function putSpent(draft: WritableDocuments, id: string, spent: Spent | null): void {
  const byId = { ...draft.document(resourceSpentKind, all) };
  if (spent && JSON.stringify(spent) !== JSON.stringify(noSpent)) byId[id] = spent;
  else delete byId[id];
  const inOrder = Object.keys(byId).sort();
  const value = Object.fromEntries(inOrder.map((each) => [each, byId[each]]));
  draft.putDocument(resourceSpentKind, all, inOrder.length === 0 ? null : value);
}

/** For an import, which has the rows of all resources and the sums of what is in use. */
export function resourceDocuments(
  rows: readonly ResourceRecord[],
  counted: ReadonlyMap<string, InUse>,
): Document[] {
  const documents = new Map<string, Document>();
  const draft: WritableDocuments = {
    document: (kind) => documents.get(kind)?.value ?? undefined,
    putDocument: (kind, key, value) => documents.set(kind, { kind, key, value }),
  };
  for (const { spent, ...resource } of rows) {
    putResource(draft, resource);
    putSpent(draft, resource.id, spent);
  }
  countUse(draft, counted);
  return [...documents.values()];
}

/** A resource as it moves to another store. Reservations stay behind: the next claim makes them again. */
export type ResourceRecord = Resource & { spent: Spent };

export function resourceRecords(view: Documents): ResourceRecord[] {
  return resourcesOf(view).map((resource) => ({
    ...resource,
    spent: spentOf(view, resource.id),
  }));
}

/** The exclusive paths of a project are resources of capacity 1 without a document. No id of a user begins like this. */
const hiddenMark = "/";

export const isHidden = (id: string) => id.startsWith(hiddenMark);
export const hiddenId = (project: string, glob: string) => `${hiddenMark}${project}/${glob}`;
/** The glob of an exclusive path. */
export const globOf = (id: string) => id.slice(id.indexOf("/", 1) + 1);

/** Units in the order of their ids, so that equal ones are written equally; null for none. */
export function normalUses(uses: Readonly<Record<string, number>> | null | undefined): Uses {
  let isEmpty = true;
  for (const id in uses) isEmpty &&= uses[id]! <= 0;
  // The usual case, which each claim asks several times: nothing is built.
  if (isEmpty) return null;
  const entries = Object.entries(uses!).filter(([, units]) => units > 0);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const isSameUses = (a: Uses, b: Uses): boolean => JSON.stringify(a) === JSON.stringify(b);

export function sumOfUses(a: Uses | undefined, b: Uses | undefined): Uses {
  if (!a || !b) return a ?? b ?? null;
  const sum: Record<string, number> = { ...a };
  for (const [id, units] of Object.entries(b)) {
    sum[id] = (Object.hasOwn(sum, id) ? sum[id]! : 0) + units;
  }
  return normalUses(sum);
}

/** What a task asks for by itself: what it names, and the exclusive paths it touches. */
export function ownUses({ uses, scopes, project }: Pick<Task, "uses" | "scopes" | "project">): Uses {
  if (scopes.length === 0) return uses;
  return sumOfUses(uses, Object.fromEntries(scopes.map((glob) => [hiddenId(project, glob), 1])));
}

export const projectUses = ({ settings }: Pick<Project, "settings">): Uses => normalUses(settings.uses);

/** Without the resources that Dibs uses by itself. */
export function shownUses(uses: Uses): Record<string, number> {
  return uses === null ? {} : Object.fromEntries(Object.entries(uses).filter(([id]) => !isHidden(id)));
}

/** Each claim asks it of every lane: nothing is built. */
function shownCount(uses: Uses): number {
  let count = 0;
  for (const id in uses) if (!isHidden(id)) count++;
  return count;
}

export const isTooMany = (uses: Uses) => shownCount(uses) > limits.usesMax;

/** `path`: the field that names it. */
export function resourceNotFound(id: string, path?: string): Refusal {
  return refuse("RESOURCE_NOT_FOUND", `Resource ${id.slice(0, 200)} not found.`, {
    hint: `Run: dibs resource set ${idProblem(id) === null ? id : "<id>"}, or dibs resources`,
    details: { resource: id.slice(0, 200), ...(path === undefined ? {} : { path }) },
  });
}

/** What is wrong with units that somebody names: `path` is the field. `withUses` is what a claim uses besides. */
export function usesProblem(
  view: Documents,
  path: string,
  uses: Readonly<Record<string, number>> | null | undefined,
  withUses: Uses,
): Refusal | null {
  const normal = normalUses(uses);
  if (normal === null) return null;
  const sum = sumOfUses(normal, withUses);
  if (isTooMany(sum)) {
    return invalidUses(path, `A claim can use ${limits.usesMax} resources, not ${shownCount(sum)}.`);
  }
  for (const id of Object.keys(normal)) {
    const resource = resourceOf(view, id);
    if (!resource) return resourceNotFound(id, path);
    const units = sum![id]!;
    if (resource.capacity !== null && units > resource.capacity) {
      return invalidUses(
        path,
        `A claim would need ${units} units of resource ${id}, which has ${resource.capacity}.`,
        `dibs resource set ${id} --capacity ${units}`,
      );
    }
  }
  return null;
}

function invalidUses(path: string, message: string, fix?: string): Refusal {
  return refuse("VALIDATION_FAILED", message, {
    ...(fix ? { hint: `Run: ${fix}` } : {}),
    details: { issues: [{ path, message }] },
  });
}

/** How long the one claim that goes first keeps the others waiting. */
export const probeMs = 60_000;

export function openHolds({ holds }: Resource, now: number): ResourceHold[] {
  return holds.filter(({ until }) => until === null || until > now);
}

/** All holds have ended by themselves: the next claim goes first. */
export const isHalfOpen = (resource: Resource, now: number): boolean =>
  resource.holds.length > 0 && openHolds(resource, now).length === 0;

/** A probe from the future was granted under a clock that has been set back since. */
export function liveProbe({ probe }: Resource, now: number): Probe | null {
  return probe !== null && probe.until > now && probe.until <= now + probeMs ? probe : null;
}

/** How long a limit without a time holds a resource, the n-th time in a row. */
export const pauseMs = (pauses: number): number => Math.min(60_000 * 2 ** pauses, 60 * 60_000);

/** It has worked again. */
export function withoutPauses({ pauses, ...resource }: Resource): Resource {
  return resource;
}

const hourMs = 3_600_000;

/** When the period at an instant began, and when it ends: calendar, UTC, weeks from Monday. */
export function periodAt(period: BudgetPeriod, now: number): { start: number; end: number | null } {
  const today = Math.floor(now / dayMs);
  const days = (start: number, end: number) => ({ start: start * dayMs, end: end * dayMs });
  switch (period) {
    case "hour": {
      const start = Math.floor(now / hourMs) * hourMs;
      return { start, end: start + hourMs };
    }
    case "day":
      return days(today, today + 1);
    case "week": {
      // 1970-01-01 was a Thursday.
      const monday = today - ((((today + 3) % 7) + 7) % 7);
      return days(monday, monday + 7);
    }
    case "month": {
      const { year, month } = dateOf(today);
      const next = month === 12 ? { year: year + 1, month: 1 } : { year, month: month + 1 };
      return days(daysOf({ year, month, day: 1 }), daysOf({ ...next, day: 1 }));
    }
    case "total":
      return { start: 0, end: null };
  }
}
