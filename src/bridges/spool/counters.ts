// The counters that scripts take ids from, kept in step with the store's own. `counters/global.NextId` holds the next id of the top
// level, `counters/0001.NextId` the number of the next child of 0001. Whoever changes one first renames it (`….claimed.<pid>`).
//
// A counter never points at an id that a task has. The store follows a counter as far as scripts have moved it, by reserving the ids
// in between: nobody else gets them, and the file which will come is the task of that id.

import { linkSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Dibs } from "../../client/client.js";
import { DibsError } from "../../contract/error.js";
import { isName, isPid, numberOf, parentIn, textOf } from "./names.js";
import { bounds, type SpoolMachine } from "./options.js";
import type { Tree } from "./tree.js";

export interface CounterOptions {
  dibs: Dibs;
  project: { project?: string };
  tree: Tree;
  machine: SpoolMachine;
  onOddity(path: string, problem: string): void;
}

interface Known {
  /** What the store would give next, as far as we know: not less. */
  storeNext: number;
  /** What the file said. */
  fileNext: number;
  /** Nothing is to be done unless the file changes, or the store makes such a task. */
  isInStep: boolean;
}

const global = "global";
const suffix = ".NextId";
/** So far the store follows a counter; what is further ahead is a mistake, and ids are never given back. */
const aheadMax = 10_000;
/** Ids reserved in one look. */
const stepsMax = 200;
const countersMax = 1_000;
const counterBytesMax = 100;

export class Counters {
  private readonly known = new Map<string, Known>();
  private readonly directory: string;
  private readonly memory: string;
  /** From an earlier run. */
  private remembered: Record<string, unknown> = {};
  private hasLearnt = false;

  constructor(private readonly options: CounterOptions) {
    this.directory = join(options.tree.root, "counters");
    this.memory = join(options.tree.notes, "counters.json");
    const reading = options.tree.read(this.memory, bounds.promptBytesMax);
    if (reading.ok) this.remembered = fieldsOf(reading.text);
  }

  /** Those that are new, changed or behind. */
  async poll(): Promise<void> {
    const { tree } = this.options;
    const files = tree.list(this.directory).filter(({ kind }) => kind === "file");
    this.freeDead(files.map(({ name }) => name));
    if (!files.some(({ name }) => name.startsWith(`${global}${suffix}`))) {
      tree.create(this.pathOf(global), "0001\n");
    }
    const counters = files.filter(({ name }) => name.endsWith(suffix)).slice(0, countersMax);
    const prefixes = new Set([global, ...counters.map(({ name }) => name.slice(0, -suffix.length))]);
    for (const prefix of prefixes) {
      if (isName(prefix)) await this.keepInStep(prefix);
      else this.options.onOddity(this.pathOf(prefix), "is no task's counter");
    }
    this.remember();
  }

  /** Before a task of that id is made: it is reserved, if the store's own counter is behind. */
  async makeWay(number: number): Promise<void> {
    const known = this.known.get(global);
    if (known) await this.reserveUpTo(global, known, number);
  }

  /** The store has made a task of this id. */
  noteTask(taskId: string): void {
    const number = numberOf(taskId);
    const known = this.known.get(number === null ? (parentIn(taskId) ?? "") : global);
    if (!known) return;
    known.isInStep = false;
    if (number !== null) known.storeNext = Math.max(known.storeNext, number + 1);
  }

  private pathOf(prefix: string): string {
    return join(this.directory, `${prefix}${suffix}`);
  }

  private async keepInStep(prefix: string): Promise<void> {
    const { onOddity } = this.options;
    const path = this.pathOf(prefix);
    const fileNext = this.read(path, prefix);
    if (fileNext === null) return;
    const known = this.known.get(prefix) ?? (await this.meet(prefix, fileNext));
    if (!known) return;
    if (fileNext === known.fileNext && known.isInStep) return;
    if (fileNext > known.fileNext) known.fileNext = fileNext;
    const free = await this.firstFree(prefix, Math.max(known.fileNext, known.storeNext));
    if (free === null) return;
    if (free > known.fileNext) known.storeNext = free;
    if (free > fileNext) return this.advance(path, prefix, free);
    if (fileNext - known.storeNext > aheadMax) {
      onOddity(path, `is more than ${aheadMax} ids ahead of the store, which does not follow it so far`);
      known.isInStep = true;
    } else {
      await this.reserveUpTo(prefix, known, fileNext - 1);
      known.isInStep = known.storeNext === fileNext;
    }
  }

  private async meet(prefix: string, fileNext: number): Promise<Known | null> {
    const before = this.remembered[prefix];
    const from = typeof before === "number" && Number.isSafeInteger(before) && before > 0 ? before : 1;
    const storeNext = await this.firstFree(prefix, from);
    if (storeNext === null) return null;
    const known = { storeNext, fileNext, isInStep: false };
    this.known.set(prefix, known);
    return known;
  }

  /** The first number from here whose id no task has: in growing steps, then by halves. Null: it is no task's counter. */
  private async firstFree(prefix: string, from: number): Promise<number | null> {
    const idOf = await this.idsOf(prefix);
    if (!idOf) return null;
    const isUsed = async (number: number) => {
      const taskId = idOf(number);
      return taskId !== null && (await this.taskOf(taskId)) !== null;
    };
    if (!(await isUsed(from))) return from;
    let step = 1;
    while (await isUsed(from + step)) step *= 2;
    let [used, free] = [from + Math.floor(step / 2), from + step];
    while (free - used > 1) {
      const middle = Math.floor((used + free) / 2);
      if (await isUsed(middle)) used = middle;
      else free = middle;
    }
    return free;
  }

  private async idsOf(prefix: string): Promise<((number: number) => string | null) | null> {
    if (prefix === global) return textOf;
    const task = await this.taskOf(prefix);
    if (!task) return null;
    return task.parentId === null ? (n) => `${prefix}_t${n}` : (n) => `${prefix}.${n}`;
  }

  private async taskOf(taskId: string) {
    const { dibs, project } = this.options;
    try {
      return (await dibs.tasks.get({ ...project, taskId })).task;
    } catch (error) {
      if (error instanceof DibsError && error.code === "TASK_NOT_FOUND") return null;
      throw error;
    }
  }

  private async reserveUpTo(prefix: string, known: Known, last: number): Promise<void> {
    const { dibs, project } = this.options;
    const parent = prefix === global ? {} : { parentId: prefix };
    if (last - known.storeNext > aheadMax) return;
    for (let steps = 0; known.storeNext <= last && steps < stepsMax; steps++) {
      const { id } = await dibs.ids.next({ ...project, ...parent });
      const given = prefix === global ? numberOf(id) : Number(/\d+$/.exec(id)?.[0] ?? 0);
      known.storeNext = Math.max(known.storeNext, given ?? 0) + 1;
      this.hasLearnt = true;
    }
  }

  /** Null if there is none just now, because somebody has it; or if it is none. */
  private read(path: string, prefix: string): number | null {
    const reading = this.options.tree.read(path, counterBytesMax);
    if (!reading.ok) {
      if (!reading.isGone) this.options.onOddity(path, reading.problem);
      return null;
    }
    const text = reading.text.trim();
    // Some scripts begin with 0000; and one may be just about to write.
    if (/^0*$/.test(text)) return text === "" ? null : 0;
    const number = prefix === global ? numberOf(text) : /^\d{1,9}$/.test(text) ? Number(text) : null;
    if (number === null) this.options.onOddity(path, `says ${JSON.stringify(text)}, which is no next id`);
    return number;
  }

  /** By the scripts' own protocol: who has renamed it owns it. */
  private advance(path: string, prefix: string, to: number): void {
    const { tree } = this.options;
    const claimed = `${path}.claimed.${process.pid}`;
    if (tree.move(path, claimed) !== "moved") return;
    const before = tree.read(claimed, counterBytesMax);
    const now = this.read(claimed, prefix);
    if (now === null || now >= to) {
      renameSync(claimed, path);
      return;
    }
    const width = before.ok ? before.text.trim().length : 1;
    const text = prefix === global ? textOf(to) : String(to).padStart(width, "0");
    tree.replace(path, `${text ?? "ZZZZ"}\n`);
    tree.forget(claimed);
  }

  /** A script that died with a counter in its hands would stop all others for ever. */
  private freeDead(files: readonly string[]): void {
    const { tree, machine } = this.options;
    for (const file of files) {
      const [, counter, pid] = /^(.+\.NextId)\.claimed\.(\d+)$/.exec(file) ?? [];
      if (counter === undefined || !isPid(Number(pid)) || machine.isAlive(Number(pid), null)) continue;
      const claimed = join(this.directory, file);
      if (!tree.read(claimed, counterBytesMax).ok) continue;
      try {
        linkSync(claimed, join(this.directory, counter));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      tree.forget(claimed);
    }
  }

  /** Reserved ids leave no trace in the store that could be asked for. */
  private remember(): void {
    if (!this.hasLearnt) return;
    this.hasLearnt = false;
    const next = Object.fromEntries([...this.known].map(([prefix, { storeNext }]) => [prefix, storeNext]));
    this.options.tree.replace(this.memory, `${JSON.stringify(next)}\n`);
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
