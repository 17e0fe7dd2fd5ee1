// Calls that can be repeated, repeated; and the clock of the service, read from every answer.

import { backoffMs, retry } from "../../common/retry.js";
import {
  type Answer,
  type BatchWrite,
  type DynamoClient,
  DynamoError,
  dynamoLimits,
  type Item,
  type Key,
  type Query,
  type TableKey,
} from "./client.js";
import { isTransient, translate } from "./errors.js";
import type { ServiceClock } from "./service-clock.js";
import type { TableNames } from "./tables.js";

const patienceMs = 20_000;
const pauseMs = { first: 20, max: 1_000 };

/** How long to pause before a call is repeated. */
export const pauseAfter = (failures: number): number => backoffMs(pauseMs.first, failures, pauseMs.max);

export type Stored = Key & Item;

export class Calls {
  constructor(
    readonly client: DynamoClient,
    readonly tables: TableNames,
    readonly clock: ServiceClock,
    readonly where: string,
  ) {}

  /** One call, whose answer or error tells the service's time. */
  async once<A extends Answer>(call: () => Promise<A>): Promise<A> {
    try {
      const answer = await call();
      this.clock.observe(answer.time);
      return answer;
    } catch (error) {
      if (error instanceof DynamoError) this.clock.observe(error.time);
      throw error;
    }
  }

  async repeated<A extends Answer>(call: () => Promise<A>): Promise<A> {
    try {
      return await retry(() => this.once(call), {
        isTransient,
        pauseMs: pauseAfter,
        withinMs: patienceMs,
      });
    } catch (error) {
      throw translate(error, this.where);
    }
  }

  async get(key: TableKey): Promise<Stored | undefined> {
    return (await this.repeated(() => this.client.getItem(key))).item;
  }

  /** Any number of keys; absent items are absent from the answer. */
  async getAll(keys: readonly TableKey[]): Promise<{ table: string; item: Stored }[]> {
    const batches: Promise<{ table: string; item: Stored }[]>[] = [];
    for (let at = 0; at < keys.length; at += dynamoLimits.batchGetKeysMax) {
      batches.push(this.getBatch(keys.slice(at, at + dynamoLimits.batchGetKeysMax)));
    }
    return (await Promise.all(batches)).flat();
  }

  private async getBatch(keys: readonly TableKey[]): Promise<{ table: string; item: Stored }[]> {
    const found: { table: string; item: Stored }[] = [];
    await this.drain(keys, async (some) => {
      const { items, unprocessed } = await this.repeated(() => this.client.batchGetItem(some));
      found.push(...items);
      return unprocessed;
    });
    return found;
  }

  /** Of each page whether it was the last one; stops when `take` says no. */
  async pages(query: Query, take: (items: Stored[], isLast: boolean) => boolean): Promise<void> {
    let after: Key | undefined;
    for (;;) {
      const page = await this.repeated(() => this.client.query({ ...query, ...(after && { after }) }));
      after = page.next;
      if (!take(page.items, !after) || !after) return;
    }
  }

  async all(query: Query): Promise<Stored[]> {
    const found: Stored[] = [];
    await this.pages(query, (items) => {
      found.push(...items);
      return true;
    });
    return found;
  }

  /** Any number of writes, each by itself. */
  async writeAll(writes: readonly BatchWrite[]): Promise<void> {
    for (let at = 0; at < writes.length; at += dynamoLimits.batchWriteItemsMax) {
      await this.drain(writes.slice(at, at + dynamoLimits.batchWriteItemsMax), async (some) => {
        return (await this.repeated(() => this.client.batchWriteItem(some))).unprocessed;
      });
    }
  }

  /** Repeats with what was not processed, within the time of a retry. */
  private async drain<T>(all: readonly T[], step: (some: readonly T[]) => Promise<T[]>): Promise<void> {
    let left = all;
    const attempt = async () => {
      left = await step(left);
      if (left.length > 0) throw new DynamoError("busy", "a part of the request was not processed");
    };
    try {
      await retry(attempt, { isTransient, pauseMs: pauseAfter, withinMs: patienceMs });
    } catch (error) {
      throw translate(error, this.where);
    }
  }
}
