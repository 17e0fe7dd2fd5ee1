// Keeps a project and a tasks.json in step, once or for as long as it runs. The event feed and the directory's own notices only
// wake it; that nothing is missed is the work of the cursor and of a look at the file every second.

import { renameSync, rmSync, watch } from "node:fs";
import type { Dibs } from "../../client/client.js";
import { pause } from "../../common/abort.js";
import { backoffMs } from "../../common/retry.js";
import { Wake } from "../../common/wake.js";
import { DibsError } from "../../contract/error.js";
import { type Base, digestOf, emptyBase, readBase } from "./base.js";
import { revKey } from "./contents.js";
import type { Dialect } from "./dialect.js";
import { Exchange } from "./exchange.js";
import { readWhole, TaskFile } from "./file.js";
import { FileLock, type Machine } from "./lock.js";
import { Mirror } from "./mirror.js";
import { isFinal, type News } from "./report.js";

export interface Timings {
  /** So long news are collected before the file is written. */
  debounceMs: number;
  /** No more than one write in this time, nor in five times what the last one took. */
  writeEveryMs: number;
  /** How often the file is looked at, whoever told of it or not. */
  pollMs: number;
  /** How often leases are looked at: heartbeats leave no event. */
  refreshMs: number;
  /** A file that cannot be read gets this long to become whole. */
  settleMs: number;
  lockMs: number;
  lockStaleMs: number;
}

export const usualTimings: Timings = {
  debounceMs: 50,
  writeEveryMs: 100,
  pollMs: 1_000,
  refreshMs: 15_000,
  settleMs: 500,
  lockMs: 5_000,
  lockStaleMs: 60_000,
};

export interface SyncOptions {
  dibs: Dibs;
  /** The project that `dibs` means when none is named. */
  project: string;
  /** Where tasks.json is; it need not exist yet, its directory must. */
  file: string;
  /** How new tasks are written; default: as the file does, else camel. */
  dialect?: Dialect;
  /** What happens to a task that is removed from the file: it is written back, or cancelled. */
  removed?: "keep" | "cancel";
  machine: Machine;
  tell(news: News): void;
  timings?: Partial<Timings>;
  bytesMax?: number;
}

export interface Sync {
  /** Settled when it has stopped; rejected if it could not go on. */
  readonly ended: Promise<void>;
  /** Writes what there is to write, and stops. */
  stop(): Promise<void>;
}

/** One exchange. True: both sides say the same and nobody need look at anything. */
export async function syncOnce(options: SyncOptions): Promise<boolean> {
  const keeper = await Keeper.open(options);
  try {
    return await keeper.once();
  } finally {
    keeper.close();
  }
}

export async function startSync(options: SyncOptions): Promise<Sync> {
  const keeper = await Keeper.open(options);
  const ended = keeper.run();
  ended.catch(() => undefined);
  return {
    ended,
    stop: () => {
      keeper.stop();
      return ended;
    },
  };
}

const backoffMsMax = 30_000;

class Keeper {
  private readonly stopping = new AbortController();
  private readonly wake = new Wake();
  private readonly timings: Timings;
  private trouble: { kind: string; times: number } | null = null;
  private notBefore = 0;
  private refreshAt: number;
  /** By the store's clock. What was over then and is there yet is paused, or a matter of the next refresh. */
  private leasesSeenAt = 0;

  private constructor(
    private readonly options: SyncOptions,
    private readonly file: TaskFile,
    private readonly guard: FileLock,
    private readonly mirror: Mirror,
    private readonly exchange: Exchange,
  ) {
    this.timings = { ...usualTimings, ...options.timings };
    this.refreshAt = Date.now() + this.timings.refreshMs;
  }

  static async open(options: SyncOptions): Promise<Keeper> {
    const { dibs, machine, removed = "keep", dialect, tell, bytesMax } = options;
    const timings = { ...usualTimings, ...options.timings };
    const file = TaskFile.at(options.file, bytesMax);
    const guard = await soleKeeper(file, machine, timings);
    try {
      file.removeDrafts(machine);
      const { project } = await dibs.projects.get({ id: options.project });
      const owner = `${project.id} ${project.createdAt}`;
      const found = await baseOf(file);
      const base = found?.owner === owner ? found : emptyBase(owner, dialect ?? "camel");
      let keeper: Keeper | null = null;
      const mirror = new Mirror(dibs, () => keeper?.wake.ring());
      await mirror.open(base.cursor);
      if (found && found !== base && mirror.tasks.size > 0) throw anothers(file, found.owner);
      const lock = { machine, timeoutMs: timings.lockMs, staleMs: timings.lockStaleMs };
      const { settleMs } = timings;
      const exchange = new Exchange({ dibs, file, mirror, base, dialect, removed, lock, settleMs, tell });
      keeper = new Keeper(options, file, guard, mirror, exchange);
      return keeper;
    } catch (error) {
      guard.release();
      throw error;
    }
  }

  async once(): Promise<boolean> {
    await this.exchange.run();
    const { brokenBecause } = this.exchange;
    if (brokenBecause !== null) {
      throw new DibsError("VALIDATION_FAILED", `${this.file.path} is left alone: ${brokenBecause}.`, {
        hint: "Fix the file, or move it away: it is written again.",
      });
    }
    if (!this.exchange.isFinished) {
      throw new DibsError("STORE_BUSY", `${this.file.path} is written by others all the time.`, {
        hint: "Try again, or have them take its lock.",
      });
    }
    return this.exchange.attentionCount === 0;
  }

  stop(): void {
    this.stopping.abort();
    this.wake.ring();
  }

  close(): void {
    this.guard.release();
  }

  async run(): Promise<void> {
    const { signal } = this.stopping;
    let failure: unknown;
    const following = this.mirror
      .follow(signal, (error) => this.troubled(error))
      .catch((error: unknown) => {
        failure = error;
        this.wake.ring();
      });
    const unwatch = this.watched();
    try {
      while (!signal.aborted && failure === undefined) {
        await this.step();
        await this.wake.wait(Math.min(this.timings.pollMs, this.untilLeaseEnds()));
        // Whatever else happens now is written with it.
        const pauseMs = Math.max(this.timings.debounceMs, this.notBefore - Date.now());
        if (!signal.aborted) await pause(pauseMs, signal);
      }
      if (failure !== undefined) throw failure;
      await this.flush();
    } finally {
      this.stopping.abort();
      unwatch();
      await following;
      this.close();
    }
  }

  private async step(): Promise<void> {
    this.wake.arm();
    try {
      await this.refresh();
      if (!this.exchange.isDue) return;
      await this.exchange.run();
      this.notBefore = Date.now() + Math.max(this.timings.writeEveryMs, 5 * this.exchange.writeMs);
      if (this.trouble) this.options.tell({ what: "whole", message: "it works again" });
      this.trouble = null;
    } catch (error) {
      if (isFinal(error)) throw error;
      await this.troubled(error);
    }
  }

  /** So long nothing need be looked at for the sake of a lease. */
  private untilLeaseEnds(): number {
    const end = this.mirror.firstEnd(this.leasesSeenAt);
    return end === null ? Number.POSITIVE_INFINITY : Math.max(0, end - this.mirror.now);
  }

  private async refresh(): Promise<void> {
    if (Date.now() < this.refreshAt && this.untilLeaseEnds() > 0) return;
    this.refreshAt = Date.now() + this.timings.refreshMs;
    if (!this.guard.renew()) throw takenOver(this.file);
    // Whatever the feed may have missed; and this is how we notice that nobody answers any more.
    await this.mirror.catchUp();
    this.leasesSeenAt = this.mirror.now;
    await this.mirror.refreshClaims();
    this.exchange.expectMore();
  }

  /** Told once; tried again, later and later. */
  private async troubled(error: unknown): Promise<void> {
    const isKnown = error instanceof DibsError || (error as NodeJS.ErrnoException).syscall !== undefined;
    if (!isKnown) throw error;
    const { message } = error as Error;
    const kind = error instanceof DibsError ? error.code : message;
    const isNew = this.trouble?.kind !== kind;
    const times = isNew ? 1 : this.trouble!.times + 1;
    this.trouble = { kind, times };
    if (isNew) this.options.tell({ what: "trouble", message });
    await pause(backoffMs(500, times, backoffMsMax), this.stopping.signal);
  }

  /** What is committed by now is in the file before we go. */
  private async flush(): Promise<void> {
    try {
      await this.mirror.catchUp();
      await this.exchange.run();
    } catch (error) {
      this.options.tell({
        what: "trouble",
        message: `Not everything was written: ${(error as Error).message}`,
      });
    }
  }

  /** Notices make it quick; some systems give none. */
  private watched(): () => void {
    try {
      const watcher = watch(this.file.directory, { persistent: false }, (_, name) => {
        if (name === null || name === this.file.name) this.wake.ring();
      });
      watcher.on("error", () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => undefined;
    }
  }
}

function takenOver(file: TaskFile): DibsError {
  return new DibsError("STORE_CLOSED", `Another process keeps ${file.path} in step by now.`);
}

async function soleKeeper(file: TaskFile, machine: Machine, { lockStaleMs }: Timings): Promise<FileLock> {
  try {
    return await FileLock.acquire(file.beside("sync"), { machine, timeoutMs: 0, staleMs: lockStaleMs });
  } catch (error) {
    if (!(error instanceof DibsError) || error.code !== "STORE_BUSY") throw error;
    const { pid } = error.details;
    throw new DibsError("SESSION_BUSY", `${file.path} is kept in step already (process ${pid}).`, {
      hint: "One is enough; stop that one first.",
      details: { pid },
    });
  }
}

/** A store that has nothing yet may take the file over. */
function anothers(file: TaskFile, owner: string): DibsError {
  const [project] = owner.split(" ");
  const message = `${file.path} is kept for project ${project} of another store, and this one has tasks of its own.`;
  const hint = `Name another file; or, to put both together, remove ${file.beside("base")}.`;
  return new DibsError("VALIDATION_FAILED", message, { hint });
}

/** What we wrote last. A write that was cut off left its base waiting: it counts if the file is the one it was made for. */
async function baseOf(file: TaskFile): Promise<Base | null> {
  const stored = async (name: string) => {
    const found = await readWhole(file.beside(name), 4 * file.bytesMax).catch(() => null);
    return found && readBase(found.text);
  };
  const waiting = await stored("base.next");
  if (waiting) {
    const text = (await file.read().catch(() => null))?.text ?? "";
    const isCopy = new RegExp(`"${revKey}":\\s*${waiting.rev}\\b`).test(text);
    if (isCopy || digestOf(text) === waiting.digest) {
      renameSync(file.beside("base.next"), file.beside("base"));
      return waiting;
    }
  }
  rmSync(file.beside("base.next"), { force: true });
  return stored("base");
}
