// What a server does by itself. Nothing here is needed for a right answer: claims and looks end what is due. It makes the ends
// visible at once, counts what happened and forgets what nobody needs.

import { dispatch } from "./dispatch.js";
import type { Executor } from "./execute.js";
import { catchUp } from "./metrics/recorder.js";
import { noteUnattended } from "./preparations.js";
import { retireEvents, retireTasks } from "./retention.js";
import { endDeadHolders } from "./sweep.js";
import { dropExpiredTokens } from "./tokens.js";

export interface HousekeepingOptions {
  orgs: () => Iterable<string>;
  /** Older events are archived; absent: all are kept. */
  retainEventsMs?: number | undefined;
  /** Tasks that were completed or cancelled longer ago are archived; absent: all are kept. */
  retainTasksMs?: number | undefined;
  /** Trouble is told, and tried again. */
  onTrouble: (error: unknown) => void;
}

const tickMs = 1_000;
const figuresMs = 5_000;
/** So many events of this process are counted sooner: the rest would have to be read back. */
const figuresEvents = 5_000;
const forgetMs = 60_000;
const retireMax = 1_000;
const retireRoundsMax = 100;
const tasksMs = 60 * 60_000;
/** In each round, so that a million tasks do not keep it from all else. */
const taskStepsMax = 5;

export class Housekeeping {
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> = Promise.resolve();
  private readonly last = new Map<string, number>();
  /** Orgs that are being looked through for old tasks, and how far that has come. */
  private readonly tasksLeft = new Map<string, number | undefined>();
  private stopped = false;

  constructor(
    private readonly executor: Executor,
    private readonly options: HousekeepingOptions,
  ) {
    this.again();
  }

  private again(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.running = this.round().finally(() => this.again());
    }, tickMs).unref();
  }

  private async round(): Promise<void> {
    for (const org of this.options.orgs()) {
      if (this.stopped) return;
      await this.keep(org).catch(this.options.onTrouble);
    }
  }

  private async keep(org: string): Promise<void> {
    const { executor } = this;
    await endDeadHolders(executor, org);
    const { isDue, cleanupMs, project } = await executor.store.read(org, (view, now) => ({
      isDue: view.due(now, 1).length > 0,
      cleanupMs: Math.min(
        ...view.projects({ readableOnly: true }).map(({ settings }) => settings.claim.cleanupIntervalMs),
      ),
      project: view.org().defaultProject,
    }));
    if (isDue || this.isTime(org, "sweep", cleanupMs)) {
      const caller = { org, project, actor: "system", role: "admin" as const };
      await dispatch(executor, "claims.cleanup", {}, caller, {});
    }
    if (executor.own.count(org) > figuresEvents || this.isTime(org, "figures", figuresMs)) {
      await catchUp(executor, org);
      await noteUnattended(executor, { caller: { org, project, actor: "system", role: "admin" } });
    }
    if (this.isTime(org, "forget", forgetMs)) {
      const { retainEventsMs } = this.options;
      await dropExpiredTokens(executor, org);
      if (retainEventsMs !== undefined) {
        await this.retire(org, retainEventsMs);
      }
    }
    const { retainTasksMs } = this.options;
    if (retainTasksMs !== undefined) await this.retireTasks(org, retainTasksMs);
  }

  private async retireTasks(org: string, olderThanMs: number): Promise<void> {
    if (!this.tasksLeft.has(org)) {
      if (!this.isTime(org, "tasks", tasksMs)) return;
      this.tasksLeft.set(org, undefined);
    }
    for (let step = 0; step < taskStepsMax && !this.stopped; step++) {
      const below = this.tasksLeft.get(org);
      const { next } = await retireTasks(this.executor, org, { olderThanMs, below }).catch((error) => {
        // Not in every round.
        this.tasksLeft.delete(org);
        throw error;
      });
      if (next === null) {
        this.tasksLeft.delete(org);
        return;
      }
      this.tasksLeft.set(org, next);
    }
  }

  /** In steps, so that nobody waits long behind one. */
  private async retire(org: string, olderThanMs: number): Promise<void> {
    for (let round = 0; round < retireRoundsMax && !this.stopped; round++) {
      const retired = await retireEvents(this.executor, org, { olderThanMs, limit: retireMax });
      if (retired < retireMax) return;
    }
  }

  private isTime(org: string, what: string, everyMs: number): boolean {
    const key = `${what} ${org}`;
    const now = performance.now();
    if (now - (this.last.get(key) ?? Number.NEGATIVE_INFINITY) < everyMs) return false;
    this.last.set(key, now);
    return true;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.timer) clearTimeout(this.timer);
    await this.running;
  }
}
