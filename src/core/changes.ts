// What a decision changed, as whole new rows: a store writes them without knowing why.

import type { Attempt, Claim } from "./claim.js";
import type { DibsEvent, Notification } from "./event.js";
import type { Org, Project } from "./project.js";
import type { Session } from "./session.js";
import type { Task, TaskText } from "./task.js";
import type { IdempotencyRecord } from "./view.js";

/** `project/id`; neither part contains a slash. */
export type Key = string;

export function keyOf(project: string, id: string): Key {
  return `${project}/${id}`;
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

export interface Changes {
  org: Org | null;
  projects: Map<string, Project>;
  tasks: Map<Key, Task>;
  texts: Map<Key, TaskText>;
  /** null: the claim was closed. */
  claims: Map<Key, Claim | null>;
  attempts: Map<Key, Attempt>;
  sessions: Map<Key, Session>;
  counters: Map<Key, Counter>;
  edgesAdded: Edge[];
  edgesRemoved: Edge[];
  notifications: Map<string, Notification>;
  events: DibsEvent[];
  idempotency: IdempotencyRecord | null;
}

export function attemptKey(project: string, taskId: string, epoch: number): Key {
  return `${project}/${taskId}/${epoch}`;
}

export function noChanges(): Changes {
  return {
    org: null,
    projects: new Map(),
    tasks: new Map(),
    texts: new Map(),
    claims: new Map(),
    attempts: new Map(),
    sessions: new Map(),
    counters: new Map(),
    edgesAdded: [],
    edgesRemoved: [],
    notifications: new Map(),
    events: [],
    idempotency: null,
  };
}

export function isEmpty(changes: Changes): boolean {
  return (
    changes.org === null &&
    changes.claims.size === 0 &&
    changes.attempts.size === 0 &&
    changes.sessions.size === 0 &&
    changes.counters.size === 0 &&
    changes.tasks.size === 0 &&
    changes.projects.size === 0 &&
    changes.notifications.size === 0 &&
    changes.idempotency === null
  );
}
