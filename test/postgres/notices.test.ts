// Whoever waits learns of what other servers do: at once when notices arrive, and soon when they do not.

import { describe, expect, test } from "vitest";
import type { Dibs } from "../../src/index.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { afterwards, open, until } from "../faults/support.js";
import { testDatabase } from "./database.js";
import { isNotification, ProxyServer } from "./proxy.js";

const database = await testDatabase();
const waitMs = 50_000;

async function proxied() {
  await until("the test before is over", async () => (await listeners()).length === 0);
  await database.empty();
  const proxy = await ProxyServer.before(database.url);
  afterwards(() => proxy.close());
  return proxy;
}

const listeners = () => database.admin`SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'dibs%' AND query ILIKE 'listen%'`;

/** A task that becomes claimable when the returned function is called, by completing what it waits for. */
async function blockedTask(dibs: Dibs): Promise<{ id: string; unblock(): Promise<unknown> }> {
  const { session } = await dibs.sessions.register({ capacity: 10 });
  const [first, second] = (
    await dibs.tasks.batch({
      tasks: [
        { key: "first", prompt: "first" },
        { key: "second", prompt: "second", dependsOn: ["first"] },
      ],
    })
  ).tasks;
  const by = { taskId: first!.id, sessionId: session.id };
  const { claim } = await dibs.tasks.claim(by);
  return { id: second!.id, unblock: () => dibs.tasks.complete({ ...by, epoch: claim.epoch }) };
}

/** One who waits, through one store, for what another store sets free. */
async function expectWoken(waiter: Dibs, other: Dibs, meanwhile: () => Promise<unknown> = async () => {}) {
  const { id, unblock } = await blockedTask(other);
  const { session } = await waiter.sessions.register();
  const waiting = waiter.tasks.claimNext({ sessionId: session.id, waitMs });
  await until("it listens", async () => (await listeners()).length > 0);
  await meanwhile();
  await unblock();
  const { claim } = await waiting;
  expect(claim?.taskId).toBe(id);
  await waiter.tasks.complete({ taskId: id, sessionId: session.id, epoch: claim!.epoch });
}

describe("a claim that waits in one store", () => {
  test("is woken by a completion in another by the notice alone", async () => {
    const proxy = await proxied();
    let looks = 0;
    // A look whose statement never arrives fails, and finds nothing.
    proxy.rules.fromClient = (message) => {
      if (!message.includes("SELECT version FROM dibs.org")) return "pass";
      looks++;
      return "drop";
    };
    const waiter = await open({ url: proxy.url });
    const other = await open({ url: database.url });
    // The store looks only while a claim waits, so quick rounds can pass without a look.
    for (let round = 0; round < 3 || looks === 0; round++) await expectWoken(waiter, other);
  });

  test("is woken also when its listening connection is ended, and it listens again", async () => {
    const proxy = await proxied();
    const waiter = await open({ url: proxy.url });
    const other = await open({ url: database.url });
    let ended: number[] = [];
    await expectWoken(waiter, other, async () => {
      const rows = await database.admin`SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query ILIKE 'listen%' AND pid <> pg_backend_pid()`;
      ended = rows.map(({ pid }) => pid);
    });
    expect(ended).toHaveLength(1);
    await until("it listens again", async () => (await listeners()).some(({ pid }) => !ended.includes(pid)));
    await expectWoken(waiter, other);
  });

  test("is woken also when a notice is lost and its own store commits right after", async () => {
    const proxy = await proxied();
    let probes = 0;
    proxy.rules.fromServer = (message) => {
      if (!isNotification(message)) return "pass";
      if (!message.includes('"probe"')) return "drop";
      probes++;
      return "pass";
    };
    const waiter = await open({ url: proxy.url });
    const other = await open({ url: database.url });
    const { id, unblock } = await blockedTask(other);
    const { session } = await waiter.sessions.register();
    const waiting = waiter.tasks.claimNext({ sessionId: session.id, waitMs });
    await until("notices are trusted", () => probes > 0);
    await unblock();
    await waiter.sessions.heartbeat({ sessionId: session.id });
    expect((await waiting).claim?.taskId).toBe(id);
  });
});

describe("a store behind a pooler that swallows notices", () => {
  test("says so, finds changes by looking, and says nothing more once they arrive", async () => {
    const proxy = await proxied();
    proxy.rules.fromServer = (message) => (isNotification(message) ? "drop" : "pass");
    const store = await openPostgresStore(proxy.url, null);
    afterwards(() => store.close());
    await store.open("default", "default");
    let changes = 0;
    store.onChange("default", () => changes++);
    const waiter = await open({ url: proxy.url });
    const other = await open({ url: database.url });
    await expectWoken(waiter, other);
    await until("a change was found", () => changes > 0);
    const said = () => store.check();
    await until("it says so", async () => (await said()).length > 0);
    expect((await said()).join()).toMatch(/Notices .* do not arrive: .*pooler/);
    await expectWoken(waiter, other);

    proxy.rules = {};
    proxy.cutAll();
    await until("notices arrive", async () => (await said()).length === 0);
    await expectWoken(waiter, other);
  });

  test("leaves no connection open when it is closed", async () => {
    const proxy = await proxied();
    const store = await openPostgresStore(proxy.url, null);
    await store.open("default", "default");
    store.onChange("default", () => undefined);
    await until("it listens", async () => (await listeners()).length > 0);
    await store.close();
    await until("all connections are gone", async () => {
      const rows = await database.admin`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'dibs%'`;
      return rows.length === 0;
    });
  });
});
