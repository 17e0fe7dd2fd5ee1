// The claims that wait in one org, in order of arrival. However many there are, one listener hears of commits, one timer wakes for
// what comes due, and one look per second finds dead processes. After a commit that may have freed something, one look at the queue
// chooses the waiters that could take what is ready, and only these try; then it looks again, until no waiter is left that could.
//
// No waiter sleeps while there is something for it: `changes` counts the commits, each waiter knows at which count it last tried, and
// whoever has not tried since the last commit is a candidate. The look may choose too many (it knows no capacity, and others may be
// faster), never too few: it asks what claiming itself asks.

import { pickNext, type ReadyNow, readyNow, whoIs } from "../core/ready.js";
import { isLive } from "../core/session.js";
import { validToken } from "../core/token.js";
import type { Reads } from "../core/view.js";
import type { Caller } from "./environment.js";
import type { Executor } from "./execute.js";
import { endDeadHolders, endOverdueLeases } from "./sweep.js";

/** So many try at a time; up to so many waiters need no look. */
const triesMax = 16;
const lookForDeadMs = 1_000;
/** Sessions and tokens that ended are looked for no more often, unless something is ready. */
const lookForEndedMs = 250;
/** setTimeout cannot wait for longer; the timer is simply set again. */
const timerMsMax = 2_000_000_000;

export interface Waiter {
  caller: Caller;
  input: {
    project?: string | undefined;
    sessionId: string;
    labels?: string[] | undefined;
    agentType?: string | undefined;
  };
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
  private isChanged = false;
  private isTrying = false;
  /** Instants of the store's clock at which time alone may make something claimable. */
  private readonly dues = new Set<number>();
  private timer: { at: number; timeout: NodeJS.Timeout } | null = null;
  private lookedForEndedAt = 0;
  private lookingForEnded: NodeJS.Timeout | null = null;
  private readonly ticking: NodeJS.Timeout;
  private readonly stopListening: () => void;

  constructor(
    private readonly executor: Executor,
    private readonly org: string,
    private readonly onEmpty: () => void,
  ) {
    this.stopListening = executor.store.onChange(org, ({ mayFree }) => mayFree && this.changed());
    this.ticking = setInterval(() => void this.tick(), lookForDeadMs).unref();
  }

  /** It tries at once: something may have been freed since it last found nothing. */
  add(waiter: Waiter): void {
    this.waiters.add(waiter);
    void this.try(waiter);
  }

  remove(waiter: Waiter): void {
    this.waiters.delete(waiter);
    if (this.waiters.size > 0) return;
    this.stopListening();
    clearInterval(this.ticking);
    for (const timer of [this.timer?.timeout, this.lookingForEnded]) if (timer) clearTimeout(timer);
    this.onEmpty();
  }

  noteDue(at: number | null): void {
    if (at === null || this.dues.has(at)) return;
    this.dues.add(at);
    if (!this.timer || at < this.timer.at) void this.lookForDue();
  }

  private changed(): void {
    this.changes++;
    this.isChanged = true;
    if (!this.isTrying) void this.tryInTurn();
  }

  private try(waiter: Waiter): Promise<void> {
    waiter.triedAt = this.changes;
    return waiter.attempt();
  }

  private async tryInTurn(): Promise<void> {
    this.isTrying = true;
    for (let chosen: Waiter[] = []; this.isChanged || chosen.length > 0; ) {
      this.isChanged = false;
      const candidates = [...this.waiters].filter(({ triedAt }) => triedAt < this.changes);
      chosen = candidates.length > triesMax ? await this.choose(candidates) : candidates;
      // Some may have ended while it looked.
      await Promise.all(chosen.filter((each) => this.waiters.has(each)).map((each) => this.try(each)));
    }
    this.isTrying = false;
  }

  /** A job that changes nothing, not a read: it finds the sessions in the cache of the transactions before. */
  private async choose(candidates: Waiter[]): Promise<Waiter[]> {
    const isTimeForEnded = performance.now() - this.lookedForEndedAt >= lookForEndedMs;
    try {
      const found = await this.executor.submit(this.org, ({ view, now }) =>
        new Look(view, now, isTimeForEnded).choose(candidates),
      );
      if (found.hasSeenAll) this.lookedForEndedAt = performance.now();
      else this.lookForEndedLater();
      this.noteDue(found.dueAt);
      return found.chosen;
    } catch {
      // The store's trouble is theirs: they hear of it when they try.
      return candidates.slice(0, triesMax);
    }
  }

  private lookForEndedLater(): void {
    this.lookingForEnded ??= setTimeout(() => {
      this.lookingForEnded = null;
      this.changed();
    }, lookForEndedMs).unref();
  }

  /** Ends what dead processes hold, and leases that ended sooner than was known: their ends are changes. */
  private async tick(): Promise<void> {
    await endDeadHolders(this.executor, this.org);
    await endOverdueLeases(this.executor, this.org);
    await this.lookForDue();
  }

  private async lookForDue(): Promise<void> {
    const { executor, org } = this;
    const now = await executor.store.read(org, (_view, now) => now).catch(() => null);
    if (now === null || this.waiters.size === 0) return;
    const passed = [...this.dues].filter((at) => at <= now);
    for (const at of passed) this.dues.delete(at);
    if (this.timer) clearTimeout(this.timer.timeout);
    this.timer = null;
    if (this.dues.size > 0) this.setTimer(Math.min(...this.dues), now);
    if (passed.length === 0) return;
    // Ends the leases that are over.
    await executor.look(org, () => null).catch(() => undefined);
    this.changed();
  }

  private setTimer(at: number, now: number): void {
    const ms = Math.min(timerMsMax, at - now);
    this.timer = { at, timeout: setTimeout(() => void this.lookForDue(), ms).unref() };
  }
}

interface Chosen {
  chosen: Waiter[];
  /** When time alone may change the choice. */
  dueAt: number | null;
  /** It has looked at the session and the token of every candidate. */
  hasSeenAll: boolean;
}

/** One look at the queue, for all who wait. */
class Look {
  private readonly queues = new Map<string, ReadyNow>();
  private readonly tokens = new Map<string, boolean>();
  private readonly kinds = new Map<string, boolean>();

  constructor(
    private readonly view: Reads,
    private readonly now: number,
    private readonly isTimeForEnded: boolean,
  ) {}

  choose(candidates: Waiter[]): Chosen {
    const chosen: Waiter[] = [];
    let hasSeenAll = true;
    for (const waiter of candidates) {
      if (chosen.length >= triesMax) return { chosen, dueAt: null, hasSeenAll: false };
      const project = waiter.input.project ?? waiter.caller.project;
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
  private hasEnded({ caller: { token }, input: { sessionId } }: Waiter, project: string): boolean {
    if (!isLive(this.view.session(project, sessionId))) return true;
    if (token === undefined) return false;
    const isValid = this.tokens.get(token) ?? validToken(this.view, token, this.now) !== null;
    this.tokens.set(token, isValid);
    return !isValid;
  }

  private fits({ input: { sessionId, agentType, labels } }: Waiter, project: string): boolean {
    const { view, now, kinds } = this;
    const who = whoIs(view.session(project, sessionId)!, agentType);
    const { settings } = view.project(project)!;
    const avoid: ReadonlyMap<string, number> = new Map();
    const find = () => pickNext(view, { project, settings, who, labels, avoid, now }).entry !== null;
    if (who.names.some((name) => this.queueOf(project).assignees.has(name))) return find();
    // But for what is assigned to them, sessions of one kind fit the same tasks.
    const kind = JSON.stringify([project, labels, who.agentType, [...who.capabilities]]);
    const isFit = kinds.get(kind) ?? find();
    kinds.set(kind, isFit);
    return isFit;
  }

  private dueAt(): number | null {
    const times = [this.view.nextDue(this.now), ...[...this.queues.values()].map((each) => each.soonestAt)];
    const known = times.filter((at) => at !== null);
    return known.length === 0 ? null : Math.min(...known);
  }
}
