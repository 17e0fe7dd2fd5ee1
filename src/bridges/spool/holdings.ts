// All tasks that this spool holds: how they come to be held, written down, and put where workers find them.

import type { Dibs } from "../../client/client.js";
import type { WireTask } from "../../contract/shapes.js";
import { type Hold, holdOf, isWaiting } from "./hold.js";
import type { Ledger } from "./ledger.js";
import { bounds, type Happening } from "./options.js";
import type { Shelf } from "./shelf.js";
import type { Claimed, Slots } from "./slots.js";

export interface HoldingParts {
  dibs: Dibs;
  project: { project?: string };
  ledger: Ledger;
  shelf: Shelf;
  slots: Slots;
  now(): number;
  tell(happening: Happening): void;
  onOddity(path: string, problem: string): void;
  /** The name of the dropped file that became this task, if it is still there. */
  fileOf(task: WireTask): string | null;
  /** What lies in `completed` and `stale` under that name from now on is its own. */
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

  get sessions(): Set<string> {
    return new Set(this.all.map(({ record }) => record.sessionId));
  }

  has(name: string): boolean {
    return this.byName.has(name);
  }

  drop({ record }: Hold): void {
    this.byName.delete(record.name);
  }

  freeSession(): string {
    return this.parts.slots.free(this.sessions);
  }

  /** What was held when this spool last ran. */
  load(): void {
    const { ledger, now, onOddity } = this.parts;
    for (const record of ledger.load(onOddity)) {
      this.byName.set(record.name, holdOf(record, this.parts, { askedAt: now(), isKnown: true }));
    }
  }

  /** Claims of ours without a record: the answer was lost, or we were killed before it was written down. */
  async findStrays(): Promise<void> {
    const known = new Set(this.all.map(({ record }) => `${record.taskId} ${record.epoch}`));
    for (const claimed of await this.parts.slots.held()) {
      const { task, claim } = claimed;
      if (known.has(`${task.id} ${claim.epoch}`)) continue;
      this.place(claimed);
    }
  }

  /** A file of that name lies there already. */
  hold(name: string, { claim, task, askedAt }: Claimed): Hold {
    const { ledger, unsettle } = this.parts;
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
    ledger.write(record);
    unsettle(name);
    const hold = holdOf(record, this.parts, { askedAt, isKnown: false });
    this.byName.set(name, hold);
    return hold;
  }

  /** Under its own name; where the file of which it was made still lies about, it is that one. */
  place(claimed: Claimed): void {
    const own = this.parts.fileOf(claimed.task);
    if (own !== null && !this.has(own)) {
      this.hold(own, claimed);
      return;
    }
    const name = this.parts.shelf.freeName(claimed.task.id, (each) => this.has(each));
    this.putUp(this.hold(name, claimed), claimed.task);
  }

  /** Its file had been taken out, or was never there. */
  async putUpAgain(hold: Hold): Promise<void> {
    const { dibs, project } = this.parts;
    const { task } = await dibs.tasks.get({ ...project, taskId: hold.record.taskId });
    this.putUp(hold, task);
  }

  private putUp(hold: Hold, task: WireTask): void {
    const { taskId, name, epoch, title } = hold.record;
    hold.isWithdrawn = !this.parts.shelf.place(hold.record, textOf(task));
    if (!hold.isWithdrawn) this.parts.tell({ type: "placed", taskId, name, epoch, title });
  }
}

/** What a worker is told. */
export function textOf({ prompt, response }: Pick<WireTask, "prompt" | "response">): string {
  const text = prompt.endsWith("\n") ? prompt : `${prompt}\n`;
  return response === null ? text : `${text}\nAnswer to the question that was asked: ${response}\n`;
}
