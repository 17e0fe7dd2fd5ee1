// Task files that nobody holds: somebody dropped them, and perhaps took them up, before we saw them. Each becomes a task of this
// agent, claimed at once under the name it has. What came back from `stale` or lies in `completed` with our mark is a task already.

import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { join } from "node:path";
import type { Dibs } from "../../client/client.js";
import { DibsError } from "../../contract/error.js";
import type { WireTask } from "../../contract/shapes.js";
import type { Counters } from "./counters.js";
import type { StageDirectories } from "./directories.js";
import { textOf } from "./holdings.js";
import { isTopLevel, numberOf, parentIn } from "./names.js";
import { bounds, type SpoolEvent } from "./options.js";
import type { Records } from "./records.js";
import type { ScanResult, SpoolFile } from "./scan.js";
import type { Claimed } from "./sessions.js";
import type { Settling } from "./settling.js";
import type { Tree } from "./tree.js";

export interface DropParts {
  dibs: Dibs;
  project: { project?: string };
  agent: string;
  tree: Tree;
  records: Records;
  directories: StageDirectories;
  settling: Settling;
  counters: Counters;
  report(event: SpoolEvent): void;
  onOddity(path: string, problem: string): void;
  claim(taskId: string): Promise<Claimed>;
  hold(name: string, claimed: Claimed): void;
}

/** Somebody else has it, or nobody may have it now. */
const notOurs: readonly string[] = ["TASK_ALREADY_CLAIMED", "TASK_NOT_CLAIMABLE", "TASK_NOT_FOUND"];
/** Another id, or no parent, may do. */
const elseways: readonly string[] = ["ID_TAKEN", "VALIDATION_FAILED", "INVALID_STATE", "TASK_NOT_FOUND"];

export class Drops {
  /** Files that cannot be tasks, as they were when that was said. */
  private readonly hopeless = new Map<string, number>();

  constructor(private readonly parts: DropParts) {}

  /** Whether anything was done about it. */
  async take(spoolFiles: readonly SpoolFile[]): Promise<boolean> {
    const spoolFile = spoolFiles.at(-1)!;
    const { records, directories } = this.parts;
    // A file alone in `stale` cannot say what became of it.
    const isMute = spoolFile.stage === "stale" && spoolFile.isLoose;
    if (isMute || !this.isReady(spoolFile)) return false;
    if (spoolFile.stage === "to_execute" && spoolFile.isLoose) return directories.intoDirectory(spoolFile);
    const mark = spoolFile.isLoose ? null : records.markIn(spoolFile.directory);
    return mark ? this.takeUpAgain(spoolFile, mark.taskId) : this.takeIn(spoolFile);
  }

  /** Also where it is complete for sure: ids are given in the order of the names of what came together. */
  private isReady(spoolFile: SpoolFile): boolean {
    const path = join(spoolFile.directory, spoolFile.file);
    return this.parts.settling.isSettled(path, this.parts.tree.stats(path));
  }

  private async takeIn(spoolFile: SpoolFile): Promise<boolean> {
    const { tree, onOddity, report } = this.parts;
    const path = join(spoolFile.directory, spoolFile.file);
    const reading = tree.read(path, bounds.promptBytesMax);
    if (!reading.ok || reading.text.trim() === "") {
      if (reading.ok || !reading.isGone) onOddity(path, reading.ok ? "is empty" : reading.problem);
      return false;
    }
    const { mtimeMs } = reading.stats;
    if (this.hopeless.get(path) === mtimeMs) return false;
    const key = this.keyOf(spoolFile.name, reading);
    const known = await this.sameTask(spoolFile.name, reading.text, key);
    if (known !== null) return this.takeUpAgain(spoolFile, known);
    const task = await this.create(spoolFile.name, reading.text, key, path);
    if (!task) {
      if (this.hopeless.size >= hopelessMax) this.hopeless.clear();
      this.hopeless.set(path, mtimeMs);
      return false;
    }
    report({
      type: "created",
      taskId: task.id,
      name: spoolFile.name,
      path: tree.shown(path),
      title: task.title,
    });
    if (spoolFile.stage === "stale") this.leaveInStale(spoolFile, task.id);
    else await this.claim(spoolFile, task.id, { isFresh: true });
    return true;
  }

  /** The same for the same file wherever it is moved, and another for the next one of its name. */
  private keyOf(name: string, { text, stats }: { text: string; stats: Stats }): string {
    const parts = [this.parts.records.spoolId, name, stats.ino, stats.mtimeMs, text];
    return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  }

  /** The name of the file that became this task, if it is among these. */
  fileOf({ metadata }: WireTask, spoolFiles: ScanResult["spoolFiles"]): string | null {
    const { name, key } = (metadata?.spool ?? {}) as { name?: unknown; key?: unknown };
    const spoolFile = typeof name === "string" ? spoolFiles.get(name)?.at(-1) : undefined;
    if (!spoolFile) return null;
    const reading = this.parts.tree.read(join(spoolFile.directory, spoolFile.file), bounds.promptBytesMax);
    return reading.ok && this.keyOf(spoolFile.name, reading) === key ? spoolFile.name : null;
  }

  /** Taken and found dead before we saw it: what is there is for inspection, and the task waits in the queue. */
  private leaveInStale(spoolFile: SpoolFile, taskId: string): void {
    this.parts.records.mark(spoolFile.directory, { taskId, epoch: 0, outcome: "stale" });
  }

  /** Laid out by us once, and somewhere else when we looked: not a second task. */
  private async sameTask(taskId: string, text: string, key: string): Promise<string | null> {
    const task = await this.taskOf(taskId);
    const isOfThisFile = (task?.metadata?.spool as { key?: unknown } | null | undefined)?.key === key;
    return task && !isOfThisFile && textOf(task) === text ? task.id : null;
  }

  private async taskOf(taskId: string): Promise<WireTask | null> {
    const { dibs, project } = this.parts;
    try {
      return (await dibs.tasks.get({ ...project, taskId })).task;
    } catch (error) {
      if (error instanceof DibsError && error.code === "TASK_NOT_FOUND") return null;
      throw error;
    }
  }

  /** Under its name if that can be an id; under its parent if the name tells of one that is open. */
  private async create(name: string, text: string, key: string, path: string): Promise<WireTask | null> {
    const { dibs, project, agent, counters, onOddity } = this.parts;
    const number = isTopLevel(name) ? numberOf(name) : null;
    if (number !== null) await counters.makeWay(number);
    const parent = parentIn(name);
    const id = { id: name };
    const task = { prompt: text, ...titleOf(text), agentType: agent, metadata: { spool: { name, key } } };
    const ways = [...(parent === null ? [] : [{ ...id, parentId: parent }]), id, {}];
    for (const [at, way] of ways.entries()) {
      try {
        const idempotencyKey = `spool-${key}-${at}`;
        const made = await dibs.tasks.create({ ...project, ...task, ...way }, { idempotencyKey });
        counters.noteTask(made.task.id);
        return made.task;
      } catch (error) {
        if (!(error instanceof DibsError)) throw error;
        const earlier = error.code === "ID_TAKEN" ? await this.madeEarlier(name, key) : null;
        if (earlier) return earlier;
        const isLast = at === ways.length - 1;
        if (!isLast && elseways.includes(error.code)) continue;
        if (!isLast || error.retryable) throw error;
        onOddity(path, `cannot be a task: ${error.message}`);
      }
    }
    return null;
  }

  /** By this very file, just before a crash. */
  private async madeEarlier(taskId: string, key: string): Promise<WireTask | null> {
    const task = await this.taskOf(taskId);
    return (task?.metadata?.spool as { key?: unknown } | null | undefined)?.key === key ? task : null;
  }

  /** A person brings it back for another try. Elsewhere than in `to_execute` nobody may have worked on it. */
  private async takeUpAgain(spoolFile: SpoolFile, taskId: string): Promise<boolean> {
    const { dibs, project } = this.parts;
    if (spoolFile.stage !== "to_execute") {
      this.refuse(spoolFile, taskId, "it was not held by this spool when it was moved");
      return true;
    }
    try {
      const { task } = await dibs.tasks.get({ ...project, taskId });
      if (task.state === "failed" || task.state === "cancelled")
        await dibs.tasks.retry({ ...project, taskId });
    } catch (error) {
      if (!(error instanceof DibsError) || error.retryable) throw error;
      this.refuse(spoolFile, taskId, error.message);
      return true;
    }
    await this.claim(spoolFile, taskId);
    return true;
  }

  /** If it cannot be had, its file does not stay where a worker would take it: it is in the queue, or somebody else's. */
  private async claim(spoolFile: SpoolFile, taskId: string, { isFresh = false } = {}): Promise<boolean> {
    const { hold, claim, directories } = this.parts;
    try {
      const claimed = await claim(taskId);
      if (spoolFile.stage !== "completed") directories.putAside(spoolFile.name);
      hold(spoolFile.name, claimed);
      return true;
    } catch (error) {
      if (!(error instanceof DibsError) || !notOurs.includes(error.code)) throw error;
      if (isFresh && spoolFile.stage === "to_execute") directories.withdraw(spoolFile);
      else this.refuse(spoolFile, taskId, error.message);
      return false;
    }
  }

  private refuse(spoolFile: SpoolFile, taskId: string, reason: string): void {
    const { directories, tree, report } = this.parts;
    if (spoolFile.stage === "stale") {
      this.leaveInStale(spoolFile, taskId);
      return;
    }
    const path = directories.toStale(spoolFile, { taskId, epoch: 0, outcome: "refused" });
    report({ type: "lost", taskId, name: spoolFile.name, reason, path: path && tree.shown(path) });
  }
}

const hopelessMax = 1_000;
const titleLengthMax = 50;

/** The first line, where it is a heading; else the store makes one. */
function titleOf(text: string): { title?: string } {
  const [first = ""] = text.trimStart().split("\n", 1);
  const heading = /^#{1,6}\s+(.+?)[\s#]*$/.exec(first)?.[1]?.trim();
  if (!heading) return {};
  const isLong = heading.length > titleLengthMax;
  return { title: isLong ? `${heading.slice(0, titleLengthMax - 3).toWellFormed()}...` : heading };
}
