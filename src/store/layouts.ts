// Tables that look the same in every SQL database.

import type { Counter } from "../core/changes.js";
import type { Notification } from "../core/event.js";
import type { Org } from "../core/project.js";
import type { ReadyEntry } from "../core/ready.js";
import type { IdempotencyRecord } from "../core/view.js";
import { Layout, type Row } from "./columns.js";
import type { DueClaim } from "./rows.js";

export const orgLayout = new Layout<Org>({
  org: "org",
  eventSeq: "event_seq",
  eventMin: "event_min",
  ordinal: "ordinal",
  notificationSeq: "notification_seq",
  lastAt: "last_at",
  highestAt: "highest_at",
  defaultProject: "default_project",
  createdAt: "created_at",
});

/** -1 for an id that is none. */
export const notificationNumber = (id: string): number => Number(/^n([1-9]\d{0,14})$/.exec(id)?.[1] ?? -1);

export const notificationLayout = new Layout<Notification>({
  id: {
    column: "number",
    encode: notificationNumber,
    decode: (number: number) => `n${number}`,
  },
  type: "type",
  severity: "severity",
  title: "title",
  message: "message",
  taskId: "task_id",
  project: "project",
  createdAt: "created_at",
  readAt: "read_at",
});

export const counterLayout = new Layout<Counter>({ project: "project", parent: "parent", value: "value" });

export const idempotencyLayout = new Layout<IdempotencyRecord>({
  key: "key",
  request: "request",
  answer: "answer",
  createdAt: "created_at",
});

export const readyLayout = new Layout<ReadyEntry>({
  lane: "lane",
  level: "level",
  k1: "k1",
  k2: "k2",
  id: "id",
  notBefore: "not_before",
});

export const dueColumns = "project, task_id, due_at";
export const toDueClaim = ([project, taskId, dueAt]: Row): DueClaim => ({ project, taskId, dueAt });
