// What a decision changed, as whole new rows: a store writes them without knowing why.

import type { Attempt, Claim } from "./claim.js";
import type { DibsEvent, Notification } from "./event.js";
import type { Org, Project } from "./project.js";
import type { Session, SessionRecord } from "./session.js";
import type { Task, TaskText } from "./task.js";
import type { IdempotencyRecord } from "./view.js";

/** `project/id`; neither part contains a slash. */
export type Key = string;

/** Keys are made again and again for the same few rows; a string that exists already need not be hashed anew. */
const keys = new Map<string, Map<string, Key>>();
const keysMax = 1_000;
const last = { project: "", id: "", key: "/" };

export function keyOf(project: string, id: string): Key {
  if (id === last.id && project === last.project) return last.key;
  let ofProject = keys.get(project);
  if (!ofProject || ofProject.size > keysMax) {
    ofProject = new Map();
    if (keys.size > keysMax) keys.clear();
    keys.set(project, ofProject);
  }
  let key = ofProject.get(id);
  if (key === undefined) {
    key = `${project}/${id}`;
    ofProject.set(id, key);
  }
  last.project = project;
  last.id = id;
  last.key = key;
  return key;
}

export interface Counter {
  project: string;
  parent: string;
  value: number;
}

export interface Edge {
  project: string;
  taskId: string;
  dependsOn: string;
}

/** Something small of an org that only its own code looks into: a token, a lock, a log, a figure. Written whole. */
export interface Document {
  /** A word such as `token`, without a slash. */
  kind: string;
  key: string;
  /** JSON; null: removed. */
  value: Record<string, unknown> | null;
}

/** `kind/key`; a kind contains no slash. */
export const documentKey: (kind: string, key: string) => string = keyOf;

export interface Changes {
  /** If its `eventMin` is higher than before, the events below it go. */
  org: Org | null;
  projects: ReadonlyMap<string, Project>;
  tasks: ReadonlyMap<Key, Task>;
  /** Tasks that go, with their texts and attempts; nobody holds them and nothing hangs on them. */
  removed: ReadonlyMap<Key, Task>;
  texts: ReadonlyMap<Key, TaskText>;
  /** null: the claim was closed. */
  claims: ReadonlyMap<Key, Claim | null>;
  attempts: ReadonlyMap<Key, Attempt>;
  sessions: ReadonlyMap<Key, Session>;
  records: ReadonlyMap<Key, SessionRecord>;
  counters: ReadonlyMap<Key, Counter>;
  edgesAdded: readonly Edge[];
  edgesRemoved: readonly Edge[];
  notifications: ReadonlyMap<string, Notification>;
  documents: ReadonlyMap<string, Document>;
  events: readonly DibsEvent[];
  idempotency: IdempotencyRecord | null;
}

export function attemptKey(project: string, taskId: string, epoch: number): Key {
  return `${project}/${taskId}/${epoch}`;
}

const none: ReadonlyMap<string, never> = new Map<string, never>();

const nothing: Changes = {
  org: null,
  projects: none,
  tasks: none,
  removed: none,
  texts: none,
  claims: none,
  attempts: none,
  sessions: none,
  records: none,
  counters: none,
  edgesAdded: [],
  edgesRemoved: [],
  notifications: none,
  documents: none,
  events: [],
  idempotency: null,
};

export function noChanges(): Changes {
  return nothing;
}
