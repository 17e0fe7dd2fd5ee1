// The proxy between a directory of task files and the store. Shell agents move files; the proxy holds the leases of what lies there,
// tells the store what the moves mean, and takes away what is no longer theirs.
//
//   to_execute/<id>/<id>.md          held here, free for a worker
//   in_progress/<id>/<id>.<pid>.md   taken by a process; lost when it dies
//   completed/<id>/…                 done, with a result file beside it
//   stale/<id>/…                     an attempt that came to nothing, for inspection
//
// All it knows is in the directory and the store: what it holds is written down (`.spool`) before a file appears and forgotten after it
// went, every report carries its epoch, and a look does what is to be done from what it finds. So it may be killed at any moment.

import { join } from "node:path";
import type { Dibs } from "../../client/client.js";
import { beatMsFor, claimSettings } from "../../client/holding/index.js";
import { DibsError } from "../../contract/error.js";
import type { WireEvent } from "../../contract/shapes.js";
import { Counters } from "./counters.js";
import { Desk } from "./desk.js";
import { Drops } from "./drops.js";
import { type Hold, isWaiting } from "./hold.js";
import { Holdings } from "./holdings.js";
import { Ledger } from "./ledger.js";
import { ProxyLock } from "./locks.js";
import { isName, stages } from "./names.js";
import { bounds, defaultTimings, type SpoolClock, type SpoolOptions, type Timings } from "./options.js";
import { Reports } from "./reports.js";
import { type Paper, type Picture, Scanner } from "./scan.js";
import { Settling } from "./settling.js";
import { Shelf } from "./shelf.js";
import { Slots } from "./slots.js";
import { Tree } from "./tree.js";
import { followEvents, systemClock, Wake, Watches } from "./wake.js";

export interface Summary {
  /** Something was held, taken in or reported. */
  isAny: boolean;
}

const holdDefault = 4;
/** With `once`, while files are still being written. */
const onceLooksMax = 5;

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
  private readonly ledger: Ledger;
  private readonly reports: Reports;
  private readonly settling: Settling;
  private readonly scanner: Scanner;
  private readonly slots: Slots;
  private readonly holdings: Holdings;
  private readonly counters: Counters;
  private readonly desk: Desk;
  private readonly drops: Drops;
  private readonly wake: Wake;
  private lock: ProxyLock | null = null;
  private beatMs = 1_000;
  private lockAt = 0;
  private claimAt = 0;
  /** Something happened in the store since it was last asked. */
  private hasHeard = false;
  /** How many waited when it was last asked. */
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
    const ledger = new Ledger(tree);
    const reports = new Reports(tree, options.onHappening);
    const settling = new Settling(now, timings.settleMs);
    const shelf = new Shelf(tree, ledger);
    const prefix = `${agent}-${ledger.spoolId}`;
    const slots = new Slots({ dibs, project, agent, prefix, heartbeats: options.once !== true, now });
    const shared = {
      ...{ dibs, project, tree, ledger, shelf, settling, slots, machine, timings, now },
      tell: reports.tell,
      onOddity: reports.oddity,
      onTrouble: (error: unknown) => reports.trouble(error),
    };
    const holdings: Holdings = new Holdings({
      ...shared,
      unsettle: (name) => scanner.unsettle(name),
      fileOf: (task) => (task.metadata?.spool ? this.drops.fileOf(task, scanner.look().papers) : null),
    });
    const scanner = new Scanner(tree, {
      isHeld: (name) => holdings.has(name),
      isOver: (stage, entry) => {
        // What lay there under the name of a held task was put aside.
        const isPutAside = stage === "completed" && holdings.has(entry);
        const isHistory = ledger.isHistory(stage, entry) && !isPutAside;
        return isHistory || ledger.markIn(tree.stage(stage, entry)) !== null;
      },
    });
    const counters = new Counters(shared);
    this.desk = new Desk({ ...shared, drop: (hold) => holdings.drop(hold) });
    this.drops = new Drops({
      ...shared,
      agent,
      counters,
      claim: (taskId) => slots.claim(holdings.freeSession(), taskId),
      hold: (name, claimed) => void holdings.hold(name, claimed),
    });
    this.wake = new Wake(clock, timings.gapMs);
    this.dibs = dibs;
    this.project = project;
    this.timings = timings;
    this.clock = clock;
    this.tree = tree;
    this.ledger = ledger;
    this.reports = reports;
    this.settling = settling;
    this.scanner = scanner;
    this.slots = slots;
    this.holdings = holdings;
    this.counters = counters;
  }

  /** Alone in this directory from here on. */
  async open(): Promise<void> {
    const { dibs, tree, project } = this;
    const { agent, machine, lockDirectory } = this.options;
    const settings = await claimSettings(dibs, project.project);
    this.beatMs = this.timings.heartbeatMs ?? beatMsFor(settings);
    const name = `spool-${agent}-${this.ledger.spoolId}`;
    this.lock = await ProxyLock.acquire({ dibs, tree, project, machine, agent, name, lockDirectory });
    this.lockAt = this.now() + this.beatMs;
    tree.clearTemporary();
    this.holdings.load();
  }

  private now(): number {
    return this.clock.now();
  }

  /** Does all that is to be done now; answers whether there was anything. */
  async look(): Promise<Summary> {
    this.tree.ensure();
    this.hasRecovered ||= await this.trying(() => this.recover());
    if (!this.hasRecovered) return { isAny: true };
    const heldBefore = this.holdings.size;
    // What is lost is taken away before anything is claimed.
    await this.beatAll();
    const picture = this.scanner.look();
    for (const { path, problem } of picture.oddities) this.reports.oddity(path, problem);
    await this.stepAll(picture);
    const taken = await this.takeDropped(picture);
    await this.trying(() => this.counters.look());
    const isFilled = !this.isTimeToClaim(heldBefore) || (await this.trying(() => this.fill()));
    await this.beatAll();
    this.settling.endLook();
    this.reports.endLook();
    return { isAny: heldBefore + taken + this.holdings.size > 0 || !isFilled };
  }

  /** After a start: what we hold by our records and by the store, and whether it is still so. */
  private async recover(): Promise<void> {
    await this.counters.look();
    const { papers } = this.scanner.look();
    for (const hold of this.holdings.all) {
      await this.slots.register(hold.record.sessionId);
      await this.desk.beat(hold, this.beatMs);
      hold.isWithdrawn = !hold.record.isTaken && !papers.has(hold.record.name);
    }
    await this.holdings.findStrays();
  }

  private async stepAll({ papers }: Picture): Promise<void> {
    for (const hold of this.holdings.all) {
      await this.trying(() => this.desk.step(hold, papers.get(hold.record.name) ?? []));
    }
  }

  /** In the order of their names, in which ids are given. */
  private async takeDropped({ papers }: Picture): Promise<number> {
    let taken = 0;
    const dropped = [...papers].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, found] of dropped) {
      if (this.holdings.has(name) || this.holdings.isFull || !this.isNews(found)) continue;
      await this.trying(async () => {
        if (await this.drops.take(found)) taken++;
      });
    }
    return taken;
  }

  /** Not of a hold that ended in this very look, after the picture was taken. */
  private isNews(papers: readonly Paper[]): boolean {
    const { stage, directory, file, isLoose } = papers.at(-1)!;
    const isMarked = stage === "completed" && !isLoose && this.ledger.markIn(directory) !== null;
    return !isMarked && this.tree.stats(join(directory, file)) !== null;
  }

  /** Asking costs the store something, and may find nothing new. */
  private isTimeToClaim(heldBefore: number): boolean {
    const { once, untilEmpty } = this.options;
    if (once || untilEmpty || this.hasHeard || this.now() >= this.claimAt) return true;
    return this.holdings.size !== heldBefore || this.holdings.waitingCount < this.waitingBefore;
  }

  /** As many as are to wait in `to_execute`. */
  private async fill(): Promise<void> {
    const { holdings, slots } = this;
    this.hasHeard = false;
    this.claimAt = this.now() + this.timings.claimMs;
    if (slots.isUncertain) await holdings.findStrays();
    await this.giveBackParents();
    const { hold = holdDefault, signal } = this.options;
    while (holdings.waitingCount < hold && !holdings.isFull && !signal?.aborted) {
      const claimed = await slots.claimNext(holdings.freeSession());
      if (!claimed) break;
      holdings.place(claimed);
    }
    this.waitingBefore = holdings.waitingCount;
  }

  /** What nobody has begun and has got parts meanwhile waits for them, in the queue. */
  private async giveBackParents(): Promise<void> {
    const waiting = this.holdings.all.filter(
      (hold) => isWaiting(hold) && !hold.isReported && hold.lost === null,
    );
    if (waiting.length === 0) return;
    const taskIds = waiting.map(({ record }) => record.taskId).slice(0, bounds.holdMax);
    const { rows } = await this.dibs.tasks.rows({ ...this.project, taskIds });
    const parents = new Set(rows.filter(({ openChildren }) => openChildren > 0).map(({ id }) => id));
    const { papers } = this.scanner.look();
    for (const hold of waiting.filter(({ record }) => parents.has(record.taskId))) {
      const paper = papers.get(hold.record.name)?.at(-1) ?? null;
      if (paper === null || paper.stage === "to_execute")
        await this.desk.release(hold, paper, "it has parts that come first");
    }
  }

  private async beatAll(): Promise<void> {
    if (this.now() >= this.lockAt) await this.renewLock();
    for (const hold of this.holdings.all) {
      if (this.now() >= hold.beatAt) await this.trying(() => this.desk.beat(hold, this.beatMs));
      if (this.isToComeBack(hold)) await this.trying(() => this.holdings.putUpAgain(hold));
    }
  }

  private async renewLock(): Promise<void> {
    this.lockAt = this.now() + this.beatMs;
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

  /** Troubles of the store or the disk pass, or are told until somebody mends them; the next look tries again. */
  private async trying(call: () => unknown): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.reports.trouble(error);
      return false;
    }
  }

  /** Until stopped; or until nothing is left, or once, if that was asked for. */
  async run(): Promise<Summary> {
    const stop = this.options.signal ?? new AbortController().signal;
    const quiet = new AbortController();
    const watches = new Watches(() => this.wake.ring());
    const following = this.options.once ? null : this.follow(quiet.signal);
    const { lookMs, settleMs } = this.timings;
    let isAny = false;
    try {
      for (let looks = 1; !stop.aborted; looks++) {
        const look = await this.look();
        isAny ||= look.isAny;
        if (this.isDone(look, looks)) break;
        watches.set(this.watched());
        await this.wake.wait(this.settling.isAny ? Math.min(lookMs, settleMs) : lookMs, stop);
      }
    } finally {
      watches.close();
      quiet.abort();
      await following;
      await this.close();
    }
    return { isAny };
  }

  private isDone({ isAny }: Summary, looks: number): boolean {
    if (this.options.once) return !this.settling.isAny || looks >= onceLooksMax;
    return this.options.untilEmpty === true && !isAny && !this.settling.isAny;
  }

  private follow(signal: AbortSignal): Promise<void> {
    const { dibs, project, clock } = this;
    return followEvents(dibs, project, { clock, signal, onEvent: (event) => this.notice(event) });
  }

  private notice({ type, taskId, epoch }: WireEvent): void {
    if (taskId !== null && type === "task:created") this.counters.noteTask(taskId);
    for (const hold of this.holdings.all) {
      if (hold.record.taskId === taskId && hold.record.epoch === epoch) hold.beatAt = 0;
    }
    this.hasHeard = true;
    this.wake.ring();
  }

  private watched(): string[] {
    const held = this.holdings.all.map(({ record }) =>
      this.tree.stage(record.isTaken ? "in_progress" : "to_execute", record.name),
    );
    return [...stages.slice(0, 3).map((stage) => this.tree.stage(stage)), ...held];
  }

  /** What nobody has begun goes back; what somebody works on is kept for as long as its lease lasts. */
  async close(): Promise<void> {
    if (!this.options.once && !this.lock?.isLost) await this.letGo();
    await this.trying(() => this.lock?.release());
  }

  private async letGo(): Promise<void> {
    this.hasRecovered ||= await this.trying(() => this.recover());
    if (!this.hasRecovered) return;
    const { papers } = this.scanner.look();
    for (const hold of this.holdings.all) {
      const found = papers.get(hold.record.name) ?? [];
      const paper = found.at(-1) ?? null;
      const isUntouched = isWaiting(hold) && (paper === null || paper.stage === "to_execute");
      await this.trying(() =>
        isUntouched ? this.desk.release(hold, paper, "the spool was stopped") : this.desk.step(hold, found),
      );
    }
    for (const { record } of this.holdings.all) {
      await this.trying(() => this.slots.register(record.sessionId, false));
    }
    await this.trying(() => this.slots.endIdle(this.holdings.sessions));
  }
}
