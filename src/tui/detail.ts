// One task in full, kept true while it is looked at: read again when an event names it, and every few seconds, because logs grow
// without events.

import type { Dibs } from "../client/client.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { WireAttempt, WireEvent, WireTask } from "../contract/shapes.js";
import { Reading } from "./reading.js";

export interface TaskName {
  project: string;
  taskId: string;
}

const eventsMax = 300;
const pageMax = 1000;

export class Detail {
  task: WireTask | null = null;
  explanation: OutputOf<OperationNamed<"tasks.explain">> | null = null;
  log: OutputOf<OperationNamed<"tasks.log">> | null = null;
  attempts: readonly WireAttempt[] = [];
  /** The newest, oldest first. */
  events: readonly WireEvent[] = [];
  /** First line that is seen. */
  top = 0;
  private after = 0;
  private readonly reading: Reading;

  constructor(
    private readonly dibs: Dibs,
    readonly name: TaskName,
    private readonly changed: () => void,
  ) {
    this.reading = new Reading(() => this.read(), { gapMs: 200, everyMs: 3_000 });
  }

  get error(): Error | null {
    return this.reading.error;
  }

  is({ project, taskId }: { project: string | null; taskId: string | null }): boolean {
    return project === this.name.project && taskId === this.name.taskId;
  }

  ask(): void {
    this.reading.ask();
  }

  close(): void {
    this.reading.close();
  }

  private async read(): Promise<void> {
    const { tasks } = this.dibs;
    try {
      const [{ task }, explanation, { attempts }, log] = await Promise.all([
        tasks.get(this.name),
        tasks.explain(this.name),
        tasks.attempts({ ...this.name, limit: 20 }),
        tasks.log(this.name),
        this.readEvents(),
      ]);
      Object.assign(this, { task, explanation, attempts, log });
    } finally {
      this.changed();
    }
  }

  private async readEvents(): Promise<void> {
    for (;;) {
      const { events, nextAfter } = await this.dibs.tasks.events({
        ...this.name,
        after: this.after,
        limit: pageMax,
      });
      this.after = nextAfter;
      if (events.length > 0) this.events = [...this.events, ...events].slice(-eventsMax);
      if (events.length < pageMax) return;
    }
  }
}
