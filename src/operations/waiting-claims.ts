// The claims that wait in one org, in order of arrival. However many there are, one listener is called for
// commits, one timer wakes for what comes due, and one check per second finds dead processes. After a commit
// that might have unblocked a task, a selection chooses the waiters that could take what is ready, and only
// these try. The selection is repeated until it chooses no waiter.
//
// No waiter sleeps while there is something for it: `changes` counts the commits, each waiter stores at which
// count it last tried, and every waiter that has not tried since the last commit is a candidate. The
// selection can choose too many (it does not check capacity, and another claim can be faster), never too few:
// it uses the predicate of claiming itself.

import { Availability } from "../core/availability.js";
import { pickNext, type ReadyNow, readyNow, whoIs } from "../core/ready.js";
import { isLive } from "../core/session.js";
import { validToken } from "../core/token.js";
import type { View } from "../core/view.js";
import type { Executor } from "./execute.js";
import type { CommandCall } from "./handler.js";
import { endDeadHolders, endOverdueLeases } from "./sweep.js";

/** This many try at a time; up to this many waiters need no selection. */
const triesMax = 16;
const checkDeadMs = 1_000;
/** Ended sessions and tokens are searched for at this interval, unless something is ready. */
const checkEndedMs = 250;
/** setTimeout cannot wait for longer; the timer is simply set again. */
const timerMsMax = 2_000_000_000;

export interface Waiter {
  call: Pick<CommandCall<"tasks.claimNext">, "caller" | "input">;
  /** The count of changes when it last began to try. */
  triedAt: number;
  /** Claims for it. Settles when it has tried; never rejects. */
  attempt(): Promise<void>;
}

const byExecutor = new WeakMap<Executor, Map<string, WaitingClaims>>();

export function waitingClaimsOf(executor: Executor, org: string): WaitingClaims {
  const byOrg = byExecutor.get(executor) ?? new Map<string, WaitingClaims>();
  byExecutor.set(executor, byOrg);
  const waiting = byOrg.get(org) ?? new WaitingClaims(executor, org, () => byOrg.delete(org));
  byOrg.set(org, waiting);
  return waiting;
}

class WaitingClaims {
  private readonly waiters = new Set<Waiter>();
  private changes = 0;
  private isAwake = false;
  private isTrying = false;
  /** Times of the store's clock at which a task can become claimable by time alone. */
  private readonly dues = new Set<number>();
  private timer: { at: number; timeout: NodeJS.Timeout } | null = null;
  private checkedEndedAt = 0;
  private endedTimer: NodeJS.Timeout | null = null;
  private readonly ticking: NodeJS.Timeout;
  private readonly stopListening: () => void;

  constructor(
    private readonly executor: Executor,
    private readonly org: string,
    private readonly onEmpty: () => void,
  ) {
    this.stopListening = executor.store.onChange(org, ({ mayFree }) => mayFree && this.changed());
    this.ticking = setInterval(() => void this.tick(), checkDeadMs).unref();
  }

  /** It tries at once: a task might have become ready since its last try. */
  add(waiter: Waiter): void {
    this.waiters.add(waiter);
    void this.try(waiter);
  }

  remove(waiter: Waiter): void {
    this.waiters.delete(waiter);
    if (this.waiters.size > 0) return;
    this.stopListening();
    clearInterval(this.ticking);
    for (const timer of [this.timer?.timeout, this.endedTimer]) if (timer) clearTimeout(timer);
    this.onEmpty();
  }

  noteDue(at: number | null): void {
    if (at === null || this.dues.has(at)) return;
    this.dues.add(at);
    if (!this.timer || at < this.timer.at) void this.checkDue();
  }

  private changed(): void {
    this.changes++;
    this.wake();
  }

  private wake(): void {
    this.isAwake = true;
    if (!this.isTrying) void this.tryInTurn();
  }

  private try(waiter: Waiter): Promise<void> {
    waiter.triedAt = this.changes;
    return waiter.attempt();
  }

  private async tryInTurn(): Promise<void> {
    this.isTrying = true;
    for (let chosen: Waiter[] = []; this.isAwake || chosen.length > 0; ) {
      this.isAwake = false;
      const candidates = [...this.waiters].filter(({ triedAt }) => triedAt < this.changes);
      chosen = candidates.length > triesMax ? await this.choose(candidates) : candidates;
      // Some might have ended during the selection.
      await Promise.all(chosen.filter((each) => this.waiters.has(each)).map((each) => this.try(each)));
    }
    this.isTrying = false;
  }

  /** A job that changes nothing instead of a read: a job uses the cached rows of earlier transactions. */
  private async choose(candidates: Waiter[]): Promise<Waiter[]> {
    const isTimeForEnded = performance.now() - this.checkedEndedAt >= checkEndedMs;
    try {
      const found = await this.executor.submit(this.org, ({ view, now }) =>
        new Selection(view, now, isTimeForEnded).choose(candidates),
      );
      if (found.hasSeenAll) this.checkedEndedAt = performance.now();
      else this.checkEndedLater();
      this.noteDue(found.dueAt);
      return found.chosen;
    } catch {
      // The waiters report the error of the store when they try.
      return candidates.slice(0, triesMax);
    }
  }

  private checkEndedLater(): void {
    // Not a change: waiters that found nothing for themselves need not try again.
    this.endedTimer ??= setTimeout(() => {
      this.endedTimer = null;
      this.wake();
    }, checkEndedMs).unref();
  }

  /** Ends what dead processes hold, and leases that expired sooner than expected: their ends are changes. */
  private async tick(): Promise<void> {
    await endDeadHolders(this.executor, this.org);
    await endOverdueLeases(this.executor, this.org);
    await this.checkDue();
  }

  private async checkDue(): Promise<void> {
    const { executor, org } = this;
    const now = await executor.store.read(org, (_view, now) => now).catch(() => null);
    if (now === null || this.waiters.size === 0) return;
    const passed = [...this.dues].filter((at) => at <= now);
    for (const at of passed) this.dues.delete(at);
    if (this.timer) clearTimeout(this.timer.timeout);
    this.timer = null;
    if (this.dues.size > 0) this.setTimer(Math.min(...this.dues), now);
    if (passed.length === 0) return;
    // Ends the expired leases.
    await executor.readSwept(org, () => null).catch(() => undefined);
    this.changed();
  }

  private setTimer(at: number, now: number): void {
    const ms = Math.min(timerMsMax, at - now);
    this.timer = { at, timeout: setTimeout(() => void this.checkDue(), ms).unref() };
  }
}

interface Chosen {
  chosen: Waiter[];
  /** When the choice can change by time alone. */
  dueAt: number | null;
  /** Whether the session and the token of every candidate were checked. */
  hasSeenAll: boolean;
}

/** Which waiters could claim what is ready now. */
class Selection {
  private readonly queues = new Map<string, ReadyNow>();
  private readonly tokens = new Map<string, boolean>();
  private readonly kinds = new Map<string, boolean>();
  private readonly resources: Availability;

  constructor(
    private readonly view: View,
    private readonly now: number,
    private readonly isTimeForEnded: boolean,
  ) {
    this.resources = new Availability(view, now);
  }

  choose(candidates: Waiter[]): Chosen {
    this.fetchSessions(candidates);
    const chosen: Waiter[] = [];
    let hasSeenAll = true;
    for (const waiter of candidates) {
      if (chosen.length >= triesMax) return { chosen, dueAt: null, hasSeenAll: false };
      const { caller, input } = waiter.call;
      const project = input.project ?? caller.project;
      const queue = this.queueOf(project);
      if (queue.count === 0 && !this.isTimeForEnded) hasSeenAll = false;
      else if (this.hasEnded(waiter, project)) chosen.push(waiter);
      else if (queue.count > 0 && this.fits(waiter, project)) {
        chosen.push(waiter);
        queue.count--;
      }
    }
    return { chosen, dueAt: this.dueAt(), hasSeenAll };
  }

  /**
   * All at once: otherwise a store that fetches needs a round trip per group of waiters that seem to have
   * ended.
   */
  private fetchSessions(candidates: Waiter[]): void {
    for (const { caller, input } of candidates.map(({ call }) => call)) {
      const project = input.project ?? caller.project;
      if (this.isTimeForEnded || this.queueOf(project).count > 0) this.view.session(project, input.sessionId);
    }
  }

  private queueOf(project: string): ReadyNow {
    const known = this.queues.get(project);
    if (known) return known;
    const found = this.view.project(project);
    const query = { project, now: this.now, limit: triesMax };
    const queue =
      !found || found.paused
        ? { count: 0, soonestAt: null, assignees: new Set<string>() }
        : readyNow(this.view, { ...query, settings: found.settings });
    this.queues.set(project, queue);
    return queue;
  }

  /** Its next attempt is refused. */
  private hasEnded({ call }: Waiter, project: string): boolean {
    const { token } = call.caller;
    if (!isLive(this.view.session(project, call.input.sessionId))) return true;
    if (token === undefined) return false;
    const isValid = this.tokens.get(token) ?? validToken(this.view, token, this.now) !== null;
    this.tokens.set(token, isValid);
    return !isValid;
  }

  private fits({ call }: Waiter, project: string): boolean {
    const { sessionId, agentType, labels } = call.input;
    const { view, now, kinds } = this;
    const who = whoIs(view.session(project, sessionId)!, agentType);
    const { settings } = view.project(project)!;
    const avoid: ReadonlyMap<string, number> = new Map();
    const { resources } = this;
    const find = () =>
      pickNext(view, { project, settings, who, labels, avoid, now, resources }).entry !== null;
    if (who.names.some((name) => this.queueOf(project).assignees.has(name))) return find();
    // Apart from tasks that are assigned to them, sessions of one kind fit the same tasks.
    const kind = JSON.stringify([
      project,
      labels,
      who.agentType,
      who.machine,
      [...who.capabilities],
      who.uses,
    ]);
    const isFit = kinds.get(kind) ?? find();
    kinds.set(kind, isFit);
    return isFit;
  }

  private dueAt(): number | null {
    const times = [
      this.view.nextDue(this.now),
      this.resources.nextAt(),
      ...[...this.queues.values()].map((each) => each.soonestAt),
    ];
    const known = times.filter((at) => at !== null);
    return known.length === 0 ? null : Math.min(...known);
  }
}
