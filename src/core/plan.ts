// What a plan has created, so that loading it again updates its tasks instead of doubling them (ADR 24). One document per
// plan and project: which task stands for which item of the plan, and fingerprints of what the plan said about it.

import type { Document } from "./changes.js";
import type { TaskState } from "./task.js";
import type { DocumentValue, Reads } from "./view.js";

const planKind = "plan";

export interface PlanEntry {
  /** The item's identity within the plan. */
  identity: string;
  taskId: string;
  /** Fingerprints of what the plan said when it was last applied, by field. */
  said: Record<string, string>;
}

export interface PlanRecord {
  project: string;
  name: string;
  entries: PlanEntry[];
}

const keyOfPlan = (project: string, name: string) => `${project}/${name}`;

export function planEntries(
  view: { document(kind: string, key: string): DocumentValue | undefined },
  project: string,
  name: string,
): PlanEntry[] | undefined {
  return view.document(planKind, keyOfPlan(project, name))?.entries as PlanEntry[] | undefined;
}

/** Without entries it is removed. */
export function planDocument({ project, name, entries }: PlanRecord): Document {
  return { kind: planKind, key: keyOfPlan(project, name), value: entries.length > 0 ? { entries } : null };
}

/** Those of a project, by their names. */
export function planRecords(
  view: Pick<Reads, "documents">,
  { project, afterName = "", limit }: { project: string; afterName?: string | undefined; limit: number },
): PlanRecord[] {
  const page = { afterKey: keyOfPlan(project, afterName), beforeKey: `${project}0`, limit }; // 0 comes after the slash.
  return view.documents({ kind: planKind, ...page }).map(({ key, value }) => ({
    project,
    name: key.slice(project.length + 1),
    entries: value.entries as PlanEntry[],
  }));
}

export const planChanges = ["new", "changed", "untouched", "checked", "gone", "cancelled"] as const;

/** What loading a plan does to one task. Unchanged ones are only counted. */
export interface PlanChange {
  change: (typeof planChanges)[number];
  /** The caller's key, if the item is in the plan. */
  key: string | null;
  /** Null: not created yet. */
  taskId: string | null;
  title: string;
  /** Before the change. Null: not created yet, or archived. */
  state: TaskState | null;
  /** What changes. */
  fields: string[];
  /** Of these, what somebody edited in the store since the last load. */
  overwritten: string[];
  /** What the plan changed, and the task did not. */
  notApplied: string[];
  /** Why a task that is gone from the plan was not cancelled. */
  reason: string | null;
}

export interface PlanDifference {
  name: string;
  /** No earlier load of this plan is known. */
  isNew: boolean;
  dryRun: boolean;
  counts: Record<PlanChange["change"] | "unchanged", number>;
  changes: PlanChange[];
}

/** Tells an edited value from the one before. Not for secrets: anybody can find another value with the same one. */
export function fingerprint(value: unknown): string {
  let a = 0x811c9dc5;
  let b = 0x41c6ce57;
  const text = JSON.stringify(sorted(value));
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b) ^ (b >>> 13);
  }
  return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}

/** Databases that keep JSON as such forget the order of its fields. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const of = value as Record<string, unknown>;
  const fields = Object.keys(of).sort();
  return Object.fromEntries(fields.map((field) => [field, sorted(of[field])]));
}
