// What a plan says about a task, field by field, compared with what it said before. Only what the plan itself changed is
// applied: an edit that somebody made in the store stays until the plan says something else about the same field.

import type { PlanTask, TaskPatch } from "../command.js";
import { fingerprint } from "../plan.js";
import { priorityDefault } from "../priority.js";
import { normalUses } from "../resource.js";
import type { Task, TaskText } from "../task.js";
import { titleOf } from "./batch.js";

/** What a task has where a plan says nothing. */
const defaults = {
  description: null,
  phase: null,
  priority: priorityDefault,
  labels: [],
  files: [],
  dependsOn: [],
  assignee: null,
  agentType: null,
  requires: [],
  uses: null,
  notBefore: null,
  timeoutMs: null,
  metadata: null,
} as const satisfies Partial<Record<keyof TaskPatch, unknown>>;

/** A task keeps these for as long as it lives. */
const fixedFields = ["parentId", "type"];

/** Values by field; absent: the plan says nothing about it. */
export type Said = Readonly<Record<string, unknown>>;

/** References count as the items they name, so that what becomes of those tasks is no change of the plan. */
export function saidBy(input: PlanTask, identityOf: (reference: string) => string): Said {
  const title = titleOf(input);
  const { id, key, identity, done, correlationId, type, parentId, dependsOn, ...values } = input;
  const said = {
    ...values,
    title,
    prompt: input.prompt ?? input.description ?? title,
    labels: input.labels && [...new Set(input.labels)],
    requires: input.requires && [...new Set(input.requires)],
    uses: normalUses(input.uses) ?? undefined,
    dependsOn: [...new Set(dependsOn?.map(identityOf))].sort(),
    ...(type === "group" && { type }),
    ...(parentId !== undefined && { parentId: identityOf(parentId) }),
  };
  const isSaid = ([, value]: [string, unknown]) => value !== undefined && !isEmptyList(value);
  return Object.fromEntries(Object.entries(said).filter(isSaid));
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

/** Kept with the dependencies themselves, to see whether somebody else edited them. */
export function printsOf(said: Said, dependsOn: readonly string[]): Record<string, string> {
  const prints = Object.entries(said).map(([field, value]) => [field, fingerprint(value)]);
  return { ...Object.fromEntries(prints), edges: edgesPrint(dependsOn) };
}

const edgesPrint = (ids: readonly string[]) => fingerprint([...ids].sort());

export interface Comparison {
  /** What the plan changed and a task can change. */
  fields: string[];
  /** What the plan changed and no task can. */
  fixed: string[];
  /** `edited`: fields of the patch that have another value in the store than the plan gave them. */
  patchFor(now: Task & Partial<TaskText>, more: More): { patch: TaskPatch; edited: string[] };
  /** What to remember once the fields are applied. */
  saidAfter(dependsOn: string[] | undefined): Record<string, string>;
}

interface More {
  /** The project's own, where the plan says nothing. */
  maxRetries: number;
  /** Ids, where they change. */
  dependsOn: string[] | undefined;
}

export function compare(before: Record<string, string>, said: Said, waitsForNew: boolean): Comparison {
  const { edges = "", ...known } = before;
  const after = Object.fromEntries(Object.entries(said).map(([field, value]) => [field, fingerprint(value)]));
  const differs = (field: string) => known[field] !== after[field] || (field === "dependsOn" && waitsForNew);
  const all = [...new Set([...Object.keys(known), ...Object.keys(after)])].filter(differs).sort();
  const fields = all.filter((field) => !fixedFields.includes(field));
  const fixed = all.filter((field) => fixedFields.includes(field));
  return {
    fields,
    fixed,
    patchFor(now, { maxRetries, dependsOn }) {
      const unsaid: Said = { ...defaults, maxRetries };
      const values = fields.map((field) => [
        field,
        field === "dependsOn" ? dependsOn : (said[field] ?? unsaid[field]),
      ]);
      const isEdited = (field: string) => {
        if (field === "dependsOn") return edges !== edgesPrint(now.dependsOn);
        const value = now[field as keyof typeof now];
        const print = fingerprint(value);
        return known[field] === undefined ? print !== fingerprint(unsaid[field]) : print !== known[field];
      };
      return { patch: Object.fromEntries(values) as TaskPatch, edited: fields.filter(isEdited) };
    },
    saidAfter(dependsOn) {
      const kept = fixed.flatMap((field) => (known[field] === undefined ? [] : [[field, known[field]]]));
      const applied = Object.entries(after).filter(([field]) => !fixed.includes(field));
      return {
        ...Object.fromEntries([...applied, ...kept]),
        edges: dependsOn ? edgesPrint(dependsOn) : edges,
      };
    },
  };
}
