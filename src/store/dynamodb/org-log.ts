// The log of one org, as this process follows it: a put at its head is a commit. What is known is the tables, overlaid with the
// log from what was applied when a fetch began. A fetch can bring rows that are newer than the head: a run that counts has asked
// the log after its last fetch, or is confirmed by its own put.

import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../store.js";
import { type Calls, pauseAfter, type Stored } from "./calls.js";
import { DynamoError, keyOf } from "./client.js";
import { isTransient, translate } from "./errors.js";
import { endOf, type Write } from "./items.js";
import type { OrgKeys } from "./keys.js";
import type { KnownItems } from "./known-items.js";
import {
  itemsOfRecord,
  type LogItems,
  type LogRecord,
  logKey,
  recordIn,
  Stub,
  tokenIn,
} from "./log-record.js";
import { layoutNumber, metaKey, readMeta } from "./meta.js";
import { Overlay } from "./overlay.js";

/** A head older than this is read again before a put: its place in the log may have been emptied, and its stub expired. */
const headAgeMaxMs = 60_000;
/** How long an answer to a put is waited for. */
const putPatienceMs = 30_000;
/** A process that just won lets others go first. */
const fairPauseMs = 10;
const batchWriteMax = 10;

export interface NewCommit {
  /** The head that its decisions have seen. */
  head: number;
  token: string;
  mayFree: boolean;
  writes: Write[];
}

export class OrgLog {
  readonly overlay = new Overlay();
  /** The last version that is known; 0: the org does not exist. -1: nothing is known. */
  head = -1;
  /** Everything up to this version is in the tables, as far as known. */
  applied = 0;
  /** Raised when everything known is dropped. */
  generation = 0;
  /** What was applied when each fetch under way began. */
  private readonly fetches = new Set<{ applied: number }>();
  private readonly caches = new Set<KnownItems>();
  private polledAt = { wall: 0, steady: Number.NEGATIVE_INFINITY };
  private turns: Promise<void> = Promise.resolve();
  private nextPoll: Promise<void> | null = null;
  /** Of the put under way: a poll can meet its commit before its answer comes. */
  private ownToken: string | null = null;
  private hasWon = false;
  private sawForeign = false;
  /** How many rows were fetched into the kept cache, and how many of them before the last poll. */
  private keptFetches = 0;
  private keptPolled = 0;
  /** Called with each commit of another process. */
  onForeign: (record: LogRecord) => void = () => {};

  constructor(
    readonly calls: Calls,
    readonly keys: OrgKeys,
    /** Where rows are kept that were just written. */
    private readonly kept: KnownItems,
  ) {
    this.caches.add(kept);
  }

  /** No kept row is newer than the head. */
  get isKeptSettled(): boolean {
    return this.keptPolled === this.keptFetches;
  }

  /** Rows were fetched into a cache. */
  noteFetched(cache: KnownItems): void {
    if (cache === this.kept) this.keptFetches++;
  }

  private get table(): string {
    return this.calls.tables.log;
  }

  /** A cache that follows the log until it is left. */
  follow(cache: KnownItems): () => void {
    this.caches.add(cache);
    return () => this.caches.delete(cache);
  }

  /** Reads the log from its head; a call shares a poll that has not begun yet. */
  poll(): Promise<void> {
    this.nextPoll ??= this.inTurn(() => {
      this.nextPoll = null;
      return this.pollOnce();
    });
    return this.nextPoll;
  }

  /** What moves the head runs one after the other. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.turns.then(work);
    this.turns = turn.catch(() => undefined);
    return turn;
  }

  private async pollOnce(): Promise<void> {
    const begun = clocks();
    const { keptFetches } = this;
    if (this.head >= 0 && this.isStale()) await this.checkStale();
    if (this.head < 0) await this.load();
    await this.readOn();
    this.polledAt = begun;
    this.keptPolled = keptFetches;
  }

  private isStale(): boolean {
    const { wall, steady } = clocks();
    const asleepMs = Math.max(Math.abs(wall - this.polledAt.wall), steady - this.polledAt.steady);
    return asleepMs > headAgeMaxMs;
  }

  /** After a long sleep the log may have been emptied behind the head, and its stubs be gone. */
  private async checkStale(): Promise<void> {
    const meta = await this.meta();
    if (!meta || meta.applied > this.head) this.reset();
  }

  private async load(): Promise<void> {
    const meta = await this.meta();
    this.head = this.applied = meta?.applied ?? 0;
  }

  async meta() {
    const found = await this.calls.get({ table: this.table, key: keyOf(this.keys.root, metaKey) });
    const meta = found && readMeta(found);
    if (meta && meta.layout > layoutNumber) {
      throw new StoreError(
        "STORE_TOO_NEW",
        `${this.calls.where} has layout ${meta.layout}; this version of Dibs supports up to ${layoutNumber}.`,
        "Update Dibs; nothing was changed.",
      );
    }
    return meta;
  }

  private async readOn(): Promise<void> {
    const { root } = this.keys;
    const { generation } = this;
    const items = await this.calls.all({
      table: this.table,
      partition: root,
      from: logKey(this.head + 1),
      to: endOf("LOG#"),
    });
    for (const item of items) await this.take(item, generation);
  }

  /** Takes in the next commit. */
  private async take(item: Stored, generation: number): Promise<void> {
    const record = await recordIn(this.calls, this.keys, this.table, item);
    if (generation !== this.generation || record.version <= this.head) return;
    if (record instanceof Stub || record.version !== this.head + 1) {
      this.reset();
      await this.load();
      await this.readOn();
      return;
    }
    const isOwn = record.token === this.ownToken;
    this.advance(record, isOwn);
    if (isOwn) return;
    this.sawForeign = true;
    this.onForeign(record);
  }

  /** Forgets everything: what lies between is no longer in the log. */
  private reset(): void {
    this.generation++;
    this.head = -1;
    this.overlay.clear();
    for (const cache of this.caches) cache.clear();
  }

  private advance({ version, writes }: Pick<LogRecord, "version" | "writes">, isOwn: boolean): void {
    this.head = version;
    this.overlay.add(version, writes);
    for (const write of writes) {
      for (const cache of this.caches) cache.follow(write, isOwn && cache === this.kept && isKept(write));
    }
  }

  /** The tables have everything up to this version. Fetches that began before still need the log from where they began. */
  noteApplied(version: number): void {
    this.applied = Math.max(this.applied, version);
    this.prune();
  }

  private prune(): void {
    let floor = this.applied;
    for (const { applied } of this.fetches) floor = Math.min(floor, applied);
    this.overlay.prune(floor);
  }

  /** Runs a fetch; meanwhile nothing leaves the overlay. */
  async fetching(fetch: () => Promise<void>): Promise<void> {
    if (this.head < 0) await this.poll();
    const under = { applied: this.applied };
    this.fetches.add(under);
    try {
      await fetch();
    } finally {
      this.fetches.delete(under);
      this.prune();
    }
  }

  /** Returns whether it is committed. If not, the commit that was first has been taken in. */
  async commit({ head, token, mayFree, writes }: NewCommit): Promise<boolean> {
    if (this.hasWon && this.sawForeign) await delay(Math.random() * fairPauseMs);
    if (this.isStale()) await this.poll();
    if (this.head !== head) return false;
    const record: LogRecord = { version: head + 1, token, mayFree, writes };
    const items = itemsOfRecord(this.keys, record, this.calls.clock.now());
    await this.putChunks(items);
    const { generation } = this;
    this.ownToken = token;
    const winner = await this.put(items).finally(() => {
      this.ownToken = null;
    });
    if (winner) {
      this.hasWon = false;
      await this.inTurn(() => this.take(winner, generation));
      await this.dropChunks(items);
      return false;
    }
    this.hasWon = true;
    this.sawForeign = false;
    if (generation === this.generation && this.head === head) this.advance(record, true);
    return true;
  }

  /** The put that is the commit: repeated with the same bytes until its answer is known. Returns the winner, if it lost. */
  private async put({ item }: LogItems): Promise<Stored | null> {
    const request = { table: this.table, item, conditions: [{ absent: "PK" }], once: true };
    const until = performance.now() + putPatienceMs;
    for (let failures = 0; ; failures++) {
      try {
        await this.calls.once(() => this.calls.client.putItem(request));
        return null;
      } catch (error) {
        if (error instanceof DynamoError && error.kind === "condition-failed" && error.item) {
          return tokenIn(error.item) === tokenIn(item) ? null : error.item;
        }
        if (!isTransient(error)) throw translate(error, this.calls.where);
        if (performance.now() > until) throw this.unknown(error);
        await delay(pauseAfter(failures));
      }
    }
  }

  private unknown(error: unknown): StoreError {
    return new StoreError(
      "STORE_UNAVAILABLE",
      `${this.calls.where} did not answer while a change was being committed: ${(error as Error).message}`,
      "Check whether it was, or repeat it with the same idempotency key.",
      error,
    );
  }

  private async putChunks({ chunks }: LogItems): Promise<void> {
    for (let at = 0; at < chunks.length; at += batchWriteMax) {
      const some = chunks.slice(at, at + batchWriteMax);
      await this.calls.writeAll(some.map((put) => ({ table: this.table, put })));
    }
  }

  private async dropChunks({ chunks }: LogItems): Promise<void> {
    await this.calls.writeAll(chunks.map(({ PK, SK }) => ({ table: this.table, delete: { PK, SK } })));
  }
}

const clocks = () => ({ wall: Date.now(), steady: performance.now() });

/** What the next commits are likely to look up. */
const isKept = ({ sk }: Write): boolean =>
  /^(META$|TEXT$|TASK#|AGENT#|RECORD#|COUNT|PROJECT#|LANE#)/.test(sk);
