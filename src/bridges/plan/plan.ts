// A plan: a decomposition as someone wrote it, read into tasks with resolved references, before any of them exists.

import type { z } from "zod";

export type PlanFormat = "json" | "markdown" | "text";

export interface Plan {
  format: PlanFormat;
  /** In the order of the document. */
  tasks: PlannedTask[];
  /** What was left out, guessed or read generously. */
  notes: string[];
}

export interface PlannedTask {
  /** Its name within the plan: the author's number or id where that is unique, else `t1`, `t2`, … */
  key: string;
  /** By what it is known when the plan is loaded again. */
  identity: string;
  title: string;
  /** What the agent is told; always has the title in it or says it all by itself. */
  prompt: string;
  description?: string;
  type: "task" | "group";
  parentKey?: string;
  /** A parent that exists already. */
  parentId?: string;
  priority?: number;
  labels?: string[];
  files?: string[];
  assignee?: string;
  agentType?: string;
  requires?: string[];
  /** Units by the id of a resource. */
  uses?: Record<string, number>;
  phase?: string;
  maxRetries?: number;
  timeoutMs?: number;
  notBefore?: string | number;
  metadata?: Record<string, Json>;
  /** Keys of this plan. */
  dependsOn: string[];
  /** Ids of tasks that exist already. */
  dependsOnIds: string[];
  /** Ticked off: shown in the preview, not created. */
  done?: boolean;
  line: number;
}

export interface Problem {
  line: number;
  column: number;
  message: string;
  hint?: string;
}

export interface ReadOptions {
  format?: "auto" | PlanFormat;
  /** Its ending helps to detect the format. */
  fileName?: string;
  /** Tells ids of existing tasks from unknown titles. Of the generated form they are believed unless this says no. */
  exists?: (id: string) => boolean | undefined;
}

export type ReadResult = { ok: true; plan: Plan } | { ok: false; problems: Problem[] };

export type Json = z.core.util.JSONType;

/** A place in the document; both from 1. */
export interface At {
  line: number;
  column: number;
}

/** What a task waits for, in the author's words. */
export interface Reference {
  text: string;
  at: At;
  /** Several, separated by commas. */
  isList: boolean;
  /** It counts if all of it is found, and is no problem otherwise. The title gets `phrase` back, a note says so. */
  guess?: {
    phrase?: string;
    isSilent: boolean;
    /** Nothing but a dependency is meant: if none of it is found, that is a problem. */
    isFirm?: boolean;
  };
  /** `requires: X` is a dependency if X is a task, else a capability. */
  orCapability?: boolean;
  /** Read out of prose: it gives way where tasks would wait for each other. */
  isSoft?: boolean;
  /** The task that is meant, where that is known. */
  task?: RawTask;
}

/** A task as its format gave it: the values are read, the references are not. */
export interface RawTask {
  at: At;
  /** The author's number or id. */
  label?: string;
  parent?: RawTask;
  parentReference?: Reference;
  type: "task" | "group";
  title: string;
  /** The text of which the title is the beginning, where the author gave no title or one that is too long. */
  madeOf?: string;
  description: string;
  prompt?: string;
  done?: boolean;
  /** Done because it was cancelled. */
  isSkipped?: boolean;
  references: Reference[];
  /** `blocks: X`: tasks that wait for this one. */
  blocks?: Reference[];
  details: Details;
}

export type Details = Pick<
  PlannedTask,
  | "priority"
  | "labels"
  | "files"
  | "assignee"
  | "agentType"
  | "requires"
  | "uses"
  | "phase"
  | "maxRetries"
  | "timeoutMs"
  | "notBefore"
  | "metadata"
>;

/** The bounds of the server, which the contract does not tell one by one; a test compares them. */
export const bounds = { tasksMax: 10_000, depthMax: 32, titleLengthMax: 500, promptBytesMax: 256 * 1024 };

export function newTask(at: At, title = ""): RawTask {
  return { at, type: "task", title, description: "", references: [], details: {} };
}
