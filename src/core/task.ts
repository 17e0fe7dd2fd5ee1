// A task holds what is true of it whoever works on it. While somebody holds it, its state, epoch and start are those
// of the open claim (claim.ts): so claiming, starting and renewing touch one small row and leave the task alone.

import type { Claim } from "./claim.js";
import type { TaskUsage } from "./cost.js";
import type { Landed, TaskSubmission } from "./landing.js";
import type { Uses } from "./resource.js";

export const taskStates = [
  "queued",
  "claimed",
  "running",
  "awaiting_response",
  "submitted",
  "completed",
  "failed",
  "cancelled",
] as const;
export type TaskState = (typeof taskStates)[number];

/** What a task can be in without a holder. */
export type RestingState = Exclude<TaskState, "claimed" | "running">;

export type TaskType = "task" | "group";

export interface Question {
  id: string;
  text: string;
  options?: string[];
  default?: string;
  askedAt: number;
  /** Asked by the lander, because the task was returned too often. */
  aboutLanding?: boolean;
}

export interface Task {
  project: string;
  id: string;
  type: TaskType;
  parentId: string | null;
  title: string;
  phase: string | null;
  state: RestingState;
  priority: number;
  labels: string[];
  files: string[];
  dependsOn: string[];
  assignee: string | null;
  agentType: string | null;
  requires: string[];
  uses: Uses;
  /** The exclusive paths of the project that its files meet. */
  scopes: string[];
  maxRetries: number;
  retryCount: number;
  lostCount: number;
  notBefore: number | null;
  timeoutMs: number | null;
  question: Question | null;
  response: string | null;
  /** The answer has not been acknowledged by an action of the holder yet: repeat it. */
  responsePending: boolean;
  error: string | null;
  correlationId: string;
  /** The epoch of the last closed claim; an open claim's is one higher. */
  epoch: number;
  createdAt: number;
  updatedAt: number;
  readyAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  createdBy: string;
  /** Distance from the top of its hierarchy. */
  depth: number;
  /** Its number under its parent, from the id counter; 0 for a supplied id. */
  sequence: number;
  /** Creation order within the org. */
  ordinal: number;
  pendingDeps: number;
  openChildren: number;
  completedChildren: number;
  /** The last one; null: nothing was ever submitted. */
  submission: TaskSubmission | null;
  landed: Landed | null;
  /** Completed by a submission that changed nothing. */
  noChange: boolean;
  /** How often submissions came back since a person was last asked. */
  returnCount: number;
  /** The sum of its attempts; null: nothing was reported. */
  usage: TaskUsage | null;
}

/** The long texts, kept apart so that a change of state does not rewrite them. */
export interface TaskText {
  prompt: string;
  description: string | null;
  metadata: Record<string, unknown> | null;
}

export interface TaskResult {
  output: string;
  filesCreated: string[];
  filesModified: string[];
  /** Where the work is, if it is in git. */
  branch?: string | undefined;
  commit?: string | undefined;
}

export function stateOf(task: Task, claim: Claim | undefined): TaskState {
  return claim ? claim.state : task.state;
}

export function epochOf(task: Task, claim: Claim | undefined): number {
  return claim ? claim.epoch : task.epoch;
}

export function isTerminal(state: TaskState): boolean {
  return state === "completed" || state === "failed" || state === "cancelled";
}

/** A parent waits for its open children. A failed child is open: it needs somebody. */
export function isOpenChild(state: TaskState): boolean {
  return state !== "completed" && state !== "cancelled";
}

/** Queued with nothing left to wait for but time and a fitting session. */
export function isReady(task: Task, claim: Claim | undefined): boolean {
  return (
    !claim &&
    task.state === "queued" &&
    task.type === "task" &&
    task.pendingDeps === 0 &&
    task.openChildren === 0
  );
}
