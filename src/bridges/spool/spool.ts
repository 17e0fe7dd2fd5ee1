// The proxy between a directory of task files and the store. Shell agents move files; the proxy holds the leases of these
// tasks, reports the moves to the store as operations, and removes files of lost claims.
//
//   to_execute/<id>/<id>.md          claimed by the proxy, ready for a worker
//   in_progress/<id>/<id>.<pid>.md   taken by a process; lost when it dies
//   completed/<id>/…                 done, with a result file next to it
//   stale/<id>/…                     an attempt without success, for inspection
//
// All state is in the directory and the store: a record (`.spool`) is written before a file appears and removed after it is
// gone, every report has its epoch, and a poll starts from what it finds. So the proxy can be killed at any moment.

import { join } from "node:path";
import type { Dibs } from "../../client/client.js";
import { beatMsFor, claimSettings } from "../../client/holding/index.js";
import { DibsError } from "../../contract/error.js";
import type { WireEvent } from "../../contract/shapes.js";
import { Counters } from "./counters.js";
import { StageDirectories } from "./directories.js";
import { Drops } from "./drops.js";
import { type Hold, isWaiting } from "./hold.js";
import { Holdings } from "./holdings.js";
import { ProxyLock } from "./locks.js";
import { isName, stages } from "./names.js";
import { bounds, defaultTimings, type SpoolClock, type SpoolOptions, type Timings } from "./options.js";
import { followEvents, PollTrigger, systemClock, Watches } from "./poll-triggers.js";
import { Reconciler } from "./reconcile.js";
import { Records } from "./records.js";
import { Reports } from "./reports.js";
import { Scanner, type ScanResult, type SpoolFile } from "./scan.js";
import { SpoolSessions } from "./sessions.js";
import { Settling } from "./settling.js";
import { Tree } from "./tree.js";

export interface Summary {
  /** A task was held, created or reported. */
  isAny: boolean;
}

const holdDefault = 4;
/** Polls with `once`, while files are still being written. */
const oncePollsMax = 5;

function refuseBadOptions({ agent, hold = holdDefault }: SpoolOptions): void {
  if (!isName(agent) || agent.length > bounds.agentLengthMax || ["counters", "locks"].includes(agent)) {
    throw new DibsError(
      "VALIDATION_FAILED",
      `'${agent}' cannot be an agent's name: it becomes a directory.`,
      {
        hint: `Letters, digits, '.', '_' and '-', at most ${bounds.agentLengthMax}; not counters or locks.`,
      },
    );
  }
  if (!Number.isInteger(hold) || hold < 1 || hold > bounds.holdMax) {
    throw new DibsError(
      "VALIDATION_FAILED",
      `hold must be a whole number from 1 to ${bounds.holdMax}, not ${hold}.`,
    );
  }
}

export class Spool {
  private readonly dibs: Dibs;
  private readonly project: { project?: string };
  private readonly timings: Timings;
  private readonly clock: SpoolClock;
  private readonly tree: Tree;
  private readonly records: Records;
  private readonly reports: Reports;
  private readonly settling: Settling;
  private readonly scanner: Scanner;
  private readonly sessions: SpoolSessions;
  private readonly holdings: Holdings;
  private readonly counters: Counters;
  private readonly reconciler: Reconciler;
  private readonly drops: Drops;
  private readonly wake: PollTrigger;
  private lock: ProxyLock | null = null;
  private renewMs = 1_000;
  private lockAt = 0;
  private claimAt = 0;
  /** An event arrived since the last claim. */
  private hasStoreChanged = false;
  /** How many tasks were in `to_execute` at the last claim. */
  private waitingBefore = 0;
  private hasRecovered = false;

  constructor(private readonly options: SpoolOptions) {
    refuseBadOptions(options);
    const { dibs, agent, machine, project: named } = options;
    const project = named === undefined ? {} : { project: named };
    const clock = options.clock ?? systemClock;
    const timings = { ...defaultTimings, ...options.timings };
    const now = () => clock.now();
    const tree = Tree.open(options.directory, agent);
    const records = new Records(tree);
    const reports = new Reports(tree, options.onEvent);
    const settling = new Settling(now, timings.settleMs);
    const directories = new StageDirectories(tree, records);
    const prefix = `${agent}-${records.spoolId}`;
    const sessions = new SpoolSessions({
      dibs,
      project,
      agent,
      prefix,
      heartbeats: options.once !== true,
      now,
    });
    const shared = {
      ...{ dibs, project, tree, records, directories, settling, sessions, machine, timings, now },
      report: reports.report,
      onOddity: reports.oddity,
      onTrouble: (error: unknown) => reports.trouble(error),
    };
    const holdings: Holdings = new Holdings({
      ...shared,
      unsettle: (name) => scanner.unsettle(name),
      fileOf: (task) => (task.metadata?.spool ? this.drops.fileOf(task, scanner.scan().spoolFiles) : null),
    });
    const scanner = new Scanner(tree, {
      isHeld: (name) => holdings.has(name),
      isOver: (stage, entry) => {
        // An earlier entry under the name of a held task was renamed.
        const isPutAside = stage === "completed" && holdings.has(entry);
        const isHistory = records.isHistory(stage, entry) && !isPutAside;
        return isHistory || records.markIn(tree.stage(stage, entry)) !== null;
      },
    });
    const counters = new Counters(shared);
    this.reconciler = new Reconciler({ ...shared, drop: (hold) => holdings.drop(hold) });
    this.drops = new Drops({
      ...shared,
      agent,
      counters,
      claim: (taskId) => sessions.claim(holdings.freeSession(), taskId),
      hold: (name, claimed) => void holdings.hold(name, claimed),
    });
    this.wake = new PollTrigger(clock, timings.gapMs);
    this.dibs = dibs;
    this.project = project;
    this.timings = timings;
    this.clock = clock;
    this.tree = tree;
    this.records = records;
    this.reports = reports;
    this.settling = settling;
    this.scanner = scanner;
    this.sessions = sessions;
    this.holdings = holdings;
    this.counters = counters;
  }

  /** Takes the lock of this directory. */
  async open(): Promise<void> {
    const { dibs, tree, project } = this;
    const { agent, machine, lockDirectory } = this.options;
    const settings = await claimSettings(dibs, project.project);
    this.renewMs = this.timings.heartbeatMs ?? beatMsFor(settings);
    const name = `spool-${agent}-${this.records.spoolId}`;
    this.lock = await ProxyLock.acquire({ dibs, tree, project, machine, agent, name, lockDirectory });
    this.lockAt = this.now() + this.renewMs;
    tree.clearTemporary();
    this.holdings.load();
  }

  private now(): number {
    return this.clock.now();
  }

  /** One poll: renews, reconciles, creates tasks from dropped files, claims. */
  async poll(): Promise<Summary> {
    this.tree.ensure();
    this.hasRecovered ||= await this.trying(() => this.recover());
    if (!this.hasRecovered) return { isAny: true };
    const heldBefore = this.holdings.size;
    // Losses are handled before new tasks are claimed.
    await this.renewAll();
    const scan = this.scanner.scan();
    for (const { path, problem } of scan.oddities) this.reports.oddity(path, problem);
    await this.stepAll(scan);
    const taken = await this.takeDropped(scan);
    await this.trying(() => this.counters.poll());
    const isFilled = !this.isTimeToClaim(heldBefore) || (await this.trying(() => this.fill()));
    await this.renewAll();
    this.settling.endPoll();
    this.reports.endPoll();
    return { isAny: heldBefore + taken + this.holdings.size > 0 || !isFilled };
  }

  /** After a start: compares the records with the claims in the store. */
  private async recover(): Promise<void> {
    await this.counters.poll();
    const { spoolFiles } = this.scanner.scan();
    for (const hold of this.holdings.all) {
      await this.sessions.register(hold.record.sessionId);
      await this.reconciler.renew(hold, this.renewMs);
      hold.isWithdrawn = !hold.record.isTaken && !spoolFiles.has(hold.record.name);
    }
    await this.holdings.findStrays();
  }

  private async stepAll({ spoolFiles }: ScanResult): Promise<void> {
    for (const hold of this.holdings.all) {
      await this.trying(() => this.reconciler.step(hold, spoolFiles.get(hold.record.name) ?? []));
    }
  }

  /** In the order of names, so that ids are given in that order. */
  private async takeDropped({ spoolFiles }: ScanResult): Promise<number> {
    let taken = 0;
    const dropped = [...spoolFiles].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, found] of dropped) {
      if (this.holdings.has(name) || this.holdings.isFull || !this.isNews(found)) continue;
      await this.trying(async () => {
        if (await this.drops.take(found)) taken++;
      });
    }
    return taken;
  }

  /** False for the file of a task that ended in this poll, after the scan. */
  private isNews(spoolFiles: readonly SpoolFile[]): boolean {
    const { stage, directory, file, isLoose } = spoolFiles.at(-1)!;
    const isMarked = stage === "completed" && !isLoose && this.records.markIn(directory) !== null;
    return !isMarked && this.tree.stats(join(directory, file)) !== null;
  }

  /** Claims are made only if a task may have become ready: each costs the store a transaction. */
  private isTimeToClaim(heldBefore: number): boolean {
    const { once, untilEmpty } = this.options;
    if (once || untilEmpty || this.hasStoreChanged || this.now() >= this.claimAt) return true;
    return this.holdings.size !== heldBefore || this.holdings.waitingCount < this.waitingBefore;
  }

  /** Claims until `hold` tasks wait in `to_execute`. */
  private async fill(): Promise<void> {
    const { holdings, sessions } = this;
    this.hasStoreChanged = false;
    this.claimAt = this.now() + this.timings.claimMs;
    if (sessions.isUncertain) await holdings.findStrays();
    await this.giveBackParents();
    const { hold = holdDefault, signal } = this.options;
    while (holdings.waitingCount < hold && !holdings.isFull && !signal?.aborted) {
      const claimed = await sessions.claimNext(holdings.freeSession());
      if (!claimed) break;
      holdings.place(claimed);
    }
    this.waitingBefore = holdings.waitingCount;
  }

  /** Releases tasks that no worker has started and that have open subtasks now. */
  private async giveBackParents(): Promise<void> {
    const waiting = this.holdings.all.filter(
      (hold) => isWaiting(hold) && !hold.isReported && hold.lost === null,
    );
    if (waiting.length === 0) return;
    const taskIds = waiting.map(({ record }) => record.taskId).slice(0, bounds.holdMax);
    const { rows } = await this.dibs.tasks.rows({ ...this.project, taskIds });
    const parents = new Set(rows.filter(({ openChildren }) => openChildren > 0).map(({ id }) => id));
    const { spoolFiles } = this.scanner.scan();
    for (const hold of waiting.filter(({ record }) => parents.has(record.taskId))) {
      const spoolFile = spoolFiles.get(hold.record.name)?.at(-1) ?? null;
      if (spoolFile === null || spoolFile.stage === "to_execute")
        await this.reconciler.release(hold, spoolFile, "it has parts that come first");
    }
  }

  private async renewAll(): Promise<void> {
    if (this.now() >= this.lockAt) await this.renewLock();
    for (const hold of this.holdings.all) {
      if (this.now() >= hold.renewAt) await this.trying(() => this.reconciler.renew(hold, this.renewMs));
      if (this.isToComeBack(hold)) await this.trying(() => this.holdings.placeFileAgain(hold));
    }
  }

  private async renewLock(): Promise<void> {
    this.lockAt = this.now() + this.renewMs;
    await this.trying(() => this.lock!.renew());
    if (!this.lock!.isLost) return;
    throw new DibsError(
      "SESSION_BUSY",
      "Another spool has taken over this directory: this one was away too long.",
    );
  }

  private isToComeBack(hold: Hold): boolean {
    return hold.isWithdrawn && isWaiting(hold) && !hold.claim.isLate;
  }

  /** Errors of the store or the disk are reported; the next poll retries. */
  private async trying(call: () => unknown): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.reports.trouble(error);
      return false;
    }
  }

  /** Polls until stopped, or as `once` and `untilEmpty` say. */
  async run(): Promise<Summary> {
    const stop = this.options.signal ?? new AbortController().signal;
    const quiet = new AbortController();
    const watches = new Watches(() => this.wake.trigger());
    const following = this.options.once ? null : this.follow(quiet.signal);
    const { pollMs, settleMs } = this.timings;
    let isAny = false;
    try {
      for (let polls = 1; !stop.aborted; polls++) {
        const poll = await this.poll();
        isAny ||= poll.isAny;
        if (this.isDone(poll, polls)) break;
        watches.set(this.watched());
        await this.wake.wait(this.settling.isAny ? Math.min(pollMs, settleMs) : pollMs, stop);
      }
    } finally {
      watches.close();
      quiet.abort();
      await following;
      await this.close();
    }
    return { isAny };
  }

  private isDone({ isAny }: Summary, polls: number): boolean {
    if (this.options.once) return !this.settling.isAny || polls >= oncePollsMax;
    return this.options.untilEmpty === true && !isAny && !this.settling.isAny;
  }

  private follow(signal: AbortSignal): Promise<void> {
    const { dibs, project, clock } = this;
    return followEvents(dibs, project, { clock, signal, onEvent: (event) => this.notice(event) });
  }

  private notice({ type, taskId, epoch }: WireEvent): void {
    if (taskId !== null && type === "task:created") this.counters.noteTask(taskId);
    for (const hold of this.holdings.all) {
      if (hold.record.taskId === taskId && hold.record.epoch === epoch) hold.renewAt = 0;
    }
    this.hasStoreChanged = true;
    this.wake.trigger();
  }

  private watched(): string[] {
    const held = this.holdings.all.map(({ record }) =>
      this.tree.stage(record.isTaken ? "in_progress" : "to_execute", record.name),
    );
    return [...stages.slice(0, 3).map((stage) => this.tree.stage(stage)), ...held];
  }

  /** Releases tasks that no worker has started. The others are kept until their leases expire. */
  async close(): Promise<void> {
    if (!this.options.once && !this.lock?.isLost) await this.letGo();
    await this.trying(() => this.lock?.release());
  }

  private async letGo(): Promise<void> {
    this.hasRecovered ||= await this.trying(() => this.recover());
    if (!this.hasRecovered) return;
    const { spoolFiles } = this.scanner.scan();
    for (const hold of this.holdings.all) {
      const found = spoolFiles.get(hold.record.name) ?? [];
      const spoolFile = found.at(-1) ?? null;
      const isUntouched = isWaiting(hold) && (spoolFile === null || spoolFile.stage === "to_execute");
      await this.trying(() =>
        isUntouched
          ? this.reconciler.release(hold, spoolFile, "the spool was stopped")
          : this.reconciler.step(hold, found),
      );
    }
    for (const { record } of this.holdings.all) {
      await this.trying(() => this.sessions.register(record.sessionId, false));
    }
    await this.trying(() => this.sessions.endIdle(this.holdings.sessionIds));
  }
}
