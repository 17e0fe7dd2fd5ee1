// How many tasks of a project are in each state, and how many notifications are unread: kept from what each commit changes. Held
// tasks rest as queued; their states are those of the claims, which are few.

import type { Claim } from "../../../core/claim.js";
import type { Task, TaskState } from "../../../core/task.js";
import type { OpenCounts } from "../../../core/view.js";
import { beginning, type Place, type Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import type { Reader } from "../reader.js";
import { decoder } from "../row-codec.js";

type ByState = Partial<Record<TaskState, number>>;

export interface Counts {
  states: ByState;
  /** Without groups. */
  tasks: ByState;
  unread: number;
}

const prefix = "COUNT#";
export const place = (keys: OrgKeys, project: string): Place => keys.at("counts", prefix + project);

export const none = (): Counts => ({ states: {}, tasks: {}, unread: 0 });

export const decode = decoder("count", (data): Counts => JSON.parse(data));

export const write = (keys: OrgKeys, project: string, counts: Counts): Write => ({
  ...place(keys, project),
  data: JSON.stringify(counts),
});

/** Counts a task in, or out. */
export function count(counts: Counts, { state, type }: Task, by: 1 | -1): void {
  add(counts.states, state, by);
  if (type !== "group") add(counts.tasks, state, by);
}

function add(into: ByState, state: TaskState, by: number): void {
  const sum = (into[state] ?? 0) + by;
  if (sum === 0) delete into[state];
  else into[state] = sum;
}

function all(keys: OrgKeys, reader: Reader, project: string | null): Counts[] {
  if (project !== null) {
    const counts = reader.row(place(keys, project), { decode });
    reader.settle();
    return counts ? [counts] : [];
  }
  return [...reader.scan(beginning(place(keys, "")), { page: 1_000 })].map(({ data, sk }) =>
    decode(data, sk),
  );
}

/** Moves the tasks of the claims from `queued` to the states of their claims. */
function withHeld(counts: ByState, claims: readonly Claim[], project: string | null): ByState {
  for (const claim of claims) {
    if (project !== null && claim.project !== project) continue;
    add(counts, "queued", -1);
    add(counts, claim.state, 1);
  }
  return counts;
}

export function byState(
  keys: OrgKeys,
  reader: Reader,
  claims: readonly Claim[],
  project: string | null,
): ByState {
  const sum: ByState = {};
  for (const { states } of all(keys, reader, project)) {
    for (const [state, number] of Object.entries(states)) add(sum, state as TaskState, number);
  }
  return withHeld(sum, claims, project);
}

export function open(keys: OrgKeys, reader: Reader, claims: readonly Claim[], project: string): OpenCounts {
  const { completed, cancelled, ...counts } = all(keys, reader, project)[0]?.tasks ?? {};
  return withHeld(counts, claims, project);
}

export const unread = (keys: OrgKeys, reader: Reader, project: string | null): number =>
  all(keys, reader, project).reduce((sum, counts) => sum + counts.unread, 0);
