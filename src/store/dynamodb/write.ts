// Everything a transaction changed, as items. What it must know of the stored rows is looked up like in a run.

import { type Key, keyOf } from "../../core/changes.js";
import type { Claim } from "../../core/claim.js";
import { type ReadyEntry, readyEntries, unlabelledLanes } from "../../core/ready.js";
import { isReady, type Task } from "../../core/task.js";
import type { Flush } from "../rows.js";
import type { Claims } from "./claims.js";
import { nameOf, type Place, type Write } from "./items.js";
import type { OrgKeys } from "./keys.js";
import type { Reader } from "./reader.js";
import * as attempt from "./tables/attempt.js";
import * as claim from "./tables/claim.js";
import * as count from "./tables/count.js";
import * as counter from "./tables/counter.js";
import * as document from "./tables/document.js";
import * as event from "./tables/event.js";
import * as idempotency from "./tables/idempotency.js";
import * as notification from "./tables/notification.js";
import * as orgs from "./tables/org.js";
import * as project from "./tables/project.js";
import * as ready from "./tables/ready.js";
import * as record from "./tables/record.js";
import * as session from "./tables/session.js";
import * as task from "./tables/task.js";
import * as text from "./tables/text.js";

export interface Stored {
  keys: OrgKeys;
  reader: Reader;
  claims: Claims;
  /** The service's time. */
  now: number;
}

/** The last write of each item. */
class Writes {
  private readonly byName = new Map<string, Write>();

  add(...writes: Write[]): void {
    for (const write of writes) this.byName.set(nameOf(write), write);
  }

  /** Everything in a partition or span that was found. */
  delete(place: Pick<Place, "table" | "pk">, found: readonly { sk: string }[]): void {
    for (const { sk } of found) this.add({ table: place.table, pk: place.pk, sk, data: null });
  }

  get all(): Write[] {
    return [...this.byName.values()];
  }
}

export function writesOf(stored: Stored, pending: Flush): Write[] {
  const { keys, reader, now } = stored;
  const flush = { ...pending, removed: [...pending.removed] };
  const writes = new Writes();
  if (flush.org) writes.add(orgs.write(keys, flush.org));
  for (const each of flush.projects) writes.add(project.write(keys, each));
  const changes = new TaskChanges(stored, flush);
  for (const change of flush.tasks) writes.add(...task.writes(keys, change));
  for (const each of flush.texts) writes.add(text.write(keys, each.task, each.row));
  for (const { row } of flush.claims) {
    const either = row.after ?? row.before;
    if (either) writes.add(claim.write(keys, either, row.after));
  }
  for (const { row } of flush.attempts) if (row.after) writes.add(attempt.write(keys, row.after));
  for (const each of flush.sessions) writes.add(session.write(keys, each));
  for (const each of flush.records) writes.add(record.write(keys, each));
  for (const each of flush.counters) writes.add(counter.write(keys, each));
  for (const each of flush.documents) writes.add(document.write(keys, each));
  for (const each of flush.notifications) writes.add(notification.write(keys, each));
  for (const each of flush.idempotency) writes.add(idempotency.write(keys, each, now));
  for (const { edge, isAdded } of flush.edges) writes.add(task.dependency(keys, edge, isAdded));
  writes.add(
    ...event.writes(
      keys,
      [...flush.events].map(({ row }) => row),
    ),
  );
  if (flush.archived) {
    const span = event.archivedSpan(keys, flush.archived);
    writes.delete(span, [...reader.scan(span, { page: 1_000 })]);
  }
  for (const each of flush.removed) remove(stored, writes, each);
  queue(stored, writes, flush, changes);
  counts(stored, writes, flush, changes);
  return writes.all;
}

/** A task with all that is stored under it. */
function remove({ keys, reader }: Stored, writes: Writes, removed: Task): void {
  const before = task.find(keys, reader, removed);
  if (before) writes.add(...task.removal(keys, before));
  const span = task.ownSpan(keys, removed);
  writes.delete(span, reader.whole(span) ?? []);
  // What this transaction has added to it.
  writes.delete(
    span,
    writes.all.filter(({ table, pk }) => table === span.table && pk === span.pk),
  );
}

/** Tasks before and after, with their claims. */
class TaskChanges {
  private readonly tasks = new Map<Key, Task | undefined>();
  private readonly heldBy = new Map<Key, Claim | undefined>();
  /** Each with its project and id. */
  readonly keys = new Map<Key, { project: string; id: string }>();

  constructor(
    private readonly stored: Stored,
    flush: Flush,
  ) {
    for (const { before, after } of flush.tasks) {
      const either = after ?? before;
      if (either) this.tasks.set(this.note(either), after);
    }
    for (const removed of flush.removed) this.tasks.set(this.note(removed), undefined);
    for (const { row } of flush.claims) {
      const either = row.after ?? row.before;
      if (either) this.heldBy.set(this.note({ project: either.project, id: either.taskId }), row.after);
    }
  }

  private note({ project, id }: { project: string; id: string }): Key {
    const key = keyOf(project, id);
    this.keys.set(key, { project, id });
    return key;
  }

  before(key: Key): Task | undefined {
    const { keys, reader } = this.stored;
    return task.find(keys, reader, this.keys.get(key)!);
  }

  after(key: Key): { task: Task | undefined; claim: Claim | undefined } {
    const { keys, reader, claims } = this.stored;
    return {
      task: this.tasks.has(key) ? this.tasks.get(key) : task.find(keys, reader, this.keys.get(key)!),
      claim: this.heldBy.has(key) ? this.heldBy.get(key) : claims.of(key),
    };
  }

  /** A task that is not changed can be looked up, too. */
  look(project: string, id: string) {
    return this.after(this.note({ project, id }));
  }
}

function queue(stored: Stored, writes: Writes, flush: Flush, changes: TaskChanges): void {
  const { keys, reader } = stored;
  const lanes = new Map<string, { project: string; lane: ready.Lane }>();
  const laneOf = (of: string, { lane }: ReadyEntry): ready.Lane => {
    const name = `${of}/${lane}`;
    let known = lanes.get(name);
    if (!known) {
      const found = reader.row(ready.lanePlace(keys, of, lane), { decode: ready.decodeLane });
      // Rows are shared: the copy is counted in.
      known = { project: of, lane: found ? { ...found, levels: { ...found.levels } } : ready.newLane(lane) };
      lanes.set(name, known);
    }
    return known.lane;
  };
  const move = (of: string, entry: ReadyEntry, by: 1 | -1) => {
    writes.add(ready.write(keys, of, entry, by > 0));
    ready.countRow(laneOf(of, entry), entry, by);
  };
  for (const { project: of, entry } of flush.leftQueue) move(of, entry, -1);
  for (const { project: of, entry } of flush.joinedQueue) move(of, entry, 1);
  for (const of of flush.reordered) rebuild(stored, of, flush, changes, move);
  for (const { project: of, lane } of lanes.values()) writes.add(ready.laneWrite(keys, of, lane));
}

/** Writes the queue of a project again: its order has changed. */
function rebuild(
  { keys, reader }: Stored,
  of: string,
  flush: Flush,
  changes: TaskChanges,
  move: (project: string, entry: ReadyEntry, by: 1 | -1) => void,
): void {
  const changed = [...flush.projects].find(({ id }) => id === of)!;
  const ids = new Set([...changes.keys.values()].filter(({ project }) => project === of).map(({ id }) => id));
  const { from, to } = unlabelledLanes;
  for (const { lane } of ready.lanes(keys, reader, of)) {
    for (const entry of ready.rowsOf(keys, reader, of, lane)) {
      move(of, entry, -1);
      if (lane >= from && lane < to) ids.add(entry.id);
    }
  }
  for (const id of ids) {
    const { task: found, claim: held } = changes.look(of, id);
    if (!found || !isReady(found, held)) continue;
    for (const entry of readyEntries(found, changed.settings.order)) move(of, entry, 1);
  }
}

function counts({ keys, reader }: Stored, writes: Writes, flush: Flush, changes: TaskChanges): void {
  const byProject = new Map<string, count.Counts>();
  const countsOf = (of: string): count.Counts => {
    let known = byProject.get(of);
    if (!known) {
      known = reader.row(count.place(keys, of), count) ?? count.none();
      byProject.set(of, known);
    }
    return known;
  };
  for (const [key, { project: of }] of changes.keys) {
    const [before, after] = [changes.before(key), changes.after(key).task];
    if (before?.state === after?.state && before?.type === after?.type) continue;
    if (before) count.count(countsOf(of), before, -1);
    if (after) count.count(countsOf(of), after, 1);
  }
  for (const each of flush.notifications) {
    const before = reader.row(notification.place(keys, each.id), notification.codec);
    const isUnread = (row: typeof before) => (row && row.readAt === null ? 1 : 0);
    countsOf(each.project).unread += isUnread(each) - isUnread(before);
  }
  for (const [of, sum] of byProject) writes.add(count.write(keys, of, sum));
}
