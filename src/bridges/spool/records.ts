// Records of held tasks, next to the task files: the claim of each file and the process that took it. A record is written
// before its file and removed after it, so that after a crash no file is assigned to another epoch.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DibsError } from "../../contract/error.js";
import type { Stage } from "./names.js";
import { bounds } from "./options.js";
import type { Tree } from "./tree.js";

/** One task that is held. */
export interface HeldRecord {
  /** Name of its directory. */
  name: string;
  taskId: string;
  sessionId: string;
  epoch: number;
  ttlMs: number;
  title: string;
  timeoutMs: number | null;
  /** A worker has moved its file on. */
  isTaken: boolean;
  pid: number | null;
  /** Start time of that process: pids are reused. */
  processStartedAt: string | null;
}

/** A file in the directory of a finished or released task: its outcome. */
export interface Mark {
  taskId: string;
  epoch: number;
  outcome: string;
}

const markFile = ".dibs.json";
const archives = ["completed", "stale"] as const;
const beforeBytesMax = 64 * 1024 * 1024;

export class Records {
  /** Part of the names of this spool's sessions. */
  readonly spoolId: string;
  /** Entries of `completed` and `stale` from before this spool existed. */
  private readonly before: ReadonlySet<string>;

  constructor(private readonly tree: Tree) {
    const path = join(tree.notes, "spool.json");
    if (!tree.stats(path)) {
      const before = archives.flatMap((stage) =>
        tree.list(tree.stage(stage)).map(({ name }) => `${stage}/${name}`),
      );
      tree.replace(path, `${JSON.stringify({ id: randomBytes(4).toString("hex"), before })}\n`);
    }
    const reading = tree.read(path, beforeBytesMax);
    const { id, before } = reading.ok ? fieldsOf(reading.text) : {};
    if (typeof id !== "string" || !/^[0-9a-f]{8}$/.test(id) || !Array.isArray(before)) {
      throw new DibsError("FORBIDDEN", `${path} ${reading.ok ? "is broken" : reading.problem}.`, {
        hint: "Remove it while .spool/held is empty: it is created again.",
      });
    }
    this.spoolId = id;
    this.before = new Set(before.map(String));
  }

  isHistory(stage: Stage, entry: string): boolean {
    return this.before.has(`${stage}/${entry}`);
  }

  /** All records. A broken one is reported and removed. */
  load(onBroken: (path: string, problem: string) => void): HeldRecord[] {
    const held: HeldRecord[] = [];
    for (const { name } of this.tree.list(join(this.tree.notes, "held"))) {
      const path = join(this.tree.notes, "held", name);
      const reading = this.tree.read(path, bounds.recordBytesMax);
      const record = reading.ok ? heldFrom(reading.text) : null;
      if (record && `${record.name}.json` === name) held.push(record);
      else {
        onBroken(path, reading.ok ? "is not a record" : reading.problem);
        this.tree.removeFile(path);
      }
    }
    return held;
  }

  write(held: HeldRecord): void {
    this.tree.replace(this.pathOf(held.name), `${JSON.stringify(held)}\n`);
  }

  remove(name: string): void {
    this.tree.forget(this.pathOf(name));
  }

  mark(directory: string, mark: Mark): void {
    const path = join(directory, markFile);
    if (this.tree.create(path, `${JSON.stringify(mark)}\n`)) return;
    this.tree.removeFile(path);
    this.tree.create(path, `${JSON.stringify(mark)}\n`);
  }

  markIn(directory: string): Mark | null {
    const reading = this.tree.read(join(directory, markFile), bounds.recordBytesMax);
    if (!reading.ok) return null;
    const { taskId, epoch, outcome } = fieldsOf(reading.text);
    if (typeof taskId !== "string" || !Number.isInteger(epoch)) return null;
    return { taskId, epoch: Number(epoch), outcome: String(outcome) };
  }

  unmark(directory: string): void {
    this.tree.removeFile(join(directory, markFile));
  }

  private pathOf(name: string): string {
    return join(this.tree.notes, "held", `${name}.json`);
  }
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function heldFrom(text: string): HeldRecord | null {
  const value = fieldsOf(text);
  const texts = [value.name, value.taskId, value.sessionId, value.title];
  const isWhole =
    texts.every((each) => typeof each === "string") &&
    Number.isInteger(value.epoch) &&
    Number.isFinite(value.ttlMs);
  if (!isWhole) return null;
  const { pid, timeoutMs, processStartedAt } = value;
  return {
    ...(value as unknown as HeldRecord),
    isTaken: value.isTaken === true,
    pid: Number.isInteger(pid) ? Number(pid) : null,
    timeoutMs: Number.isFinite(timeoutMs) ? Number(timeoutMs) : null,
    processStartedAt: typeof processStartedAt === "string" ? processStartedAt : null,
  };
}
