// All tasks that this spool holds: claims them, records them and places their files.

import type { Dibs } from "../../client/client.js";
import type { WireTask } from "../../contract/shapes.js";
import type { StageDirectories } from "./directories.js";
import { type Hold, holdOf, isWaiting } from "./hold.js";
import { bounds, type SpoolEvent } from "./options.js";
import type { Records } from "./records.js";
import type { Claimed, SpoolSessions } from "./sessions.js";

export interface HoldingParts {
  dibs: Dibs;
  project: { project?: string };
  records: Records;
  directories: StageDirectories;
  sessions: SpoolSessions;
  now(): number;
  report(event: SpoolEvent): void;
  onOddity(path: string, problem: string): void;
  /** The name of the dropped file that this task was created from, if it still exists. */
  fileOf(task: WireTask): string | null;
  /** Entries of that name in `completed` and `stale` are its own from now on. */
  unsettle(name: string): void;
  onTrouble(error: unknown): void;
}

export class Holdings {
  private readonly byName = new Map<string, Hold>();

  constructor(private readonly parts: HoldingParts) {}

  get all(): Hold[] {
    return [...this.byName.values()];
  }

  get size(): number {
    return this.byName.size;
  }

  get isFull(): boolean {
    return this.byName.size >= bounds.heldMax;
  }

  get waitingCount(): number {
    return this.all.filter(isWaiting).length;
  }

  get sessionIds(): Set<string> {
    return new Set(this.all.map(({ record }) => record.sessionId));
  }

  has(name: string): boolean {
    return this.byName.has(name);
  }

  drop({ record }: Hold): void {
    this.byName.delete(record.name);
  }

  freeSession(): string {
    return this.parts.sessions.free(this.sessionIds);
  }

  /** Tasks held by the last run. */
  load(): void {
    const { records, now, onOddity } = this.parts;
    for (const record of records.load(onOddity)) {
      this.byName.set(record.name, holdOf(record, this.parts, { askedAt: now(), isKnown: true }));
    }
  }

  /** Places claims without a record: the answer was lost, or the process was killed before it wrote the record. */
  async findStrays(): Promise<void> {
    const known = new Set(this.all.map(({ record }) => `${record.taskId} ${record.epoch}`));
    for (const claimed of await this.parts.sessions.held()) {
      const { task, claim } = claimed;
      if (known.has(`${task.id} ${claim.epoch}`)) continue;
      this.place(claimed);
    }
  }

  /** For a task whose file exists. */
  hold(name: string, { claim, task, askedAt }: Claimed): Hold {
    const { records, unsettle } = this.parts;
    const { sessionId, epoch, ttlMs } = claim;
    const record = {
      name,
      taskId: task.id,
      sessionId,
      epoch,
      ttlMs,
      title: task.title,
      timeoutMs: task.timeoutMs,
      isTaken: false,
      pid: null,
      processStartedAt: null,
    };
    records.write(record);
    unsettle(name);
    const hold = holdOf(record, this.parts, { askedAt, isKnown: false });
    this.byName.set(name, hold);
    return hold;
  }

  /** Creates the file, unless the file that the task was created from still exists. */
  place(claimed: Claimed): void {
    const own = this.parts.fileOf(claimed.task);
    if (own !== null && !this.has(own)) {
      this.hold(own, claimed);
      return;
    }
    const name = this.parts.directories.freeName(claimed.task.id, (each) => this.has(each));
    this.placeFile(this.hold(name, claimed), claimed.task);
  }

  /** Creates the file again after it was withdrawn. */
  async placeFileAgain(hold: Hold): Promise<void> {
    const { dibs, project } = this.parts;
    const { task } = await dibs.tasks.get({ ...project, taskId: hold.record.taskId });
    this.placeFile(hold, task);
  }

  private placeFile(hold: Hold, task: WireTask): void {
    const { taskId, name, epoch, title } = hold.record;
    hold.isWithdrawn = !this.parts.directories.place(hold.record, textOf(task));
    if (!hold.isWithdrawn) this.parts.report({ type: "placed", taskId, name, epoch, title });
  }
}

/** The text of the task file. */
export function textOf({ prompt, response }: Pick<WireTask, "prompt" | "response">): string {
  const text = prompt.endsWith("\n") ? prompt : `${prompt}\n`;
  return response === null ? text : `${text}\nAnswer to the question that was asked: ${response}\n`;
}
