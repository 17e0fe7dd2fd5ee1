// Stores over one service in memory: each has a client of its own, as a process has.

import { expect } from "vitest";
import { type Driver, TestClock, World } from "../../src/store/conformance/index.js";
import type { DynamoClient } from "../../src/store/dynamodb/client.js";
import { openDynamoStore } from "../../src/store/dynamodb/store.js";
import { createTables, tableNames } from "../../src/store/dynamodb/tables.js";
import type { Clock, Store } from "../../src/store/store.js";
import { FakeDynamo, type FakeOptions } from "./fake.js";
import { type CallName, intercepted } from "./unreliable.js";

const prefix = "t";
export const tables = tableNames(prefix);
const everything = 1_000_000;

export async function newService(options?: FakeOptions): Promise<FakeDynamo> {
  const fake = new FakeDynamo(options);
  await createTables(fake.client(), prefix);
  return fake;
}

export const openOn = (
  client: DynamoClient,
  clock: Clock | null,
  processClock?: () => number,
): Promise<Store> =>
  openDynamoStore(client, {
    prefix,
    location: "dynamodb://local/t",
    clock,
    ...(processClock && { processClock }),
  });

export const fakeDriver: Driver = {
  name: "DynamoDB",
  async open(clock) {
    const fake = await newService();
    const again = () => openOn(fake.client(), clock);
    return { store: await again(), again };
  },
};

/** One process more, with its own store. */
export async function processOn(client: DynamoClient, clock = new TestClock()): Promise<World> {
  const store = await openOn(client, clock);
  await store.open("default", "demo");
  return new World(store, clock);
}

type IsMeant = (name: CallName, args: unknown[]) => boolean;

/** Of a client: the next call that is meant waits, before it is carried out or before its answer arrives. */
export class Held {
  readonly client: DynamoClient;
  private meant: { isMeant: IsMeant; when: "before" | "after" } | null = null;
  private reach = () => {};
  private open = () => {};
  private gate = Promise.resolve();

  constructor(client: DynamoClient) {
    this.client = intercepted(client, async (name, args, run) => {
      const { meant } = this;
      if (!meant?.isMeant(name, args)) return run(...args);
      this.meant = null;
      const { gate } = this;
      if (meant.when === "after") {
        const answer = await run(...args);
        this.reach();
        await gate;
        return answer;
      }
      this.reach();
      await gate;
      return run(...args);
    });
  }

  /** Resolves when the call is held; without `release`, its process is as good as dead. */
  hold(when: "before" | "after", isMeant: IsMeant): Promise<void> {
    this.meant = { isMeant, when };
    this.gate = new Promise((resolve) => {
      this.open = resolve;
    });
    return new Promise((resolve) => {
      this.reach = resolve;
    });
  }

  release(): void {
    this.open();
  }
}

const skOf = (args: unknown[]): string => {
  const [request] = args as [{ item?: { SK: { S: string } }; from?: string }];
  return request.item?.SK.S ?? request.from ?? "";
};

export const isLogPut: IsMeant = (name, args) => name === "putItem" && skOf(args).startsWith("LOG#");
export const isApply: IsMeant = (name) => name === "transactWriteItems";
export const isQueryOf =
  (start: string): IsMeant =>
  (name, args) =>
    name === "query" && skOf(args).startsWith(start);

/** The sort keys of a table that begin so. */
export const keysIn = (fake: FakeDynamo, table: keyof typeof tables, start: string): string[] =>
  fake
    .contents(tables[table])
    .map(({ SK }) => SK.S)
    .filter((sk) => sk.startsWith(start));

/** What a process without any memory finds: the invariants hold, and the counts and the queue are those of the tasks. */
export async function expectWhole(fake: FakeDynamo, clock: TestClock): Promise<World> {
  const world = await processOn(fake.client(), clock);
  await world.checkInvariants();
  const seen = await world.read((view, now) => {
    const tasks = view.tasks({ project: null, afterOrdinal: 0, limit: everything });
    const ready = tasks.filter(
      (task) =>
        !view.claim(task.project, task.id) &&
        task.state === "queued" &&
        task.type === "task" &&
        task.pendingDeps + task.openChildren === 0,
    );
    const counted = Object.values(view.taskCounts(null)).reduce((sum, count) => sum + count, 0);
    const inLanes = view
      .readyCounts(null, now)
      .reduce((sum, count) => sum + count.ready + count.scheduled, 0);
    return { tasks: tasks.length, counted, ready: ready.length, inLanes };
  });
  expect(seen).toEqual({ tasks: seen.tasks, counted: seen.tasks, ready: seen.ready, inLanes: seen.ready });
  return world;
}
