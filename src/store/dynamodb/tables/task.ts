import { keyOf } from "../../../core/changes.js";
import { isTerminal, type Task, type TaskState } from "../../../core/task.js";
import type { Lists, TaskFilter } from "../../../core/view.js";
import { matchesTask } from "../../filters.js";
import type { Change } from "../../rows.js";
import { taskRow, taskRowColumns, toTask } from "../../task-fields.js";
import { orUnreadable, UnreadableRowError } from "../../unreadable.js";
import type { Claims } from "../claims.js";
import { beginning, type Found, following, type Place, type Span, type Write } from "../items.js";
import { type OrgKeys, ordered, taskName } from "../keys.js";
import { first, pagesOf } from "../listing.js";
import type { Reader } from "../reader.js";
import { decoder } from "../row-codec.js";
import * as text from "./text.js";

type Named = Pick<Task, "project" | "id">;

export const place = (keys: OrgKeys, { project, id }: Named): Place =>
  keys.at("tasks", `TASK#${taskName(project, id)}`);

/** All that belongs to one task. */
export const ownSpan = (keys: OrgKeys, named: Named): Span => {
  const { table, pk } = text.place(keys, named);
  return { table, pk, from: "A", to: "Z" };
};

const ofTask = (keys: OrgKeys, named: Named, sk: string): Place => ({ ...text.place(keys, named), sk });
const childPlace = (keys: OrgKeys, parent: Named, ordinal: number): Place =>
  ofTask(keys, parent, `CHILD#${ordered(ordinal)}`);
const dependentPlace = (keys: OrgKeys, task: Named, id: string): Place =>
  ofTask(keys, task, `DEPENDENT#${id}`);

const ordinalMax = 10 ** 15;

/** Lists of tasks in creation order. */
const lists = {
  NO: () => true,
  OPEN: ({ state }: Task) => !isTerminal(state),
  FAILED: ({ state }: Task) => state === "failed",
  /** Was lost by a session, and waits for another. */
  LOST: ({ state, lostCount }: Task) => state === "queued" && lostCount > 0,
} satisfies Record<string, (task: Task) => boolean>;
type ListName = keyof typeof lists;
const listNames = Object.keys(lists) as ListName[];

const listPlace = (keys: OrgKeys, name: ListName, ordinal: number): Place =>
  keys.at("tasks", ordered(ordinal), name);

const names = taskRowColumns.split(", ");

function encode(task: Task): string {
  const values = taskRow(task);
  const row: Record<string, unknown> = { no: task.ordinal, project: task.project, id: task.id };
  for (let at = 0; at < names.length; at++) if (values[at] !== null) row[names[at]!] = values[at];
  row.more = JSON.parse(row.more as string);
  return JSON.stringify(row);
}

export const decode = decoder("task", (data): Task => {
  const row = JSON.parse(data);
  return toTask([row.no, row.project, row.id, ...names.map((name) => row[name] ?? null)], row.no);
});

export function* writes(keys: OrgKeys, { before, after }: Change<Task>): Generator<Write> {
  if (!after) return;
  yield { ...place(keys, after), data: encode(after) };
  const pointer = JSON.stringify([after.project, after.id]);
  for (const name of listNames) {
    const was = before !== undefined && lists[name](before);
    const is = lists[name](after);
    if (was !== is) yield { ...listPlace(keys, name, after.ordinal), data: is ? pointer : null };
  }
  const was = before?.parentId ?? null;
  const is = after.parentId;
  if (was === is) return;
  if (was !== null) yield { ...childOf(keys, after, was), data: null };
  if (is !== null) yield { ...childOf(keys, after, is), data: JSON.stringify(after.id) };
}

const childOf = (keys: OrgKeys, { project, ordinal }: Task, parentId: string): Place =>
  childPlace(keys, { project, id: parentId }, ordinal);

/** Without what is stored under it. */
export function* removal(keys: OrgKeys, task: Task): Generator<Write> {
  yield { ...place(keys, task), data: null };
  for (const name of listNames) {
    if (lists[name](task)) yield { ...listPlace(keys, name, task.ordinal), data: null };
  }
  if (task.parentId !== null) yield { ...childOf(keys, task, task.parentId), data: null };
}

/** That a task waits for another. */
export const dependency = (
  keys: OrgKeys,
  edge: { project: string; taskId: string; dependsOn: string },
  isAdded: boolean,
): Write => ({
  ...dependentPlace(keys, { project: edge.project, id: edge.dependsOn }, edge.taskId),
  data: isAdded ? JSON.stringify(edge.taskId) : null,
});

const ids = (reader: Reader, span: Span): string[] =>
  (reader.whole(span) ?? []).map(({ data }) => JSON.parse(data));

export const children = (keys: OrgKeys, reader: Reader, named: Named): string[] =>
  ids(reader, beginning(ofTask(keys, named, "CHILD#")));

export const dependents = (keys: OrgKeys, reader: Reader, named: Named): string[] =>
  ids(reader, beginning(ofTask(keys, named, "DEPENDENT#"))).sort();

export const find = (keys: OrgKeys, reader: Reader, named: Named): Task | undefined =>
  reader.row(place(keys, named), { decode });

/** Tasks of a list by their numbers, each as soon as it is known. */
function* listed(
  keys: OrgKeys,
  reader: Reader,
  span: Span,
  { descending, page }: { descending: boolean; page: number },
): Generator<Task> {
  const pointers = reader.scan(span, { descending, page });
  for (const some of pagesOf(pointers, page)) {
    const named = some.map(({ data }): Named => {
      const [project, id] = JSON.parse(data);
      return { project, id };
    });
    const tasks = named.map((each) => find(keys, reader, each));
    reader.settle();
    yield* tasks.filter((task) => task !== undefined);
  }
}

const pageOf = (limit: number): number => Math.min(Math.max(limit, 16), 500);

/** Which list has all tasks of a filter. */
function listFor({ states, queued }: TaskFilter): ListName {
  if (queued) return "OPEN";
  if (!states) return "NO";
  if (states.every((state) => state === "failed")) return "FAILED";
  return states.every((state) => state !== "completed" && state !== "cancelled" && state !== "failed")
    ? "OPEN"
    : "NO";
}

const heldOnly: readonly TaskState[] = ["claimed", "running"];

export function list(keys: OrgKeys, reader: Reader, claims: Claims, filter: TaskFilter): Task[] {
  const { afterOrdinal, beforeOrdinal, limit } = filter;
  const descending = beforeOrdinal !== undefined;
  const promptOf = (task: Task) => reader.row(text.place(keys, task), text.codec)?.prompt ?? "";
  const found: Task[] = [];
  for (const some of pagesOf(candidates(keys, reader, claims, filter, descending), pageOf(limit))) {
    const matching = some.filter((task) =>
      matchesTask(filter, task, claims.of(keyOf(task.project, task.id)), () => promptOf(task)),
    );
    // A prompt that is not known yet was guessed to be empty.
    reader.settle();
    found.push(...matching);
    if (found.length >= limit) break;
  }
  return found
    .filter(({ ordinal }) => ordinal > afterOrdinal)
    .sort((a, b) => (descending ? b.ordinal - a.ordinal : a.ordinal - b.ordinal))
    .slice(0, limit);
}

function* candidates(
  keys: OrgKeys,
  reader: Reader,
  claims: Claims,
  filter: TaskFilter,
  descending: boolean,
): Generator<Task> {
  const { states, parentId, project, afterOrdinal, beforeOrdinal = ordinalMax, limit } = filter;
  if (states?.every((state) => heldOnly.includes(state))) {
    yield* held(keys, reader, claims, descending);
    return;
  }
  if (parentId !== undefined && parentId !== null && project !== null) {
    const span = {
      ...childPlace(keys, { project, id: parentId }, 0),
      from: `CHILD#${ordered(afterOrdinal + 1)}`,
      to: `CHILD#${ordered(beforeOrdinal)}`,
    };
    const page = pageOf(limit);
    const pointers = reader.scan(span, { descending, page });
    for (const some of pagesOf(pointers, page)) {
      const tasks = some.map(({ data }) => find(keys, reader, { project, id: JSON.parse(data) }));
      reader.settle();
      yield* tasks.filter((task) => task !== undefined);
    }
    return;
  }
  const span = { ...wholeList(keys, listFor(filter), afterOrdinal), to: ordered(beforeOrdinal) };
  yield* listed(keys, reader, span, { descending, page: pageOf(limit) });
}

/** Few tasks are held: start from their claims. */
function* held(keys: OrgKeys, reader: Reader, claims: Claims, descending: boolean): Generator<Task> {
  const tasks = claims.all().map(({ project, taskId }) => find(keys, reader, { project, id: taskId }));
  reader.settle();
  const sign = descending ? -1 : 1;
  yield* tasks.filter((task) => task !== undefined).sort((a, b) => sign * (a.ordinal - b.ordinal));
}

const wholeList = (keys: OrgKeys, name: ListName, afterOrdinal = 0): Span => ({
  ...listPlace(keys, name, 0),
  from: following(ordered(afterOrdinal)),
  to: ordered(ordinalMax),
});

export const lost = (keys: OrgKeys, reader: Reader): Generator<Task> =>
  listed(keys, reader, wholeList(keys, "LOST"), { descending: false, page: 100 });

export function inOrder(
  keys: OrgKeys,
  reader: Reader,
  { afterOrdinal, limit }: Parameters<Lists["wholeTasks"]>[0],
): Task[] {
  const page = { descending: false, page: pageOf(limit) };
  return first(listed(keys, reader, wholeList(keys, "NO", afterOrdinal), page), limit);
}

export const isPlace = ({ table, sk }: Place): boolean => table === "tasks" && sk.startsWith("TASK#");

/** Where the parent and the dependencies of a task are, if it is known and can be read. */
export function linksOf(keys: OrgKeys, reader: Reader, at: Place): Place[] {
  const found = orUnreadable(() => reader.peek(at, { decode }));
  if (!found || found instanceof UnreadableRowError) return [];
  const { project, parentId, dependsOn } = found;
  const ids = parentId === null ? dependsOn : [...dependsOn, parentId];
  return ids.map((id) => place(keys, { project, id }));
}

/** For copies of everything. */
export const allLists = (keys: OrgKeys): Span[] => listNames.map((name) => wholeList(keys, name));
export const everyTask = (keys: OrgKeys): Span => wholeList(keys, "NO");

export function spanOfTask(keys: OrgKeys, { data }: Found): Span {
  const [project, id] = JSON.parse(data);
  return ownSpan(keys, { project, id });
}
