// What a process knows of one org: cached rows, overlaid with what the transaction has changed so far.

import { type Counter, type Document, type Edge, type Key, keyOf } from "../core/changes.js";
import type { Attempt } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import type { Session, SessionRecord } from "../core/session.js";
import type { Task } from "../core/task.js";
import type { IdempotencyRecord } from "../core/view.js";
import { KnownClaims } from "./known-claims.js";
import { KnownTexts } from "./known-texts.js";
import { ReadyQueue } from "./ready-queue.js";
import type { Chunk, Flush, Rows } from "./rows.js";
import { Table } from "./table.js";

/** Changes that are not rows of a table. */
export interface Pending {
  /** The org's row, if it has changed. */
  org: Org | null;
  newChildren: Map<Key, string[]>;
  /** Tasks that are deleted, as they were last. */
  removed: Map<Key, Task>;
  /** Dependencies added or removed, by `edgeKey`: the last change of each. */
  edges: Map<string, { edge: Edge; isAdded: boolean }>;
  keys: IdempotencyRecord[];
  events: DibsEvent[];
  archived: Flush["archived"];
  /** Projects whose order has changed. */
  reordered: Set<string>;
}

function nothingPending(): Pending {
  return {
    org: null,
    newChildren: new Map(),
    removed: new Map(),
    edges: new Map(),
    keys: [],
    events: [],
    archived: null,
    reordered: new Set(),
  };
}

export function edgeKey({ project, taskId, dependsOn }: Edge): string {
  return `${project}/${taskId}/${dependsOn}`;
}

/** `project/id`, `kind/key` and `project/id/epoch`: only the last part of a document's key can contain a slash. */
function split(key: Key): [string, string] {
  const slash = key.indexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}

const absentDocumentsMax = 100;
const rowsCachedMax = 50_000;

export class OrgTables {
  private orgRow: Org | null = null;
  readonly projects: Table<Project>;
  readonly tasks: Table<Task>;
  readonly texts: KnownTexts;
  readonly claims: KnownClaims;
  readonly attempts: Table<Attempt>;
  readonly sessions: Table<Session>;
  readonly records: Table<SessionRecord>;
  readonly counters: Table<Counter>;
  readonly notifications: Table<Notification>;
  readonly documents: Table<Document>;
  readonly queue: ReadyQueue;
  /** Tasks without dependents, as stored. */
  readonly free = new Set<Key>();
  pending = nothingPending();
  private readonly all: Pick<Table<unknown>, "size" | "dirtyCount" | "settle" | "undo" | "clear">[];

  constructor(readonly rows: Rows) {
    const ofTask =
      <T>(load: (task: Task) => T | undefined) =>
      (key: Key): T | undefined => {
        const task = this.tasks.get(key);
        return task && load(task);
      };
    this.projects = new Table(rows, (id) => rows.project(id));
    this.tasks = new Table(rows, (key) => rows.task(...split(key)));
    this.texts = new KnownTexts(
      rows,
      ofTask((task) => rows.text(task)),
    );
    this.claims = new KnownClaims(
      rows,
      ofTask((task) => rows.claim(task)),
    );
    this.attempts = new Table(rows, (key) => {
      const end = key.lastIndexOf("/");
      return ofTask((task) => rows.attempt(task, Number(key.slice(end + 1))))(key.slice(0, end));
    });
    this.sessions = new Table(rows, (key) => rows.session(...split(key)));
    this.records = new Table(rows, (key) => rows.record(...split(key)));
    this.counters = new Table(rows, (at) => {
      const [project, parent] = split(at);
      return { project, parent, value: rows.counter(project, parent) };
    });
    this.notifications = new Table(rows, (id) => rows.notification(id));
    this.documents = new Table(rows, (at) => {
      const [kind, key] = split(at);
      const value = rows.document(kind, key);
      return value && { kind, key, value };
    });
    this.all = [
      this.projects,
      this.tasks,
      this.texts.table,
      this.claims.table,
      this.attempts,
      this.sessions,
      this.records,
      this.counters,
      this.notifications,
      this.documents,
    ];
    this.queue = new ReadyQueue(
      {
        lanes: (project, prefix) => rows.ready.lanes(project, prefix),
        levels: (project, lane) => rows.ready.levels(project, lane),
        chunk: (...where) => this.keepChunk(where[0], rows.ready.chunk(...where)),
      },
      rows.canGuess,
    );
  }

  org(): Org {
    if (this.pending.org) return this.pending.org;
    this.orgRow ??= this.rows.org();
    return this.orgRow;
  }

  /** The tasks of a chunk are cached; a task in the queue has no claim, so none needs to be looked up. */
  private keepChunk(project: string, { entries, tasks }: Chunk): Chunk["entries"] {
    for (const { task, text, isFree } of tasks) {
      const key = keyOf(project, task.id);
      if (isFree) this.free.add(key);
      if (this.tasks.known(key) === null) this.tasks.keep(key, task);
      if (text) this.texts.keepNew(key, text);
    }
    for (const { id } of entries) {
      const key = keyOf(project, id);
      if (this.claims.table.known(key) === null) this.claims.table.keep(key, undefined);
    }
    return entries;
  }

  get isDirty(): boolean {
    const { org, keys, events, edges } = this.pending;
    if (org || keys.length + events.length + edges.size > 0) return true;
    return this.all.some((table) => table.dirtyCount > 0);
  }

  /** The changes are stored. */
  settle(): void {
    const { org, edges, reordered } = this.pending;
    this.orgRow = org ?? this.orgRow;
    for (const { edge } of edges.values()) this.free.delete(keyOf(edge.project, edge.dependsOn));
    this.claims.settle();
    for (const table of this.all) table.settle();
    this.queue.settle();
    for (const project of reordered) this.queue.forget(project);
    this.pending = nothingPending();
  }

  /** Forgets what is pending; what was read stays cached. */
  undo(): void {
    const created = this.tasks.changes().filter(({ before }) => before === undefined);
    this.claims.undo();
    for (const table of this.all) table.undo();
    // A new task was known to be unclaimed; one that was guessed to be absent may be claimed.
    for (const { key } of created) this.claims.table.forget(key);
    this.queue.undo();
    this.orgRow = null;
    this.pending = nothingPending();
  }

  /** Between transactions. */
  trim(ended: Iterable<Key>): void {
    this.attempts.clear();
    this.notifications.clear();
    // Documents can be large. That one is absent costs nothing to remember: every completion looks for a breaker.
    this.documents.keepAbsent(absentDocumentsMax);
    for (const key of ended) {
      this.texts.forget(key);
      this.tasks.forget(key);
      this.claims.table.forget(key);
      this.free.delete(key);
    }
    this.texts.trim();
    const size = this.all.reduce((sum, table) => sum + table.size, this.claims.size);
    if (size + this.queue.size + this.free.size > rowsCachedMax) this.clear();
  }

  clear(): void {
    for (const table of this.all) table.clear();
    this.texts.clear();
    this.claims.clear();
    this.orgRow = null;
    this.pending = nothingPending();
    this.free.clear();
    this.queue.clear();
  }
}
