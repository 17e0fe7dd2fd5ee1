// Processes that are killed with SIGKILL in the middle of commits on DynamoDB Local: at each request of a commit, and at random.
// With DIBS_LONG=1 (npm run faults) at random for longer.

import { describe, expect, test } from "vitest";
import { brokenInvariants } from "../../src/core/invariants.js";
import { settingsFrom } from "../../src/store/dynamodb/address.js";
import { openDynamoStoreAt } from "../../src/store/dynamodb/open.js";
import { tableNames } from "../../src/store/dynamodb/tables.js";
import { Child, open, readEverything } from "../faults/support.js";
import { seeded } from "../postgres/support.js";
import { amount, report } from "../proof/figures.js";
import { impossible } from "../proof/history.js";
import { Storm, withShortLeases } from "../proof/storm.js";
import { until } from "../support.js";
import { connectTo, hasNoLocal, newTables } from "./local.js";
import { type ProxiedCall, proxied } from "./proxy.js";

const isLong = Boolean(process.env.DIBS_LONG);

/** Everything that is stored, read by a store of its own; all invariants hold. */
async function stored(address: string) {
  const store = await openDynamoStoreAt(address, null);
  try {
    const all = await readEverything(store);
    expect(brokenInvariants(all)).toEqual([]);
    expect(await store.check("default")).toEqual([]);
    const prompts = await store.read("default", (view) =>
      all.tasks.map(({ project, id }) => view.text(project, id)?.prompt),
    );
    return { ...all, prompts };
  } finally {
    await store.close();
  }
}

interface LogItem {
  SK: { S: string };
  applied?: { N: string };
}

/** How many commits of the log are not in the tables, and how many chunks there are. */
async function logOf(address: string): Promise<{ waiting: number; chunks: number }> {
  const client = await connectTo(address);
  try {
    const table = tableNames(settingsFrom(address).prefix).log;
    const all: LogItem[] = [];
    for (let after: Parameters<typeof client.query>[0]["after"]; ; ) {
      const attributes = ["PK", "SK", "applied"];
      const page = await client.query({
        table,
        partition: "ORG#default",
        attributes,
        ...(after && { after }),
      });
      all.push(...(page.items as unknown as LogItem[]));
      after = page.next;
      if (!after) break;
    }
    const count = (start: string) => all.filter(({ SK }) => SK.S.startsWith(start)).length;
    const meta = all.find(({ SK }) => SK.S === "META");
    return { waiting: count("LOG#") - Number(meta!.applied!.N), chunks: count("CHUNK#") };
  } finally {
    client.close();
  }
}

const isLogPut = ({ name, input }: ProxiedCall) =>
  name === "PutItem" && input.Item.SK.S.startsWith("LOG#") && !input.Item.packed;
const isApply = ({ name }: ProxiedCall) => name === "TransactWriteItems";

interface Moment {
  at: string;
  isMeant: (call: ProxiedCall) => boolean;
  /** Of the calls that are meant: the first is 1. */
  nth: number;
  /** Whether the call is carried out. */
  isDone: boolean;
  isCommitted: boolean;
}

const moments: Moment[] = [
  {
    at: "after the chunks of its commit, before the put",
    isMeant: isLogPut,
    nth: 1,
    isDone: false,
    isCommitted: false,
  },
  { at: "after the put, before its answer", isMeant: isLogPut, nth: 1, isDone: true, isCommitted: true },
  { at: "before any row is in the tables", isMeant: isApply, nth: 1, isDone: false, isCommitted: true },
  {
    at: "after the first transaction of rows, before its answer",
    isMeant: isApply,
    nth: 1,
    isDone: true,
    isCommitted: true,
  },
  { at: "between two transactions of rows", isMeant: isApply, nth: 4, isDone: false, isCommitted: true },
];

/** Rows of a few items each: far more than a transaction of DynamoDB takes, in a commit that is larger than an item. */
const count = 150;
const promptBytes = 6_000;

describe.skipIf(hasNoLocal)("a process that is killed", () => {
  test.each(moments)("$at leaves all of its commit or nothing", async (moment) => {
    const address = await newTables();
    let isArmed = false;
    let met = 0;
    let killed: Promise<void> | null = null;
    const byWay = await proxied(address, async (call, pass) => {
      if (killed) return null;
      if (!isArmed || !moment.isMeant(call) || ++met < moment.nth) return pass();
      if (moment.isDone) await pass();
      killed = child.kill();
      return null;
    });
    const child = new Child("client.mjs", { url: byWay });
    await child.said("ready");
    await child.call("sessions.register", { id: "a" });
    await until("all rows are in the tables", async () => (await logOf(address)).waiting === 0);

    const random = seeded(`kills.test.ts, ${moment.at}`);
    const text = () =>
      Array.from({ length: promptBytes }, () => String.fromCharCode(33 + random() * 94)).join("");
    const tasks = Array.from({ length: count }, () => ({ prompt: text() }));
    const create = { input: { tasks }, options: { idempotencyKey: "create" } };
    isArmed = true;
    child.call("tasks.batch", create.input, create.options).catch(() => undefined);
    await until("it is killed", () => killed !== null);
    await killed;

    expect((await logOf(address)).chunks).toBeGreaterThan(1);
    const before = await stored(address);
    expect(before.tasks).toHaveLength(moment.isCommitted ? count : 0);

    // Whoever repeats the call finds what it has done, or does it.
    const dibs = await open({ url: address });
    const again = await dibs.tasks.batch(create.input, create.options);
    expect(new Set(again.tasks.map(({ id }) => id)).size).toBe(count);
    const { claim } = await dibs.tasks.claimNext({ sessionId: "a" });
    const { taskId, epoch } = claim!;
    await dibs.tasks.complete({ taskId, sessionId: "a", epoch, result: "done" });
    await dibs.close();
    await until("all rows are in the tables", async () => (await logOf(address)).waiting === 0);
    const { tasks: after, prompts } = await stored(address);
    expect(after.filter(({ state }) => state === "completed").map(({ id }) => id)).toEqual([taskId]);
    expect(after).toHaveLength(count);
    expect(prompts).toEqual(tasks.map(({ prompt }) => prompt));
  });
});

describe.skipIf(hasNoLocal)("workers and readers", () => {
  test("that are killed and stopped at random lose nothing that was acknowledged, and do nothing twice", async () => {
    const url = await newTables();
    const dibs = await open({ url });
    await withShortLeases(dibs);
    const random = seeded("kills.test.ts, storm");
    const workers = amount("WORKERS", isLong ? 4 : 2);
    const kills = amount("KILLS", isLong ? 60 : 4);
    const stopEvery = Math.ceil(kills / amount("STOPS", isLong ? 6 : 1));
    const storm = new Storm({ place: () => ({ url }), random, workers, ttlMs: 2_000 });
    await storm.start();
    for (let kill = 1; kill <= kills; kill++) {
      if (kill % 4 === 0) await storm.killReader();
      else await storm.killWorker();
      if (kill % stopEvery === 0) await storm.stopWorker();
    }
    const history = await storm.end(dibs);
    expect(impossible(history)).toEqual([]);
    const isDone = ({ call, answer }: (typeof history.calls)[number]) => call === "tasks.complete" && answer;
    expect(history.calls.filter(isDone).length).toBeGreaterThan(0);
    report("DynamoDB", storm.figures);
    await dibs.close();
    await stored(url);
    await until("all rows are in the tables", async () => (await logOf(url)).waiting === 0);
  });
});
