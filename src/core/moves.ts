// How an event moved its task. Most types say it by themselves; `data.from` and `data.to` say what they do not.

import type { DibsEvent, EventType } from "./event.js";
import { type TaskState, taskStates } from "./task.js";

export interface Move {
  /** null: the task is new. */
  from: TaskState | null;
  /** null: the task was archived. */
  to: TaskState | null;
}

/**
 * What is not here must be in the data. A release and a lost claim move the task only if their data says so: a task that waits
 * for an answer goes on waiting, and where it ends, the next event tells.
 */
const usual: { [T in EventType]?: Partial<Move> } = {
  "task:queued": { from: null, to: "queued" },
  "task:claimed": { from: "queued", to: "claimed" },
  "task:started": { from: "claimed", to: "running" },
  "task:awaiting-response": { from: "running", to: "awaiting_response" },
  "task:response-received": { from: "awaiting_response", to: "running" },
  "task:submitted": { from: "running", to: "submitted" },
  "task:returned": { from: "submitted" },
  "task:withdrawn": { from: "submitted", to: "queued" },
  "task:completed": { from: "running", to: "completed" },
  "task:failed": { to: "failed" },
  "task:retry-scheduled": { to: "queued" },
  "task:retried": { to: "queued" },
  "task:cancelled": { to: "cancelled" },
  "task:released": {},
  "task:claim-expired": {},
  "task:claim-orphaned": {},
};

const states: ReadonlySet<unknown> = new Set(taskStates);

/** The task is gone; its last event says so. */
export function isArchival({ type, data }: Pick<DibsEvent, "type" | "data">): boolean {
  return type === "task:updated" && data.archived === true;
}

export function moveOf(event: DibsEvent): Move | null {
  const { type, data } = event;
  if (isArchival(event)) return states.has(data.from) ? { from: data.from as TaskState, to: null } : null;
  const move = usual[type];
  if (!move) return null;
  const from = states.has(data.from) ? (data.from as TaskState) : move.from;
  const to = states.has(data.to) ? (data.to as TaskState) : move.to;
  return from === undefined || to === undefined ? null : { from, to };
}

/** Written before events told how they moved their tasks: what happened cannot be told from it. */
export function isUntold(event: DibsEvent): boolean {
  const move = usual[event.type];
  if (move?.to !== undefined && moveOf(event) === null) return true;
  return event.type === "task:claimed" && typeof event.data.waitedMs !== "number";
}
