// What we wrote last, and what we wrote before: the third side of every decision. It lies beside the file and survives restarts.
//
// An editor saves what it read some time ago. The file carries the number of the write it is a copy of, so each task is compared
// with what that copy was made from, and what the store has changed since is not mistaken for an edit that takes it back.

import { createHash } from "node:crypto";
import { z } from "zod";
import {
  type Dialect,
  dialects,
  type Field,
  formerDialects,
  names,
  type Raw,
  type State,
} from "./dialect.js";
import { same } from "./fields.js";

interface Older {
  rev: number;
  /** What had another value then, and what was not there. */
  was: Raw;
  without: string[];
}

export interface BaseTask {
  /** The write that made it what it is, and the first one it was in. */
  rev: number;
  since: number;
  entry: Raw;
  /** What the file's words say less exactly. */
  priority: number;
  state: State;
  /** The newest first. */
  older: Older[];
}

export interface Base {
  /** For which project of which store. */
  owner: string;
  rev: number;
  /** The last event that is in it. */
  cursor: number;
  dialect: Dialect;
  tasks: Map<string, BaseTask>;
  /** Removed from the file, over in the store: they stay out. */
  omitted: Set<string>;
  /** Of the file's text. */
  digest: string;
}

const olderMax = 20;
const known = new Set<string>((Object.keys(names) as Field[]).flatMap((field) => [...names[field]]));

export const emptyBase = (owner: string, dialect: Dialect): Base => ({
  owner,
  rev: 0,
  cursor: 0,
  dialect,
  tasks: new Map(),
  omitted: new Set(),
  digest: "",
});

/** The base of one task as a copy of write `rev` had it; null if it was not in it. */
export function entryAt(task: BaseTask | undefined, rev: number): Raw | null {
  if (!task || rev < task.since) return null;
  let { entry } = task;
  if (rev >= task.rev) return entry;
  for (const { rev: until, was, without } of task.older) {
    entry = { ...entry, ...was };
    for (const key of without) delete entry[key];
    if (until <= rev) break;
  }
  return entry;
}

/** With what is written now on top of what was. */
export function advance(
  before: BaseTask | undefined,
  next: Pick<BaseTask, "entry" | "priority" | "state">,
  rev: number,
): BaseTask {
  if (!before) return { ...next, rev, since: rev, older: [] };
  const { entry, priority, state } = before;
  if (entry === next.entry && priority === next.priority && state === next.state) return before;
  const { was, without } = difference(before.entry, next.entry);
  if (Object.keys(was).length === 0 && without.length === 0) return { ...before, ...next };
  const older = [{ rev: before.rev, was, without }, ...before.older].slice(0, olderMax);
  return { ...next, rev, since: before.since, older };
}

function difference(before: Raw, after: Raw): { was: Raw; without: string[] } {
  const was: Raw = {};
  const without: string[] = [];
  for (const key of known) {
    if (Object.hasOwn(before, key)) {
      if (!Object.hasOwn(after, key) || !same(before[key], after[key])) was[key] = before[key];
    } else if (Object.hasOwn(after, key)) without.push(key);
  }
  return { was, without };
}

const compact = new WeakMap<Raw, string>();

/** What stands in the file is what we wrote there: the same object, so that nobody need look at it again. */
export function recognised(task: BaseTask | undefined, value: Raw): Raw {
  if (!task) return value;
  const text = compact.get(task.entry) ?? JSON.stringify(task.entry);
  compact.set(task.entry, text);
  return JSON.stringify(value) === text ? task.entry : value;
}

const raw = z.record(z.string(), z.unknown());
const shape = z.object({
  version: z.literal(1),
  owner: z.string(),
  rev: z.number().int().min(0),
  cursor: z.number().int().min(0),
  dialect: z.preprocess((name) => formerDialects[String(name)] ?? name, z.enum(dialects)),
  digest: z.string(),
  omitted: z.array(z.string()),
  tasks: z.array(
    z.tuple([
      z.string(),
      z.object({
        rev: z.number(),
        since: z.number(),
        entry: raw,
        priority: z.number(),
        state: z.enum([
          "queued",
          "claimed",
          "running",
          "awaiting_response",
          "completed",
          "failed",
          "cancelled",
        ] satisfies State[]),
        older: z.array(z.object({ rev: z.number(), was: raw, without: z.array(z.string()) })).max(olderMax),
      }),
    ]),
  ),
});

export const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

export function writeBase(base: Base, bytesMax: number): string {
  const text = baseText(base);
  if (text.length <= bytesMax) return text;
  for (const [id, task] of base.tasks) base.tasks.set(id, { ...task, older: [] });
  return baseText(base);
}

/** Most tasks are what they were at the last write. */
const written = new WeakMap<BaseTask, string>();

function baseText({ tasks, omitted, ...rest }: Base): string {
  const head = JSON.stringify({ version: 1, ...rest, omitted: [...omitted] });
  const lines = [...tasks].map(([id, task]) => {
    const text = written.get(task) ?? JSON.stringify(task);
    written.set(task, text);
    return `[${JSON.stringify(id)},${text}]`;
  });
  return `${head.slice(0, -1)},"tasks":[${lines.join(",")}]}`;
}

/** Null for what is none of ours: then everything in the file counts as an edit of the same age. */
export function readBase(text: string): Base | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const read = shape.safeParse(value);
  if (!read.success) return null;
  const { version: _, tasks, omitted, ...rest } = read.data;
  return { ...rest, tasks: new Map(tasks), omitted: new Set(omitted) };
}
