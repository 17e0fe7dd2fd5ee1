// What calls cost, in requests and in write units: they are money. Units are computed as the service bills them: a KB of each
// item, twice in a transaction.

import { expect, test } from "vitest";
import { TestClock } from "../../src/store/conformance/index.js";
import { type Item, itemBytes, type Key, type TransactWrite } from "../../src/store/dynamodb/client.js";
import { eventually } from "../eventually.js";
import type { FakeDynamo } from "./fake.js";
import { newService, processOn, tables } from "./support.js";
import { intercepted } from "./unreliable.js";

const unitsOf = (item: Item) => Math.ceil(itemBytes(item) / 1024);

class Meter {
  requests: Record<string, number> = {};
  units = 0;

  constructor(private readonly fake: FakeDynamo) {}

  readonly client = () =>
    intercepted(this.fake.client(), (name, args, run) => {
      this.requests[name] = (this.requests[name] ?? 0) + 1;
      if (name === "putItem") this.units += unitsOf((args[0] as { item: Key & Item }).item);
      if (name === "transactWriteItems") {
        for (const write of args[0] as TransactWrite[]) this.units += 2 * this.unitsOfWrite(write);
      }
      return run(...args);
    });

  /** An update is billed by the whole item, a deletion by what is deleted. */
  private unitsOfWrite(write: TransactWrite): number {
    if ("put" in write) return unitsOf(write.put.item);
    return 1;
  }

  reset(): void {
    this.requests = {};
    this.units = 0;
  }

  get writes(): number {
    const { putItem = 0, transactWriteItems = 0 } = this.requests;
    return putItem + transactWriteItems;
  }

  get reads(): number {
    const { getItem = 0, batchGetItem = 0, query = 0 } = this.requests;
    return getItem + batchGetItem + query;
  }
}

async function metered(tasks: number) {
  const clock = new TestClock();
  const fake = await newService();
  const meter = new Meter(fake);
  const world = await processOn(meter.client(), clock);
  for (let made = 0; made < tasks; made += 200) {
    const some = Array.from({ length: Math.min(200, tasks - made) }, () => ({ prompt: "do it" }));
    await world.ok({ type: "create", correlationId: "c", tasks: some });
  }
  const isApplied = () => {
    const log = fake.contents(tables.log);
    const meta = log.find(({ SK }) => SK.S === "META") as unknown as { applied: { N: string } };
    return log.filter(({ SK }) => SK.S.startsWith("LOG#")).length - Number(meta.applied.N);
  };
  const settle = () => eventually(isApplied).toBe(0);
  await settle();
  return { world, meter, settle };
}

test("a cycle of one worker, alone: at most 32 write units, and two write requests for each call", async () => {
  const { world, meter, settle } = await metered(50);
  await world.finish((await world.next("worker"))!);
  await settle();
  meter.reset();
  const cycles = 10;
  for (let cycle = 0; cycle < cycles; cycle++) {
    const taskId = (await world.next("worker"))!;
    await settle();
    const { epoch } = await world.claimOf(taskId);
    await world.complete({ taskId, sessionId: "worker", epoch });
    await settle();
  }
  console.log(`alone: ${meter.units / cycles} units, ${JSON.stringify(meter.requests)} for ${cycles} cycles`);
  expect(meter.units / cycles).toBeLessThanOrEqual(32);
  expect(meter.writes / cycles).toBeLessThanOrEqual(4);
  await world.store.close();
});

test("cycles of 20 workers in groups: at most 20 write units each, and few requests for each group", async () => {
  const { world, meter, settle } = await metered(400);
  const workers = Array.from({ length: 20 }, (_, nth) => `worker-${nth}`);
  for (const worker of workers) await world.session(worker);
  await settle();
  meter.reset();
  const cycles = 10;
  for (let cycle = 0; cycle < cycles; cycle++) {
    const claimed = await world.together(
      workers.map((sessionId) => ({ type: "claim-next", sessionId, start: true }) as const),
    );
    await settle();
    const holds = claimed.map((outcome, nth) => ({
      taskId: (outcome as { value: { taskId: string } }).value.taskId,
      sessionId: workers[nth]!,
      epoch: 1,
    }));
    const result = { output: "done", filesCreated: [], filesModified: [] };
    await world.together(holds.map((hold) => ({ type: "complete", ...hold, result }) as const));
    await settle();
  }
  const each = cycles * workers.length;
  console.log(`in groups: ${meter.units / each} units, ${JSON.stringify(meter.requests)} for ${each} cycles`);
  expect(meter.units / each).toBeLessThanOrEqual(20);
  expect(meter.writes).toBeLessThanOrEqual(2 * cycles * 4);
  await world.store.close();
});

test("a claim costs a new process the same among 200 tasks and among 5 000", async () => {
  const readsAmong = async (tasks: number) => {
    const { world, meter } = await metered(tasks);
    await world.store.close();
    const fresh = await processOn(meter.client(), world.clock);
    meter.reset();
    await fresh.next("a");
    await fresh.store.close();
    return meter.reads;
  };
  const few = await readsAmong(200);
  const many = await readsAmong(5_000);
  console.log(`a first claim: ${few} and ${many} read requests`);
  expect(many).toBeLessThanOrEqual(1.5 * few);
});
