// The fields of a task as the SQL stores write them: a few columns for statements to look at, and one JSON, `more`, of the rest.
// A field of a task that is not in this table does not compile. Statements, rows, comparisons and defaults all follow it.

import type { Task } from "../core/task.js";
import type { Row, Value } from "./columns.js";
import { isListOrAbsent, need } from "./unreadable.js";

/** Most changes touch few fields, and are written by shorter statements: a task was held and came to rest, or waits for less. */
type Group = "moved" | "freed" | "both";

type Field<V> =
  | { in: "key" }
  | { in: "column"; name: string; group: Group | null }
  /** Omitted if it is as usual. Part of the format: omitted fields are read as these values, in all versions. */
  | { in: "more"; usual: V }
  /** Always in `more`. */
  | { in: "more"; usual?: never };

const key = { in: "key" } as const;
const column = (name: string, group: Group | null = null) => ({ in: "column", name, group }) as const;
const more = <V>(usual: V) => ({ in: "more", usual }) as const;
const always = { in: "more" } as const;

const fields = {
  project: key,
  id: key,
  type: column("type"),
  parentId: column("parent_id"),
  title: column("title"),
  phase: more(null),
  state: column("state", "moved"),
  priority: column("priority"),
  labels: more<string[]>([]),
  files: more<string[]>([]),
  dependsOn: more<string[]>([]),
  assignee: column("assignee"),
  agentType: more(null),
  requires: more<string[]>([]),
  uses: more(null),
  scopes: more<string[]>([]),
  maxRetries: more(3),
  retryCount: more(0),
  lostCount: column("lost_count"),
  notBefore: column("not_before"),
  timeoutMs: more(null),
  question: more(null),
  response: more(null),
  responsePending: more(false),
  error: more(null),
  correlationId: always,
  epoch: column("epoch", "moved"),
  createdAt: column("created_at"),
  updatedAt: column("updated_at", "moved"),
  readyAt: column("ready_at", "both"),
  startedAt: column("started_at", "moved"),
  endedAt: column("ended_at", "moved"),
  createdBy: always,
  depth: more(0),
  sequence: more(0),
  ordinal: key,
  pendingDeps: column("pending_deps", "freed"),
  openChildren: column("open_children", "freed"),
  completedChildren: column("completed_children", "freed"),
  submission: more(null),
  landed: more(null),
  noChange: more(false),
  returnCount: more(0),
  usage: more(null),
} satisfies { [F in keyof Task]-?: Field<Task[F]> };

type Name = keyof Task;
type Found = { in: string; name?: string; group?: Group | null; usual?: unknown };
const all = Object.entries(fields as Record<Name, Found>) as [Name, Found][];

const taskColumns: readonly { field: Name; name: string; group: Group | null }[] = all.flatMap(
  ([field, { name, group = null }]) => (name === undefined ? [] : [{ field, name, group }]),
);

/** Columns of a group of changes, in the order of their values. */
export class TaskPart {
  readonly names: string[];
  private readonly fields: Name[];

  constructor(isMeant: (column: (typeof taskColumns)[number]) => boolean) {
    const columns = taskColumns.filter(isMeant);
    this.names = columns.map(({ name }) => name);
    this.fields = columns.map(({ field }) => field);
  }

  get width(): number {
    return this.fields.length;
  }

  values(task: Task): Value[] {
    return this.fields.map((field) => task[field] as Value);
  }

  /** Fills the fields from a row. */
  fill(task: Task, row: Row, from = 0): void {
    const target = task as unknown as Record<Name, unknown>;
    for (let at = 0; at < this.fields.length; at++) target[this.fields[at]!] = row[from + at];
  }
}

const isIn = (group: Group) => (column: { group: Group | null }) =>
  column.group === group || column.group === "both";
const wholePart = new TaskPart(() => true);
export const movedPart = new TaskPart(isIn("moved"));
export const freedPart = new TaskPart(isIn("freed"));

/** The key, the columns and `more`, in the order of a whole row. */
export const taskKeyColumns = "no, project, id";
export const taskRowColumns = [...wholePart.names, "more"].join(", ");
export const taskWidth = 3 + wholePart.width + 1;
const moreAt = taskWidth - 1;

/** The values after the key. */
export function taskRow(task: Task): Value[] {
  const values = wholePart.values(task);
  values.push(moreOf(task));
  return values;
}

const inMore = all.filter(([, field]) => field.in === "more");
const isInMore = new Set<string>(inMore.map(([name]) => name));

function moreOf(task: Task): string {
  const values: Record<string, unknown> = {};
  for (const [name, { usual }] of inMore) {
    const value = task[name];
    if (value === usual || (Array.isArray(value) && value.length === 0)) continue;
    values[name] = value;
  }
  return JSON.stringify(values);
}

/** Copied for each task: quicker than adding one field after the other. */
const blank = Object.fromEntries(
  all.map(([name, { usual = null }]) => [name, Array.isArray(usual) ? Object.freeze([...usual]) : usual]),
) as unknown as Task;
const lists = inMore.filter(([, { usual }]) => Array.isArray(usual)).map(([name]) => name);
const texts = inMore.filter(([, field]) => !("usual" in field)).map(([name]) => name);

/** A task with what `more` contains; the columns are filled in by `TaskPart`. */
export function taskWith(project: string, id: string, ordinal: number, more: Partial<Task>): Task {
  for (const name of texts) need(typeof more[name] === "string", name);
  for (const name of lists) need(isListOrAbsent(more[name]), name);
  const task = { ...blank, project, id, ordinal };
  const target = task as unknown as Record<string, unknown>;
  for (const name in more) if (isInMore.has(name)) target[name] = more[name as Name] ?? target[name];
  return task;
}

/** From a whole row. `more` is text where the database does not parse it. */
export function toTask(row: Row, ordinal: number): Task {
  const more = row[moreAt];
  const task = taskWith(row[1], row[2], ordinal, typeof more === "string" ? JSON.parse(more) : more);
  wholePart.fill(task, row, 3);
  return task;
}

const groups = new Map<string, Group | null>(
  all.flatMap(([name, field]) => (field.in === "key" ? [] : [[name, field.group ?? null]])),
);

/**
 * How a change of a task is written. The fields are compared one by one: two changes may have the same instant, so `updatedAt`
 * does not tell.
 */
export function changeOf(before: Task, after: Task): "moved" | "freed" | "whole" {
  let isMoved = false;
  let isFreed = false;
  for (const name in after) {
    if (before[name as Name] === after[name as Name]) continue;
    const group = groups.get(name);
    if (group === null) return "whole";
    isMoved ||= group === "moved";
    isFreed ||= group === "freed";
  }
  if (!isFreed) return "moved";
  return isMoved ? "whole" : "freed";
}
