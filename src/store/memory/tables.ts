import { type Changes, type Key, keyOf } from "../../core/changes.js";
import type { Attempt, Claim } from "../../core/claim.js";
import type { DibsEvent, Notification } from "../../core/event.js";
import type { Org, Project } from "../../core/project.js";
import type { Session, SessionRecord } from "../../core/session.js";
import type { Task, TaskText } from "../../core/task.js";
import type { DocumentValue, IdempotencyRecord } from "../../core/view.js";

interface MemoryDocument {
  kind: string;
  key: string;
  value: DocumentValue;
}

export interface MemoryOrg {
  org: Org;
  projects: Map<string, Project>;
  tasks: Map<Key, Task>;
  texts: Map<Key, TaskText>;
  claims: Map<Key, Claim>;
  attempts: Map<Key, Attempt>;
  sessions: Map<Key, Session>;
  records: Map<Key, SessionRecord>;
  counters: Map<Key, number>;
  notifications: Map<string, Notification>;
  events: DibsEvent[];
  idempotency: Map<string, IdempotencyRecord>;
  documents: Map<string, MemoryDocument>;
  writes: number;
}

/** The tables of a new org. */
export function tablesOf(org: Org, project: Project): MemoryOrg {
  return {
    org,
    projects: new Map([[project.id, project]]),
    tasks: new Map(),
    texts: new Map(),
    claims: new Map(),
    attempts: new Map(),
    sessions: new Map(),
    records: new Map(),
    counters: new Map(),
    notifications: new Map(),
    events: [],
    idempotency: new Map(),
    documents: new Map(),
    writes: 0,
  };
}

/** The rows as they are now: nobody changes a row, only puts another in its place. */
export function copyOf(tables: MemoryOrg): MemoryOrg {
  return {
    ...tables,
    projects: new Map(tables.projects),
    tasks: new Map(tables.tasks),
    texts: new Map(tables.texts),
    claims: new Map(tables.claims),
    attempts: new Map(tables.attempts),
    sessions: new Map(tables.sessions),
    records: new Map(tables.records),
    counters: new Map(tables.counters),
    notifications: new Map(tables.notifications),
    events: [...tables.events],
    idempotency: new Map(tables.idempotency),
    documents: new Map(tables.documents),
  };
}

function setAll<K, V>(into: Map<K, V>, from: Iterable<[K, V | null]>, undo: (() => void)[]): number {
  let count = 0;
  for (const [key, value] of from) {
    const before = into.get(key);
    undo.push(() => (before === undefined ? into.delete(key) : into.set(key, before)));
    if (value === null) into.delete(key);
    else into.set(key, value);
    count++;
  }
  return count;
}

/** Tasks, with what is stored under them. */
function remove(tables: MemoryOrg, removed: Changes["removed"], undo: (() => void)[]): number {
  if (removed.size === 0) return 0;
  const isGone = ({ project, taskId }: Attempt) => removed.has(keyOf(project, taskId));
  const attempts = [...tables.attempts].filter(([, attempt]) => isGone(attempt)).map(([key]) => key);
  const absent = (keys: Iterable<Key>) => [...keys].map((key): [Key, null] => [key, null]);
  return (
    setAll(tables.tasks, absent(removed.keys()), undo) +
    setAll(tables.texts, absent(removed.keys()), undo) +
    setAll(tables.attempts, absent(attempts), undo)
  );
}

/** Applies the changes and notes how to undo them. Edges need no table: each task names its dependencies. */
export function put(tables: MemoryOrg, changes: Changes, undo: (() => void)[]): void {
  const counters = new Map([...changes.counters].map(([key, { value }]) => [key, value]));
  const keys = new Map(changes.idempotency ? [[changes.idempotency.key, changes.idempotency]] : []);
  const documents = [...changes.documents].map(
    ([at, { kind, key, value }]): [string, MemoryDocument | null] => [at, value && { kind, key, value }],
  );
  const count =
    setAll(tables.projects, changes.projects, undo) +
    setAll(tables.tasks, changes.tasks, undo) +
    setAll(tables.texts, changes.texts, undo) +
    setAll(tables.claims, changes.claims, undo) +
    setAll(tables.attempts, changes.attempts, undo) +
    setAll(tables.sessions, changes.sessions, undo) +
    setAll(tables.records, changes.records, undo) +
    setAll(tables.counters, counters, undo) +
    setAll(tables.notifications, changes.notifications, undo) +
    setAll(tables.idempotency, keys, undo) +
    setAll(tables.documents, documents, undo) +
    remove(tables, changes.removed, undo);
  const { org, writes } = tables;
  const { events } = tables;
  const eventCount = events.length;
  undo.push(() => {
    tables.org = org;
    tables.writes = writes;
    tables.events = events;
    events.length = eventCount;
  });
  tables.org = changes.org ?? org;
  const { eventMin } = tables.org;
  if (eventMin > org.eventMin) tables.events = events.filter(({ seq }) => seq >= eventMin);
  for (const event of changes.events) tables.events.push(event);
  tables.writes += count + changes.events.length;
}
