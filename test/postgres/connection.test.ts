// What the store relies on in its connections, whatever the driver does behind them.

import { afterEach, describe, expect, test, vi } from "vitest";
import { readUrl } from "../../src/store/postgres/address.js";
import { Connection } from "../../src/store/postgres/connection.js";
import { Database } from "../../src/store/postgres/database.js";
import { isConnectionLoss } from "../../src/store/postgres/errors.js";
import { afterwards, until } from "../faults/support.js";
import { testDatabase } from "./database.js";
import { ProxyServer } from "./proxy.js";

const { url, admin } = await testDatabase();
const rows = ({ rows }: { rows: unknown[] }) => rows;
const settled = (statements: Promise<unknown>[]) =>
  Promise.allSettled(statements).then((all) =>
    all.map((each) => (each.status === "fulfilled" ? each.value : each.reason)),
  );

afterEach(() => {
  vi.useRealTimers();
});

async function connect(address = url): Promise<Connection> {
  const connection = new Connection(readUrl(address).client);
  afterwards(async () => connection.destroy());
  await connection.connect();
  return connection;
}

async function connectThroughProxy() {
  const proxy = await ProxyServer.before(url);
  afterwards(() => proxy.close());
  return { proxy, connection: await connect(proxy.url) };
}

/** Statements that are sent, but not answered. */
async function underWay(connection: Connection, proxy: ProxyServer) {
  let arrived = 0;
  proxy.rules = {
    fromClient: () => {
      arrived++;
      return "drop";
    },
  };
  const sent = [1, 2, 3].map((n) => connection.run({ text: "SELECT $1::int", values: [n] }, rows));
  await until("they are sent", () => arrived > 10);
  return sent;
}

describe("a connection", () => {
  test("sends statements without waiting for answers, and answers each in order", async () => {
    const connection = await connect();
    const sent = [1, 2, 3].map((n) =>
      connection.run({ text: "SELECT $1::bigint, $1::text, '[1]'::json", values: [n], name: "same" }, rows),
    );
    expect(await Promise.all(sent)).toEqual([1, 2, 3].map((n) => [[n, String(n), [1]]]));
  });

  test("fails the statements behind one that failed, and then works as before", async () => {
    const connection = await connect();
    // The second is refused before it is prepared, the third under a name that was not prepared.
    const sent = ["BEGIN", "SELECT 1/0", "SELECT 1", "SELECT 1", "ROLLBACK"].map((text) =>
      connection.run(
        { text, name: text.startsWith("SELECT") ? text : undefined },
        (result) => result.command,
      ),
    );
    expect(await settled(sent)).toEqual([
      "BEGIN",
      expect.objectContaining({ code: "22012" }),
      expect.objectContaining({ code: "25P02" }),
      expect.objectContaining({ code: "26000" }),
      "ROLLBACK",
    ]);
    expect(await connection.run({ text: "SELECT 1", name: "SELECT 1" }, rows)).toEqual([[1]]);
  });

  test("that is cut rejects all statements under way, and those that follow", async () => {
    const { proxy, connection } = await connectThroughProxy();
    const sent = await underWay(connection, proxy);
    proxy.cutAll();
    const errors = await settled(sent);
    expect(errors.map(isConnectionLoss)).toEqual([true, true, true]);
    const [late] = await settled([connection.run({ text: "SELECT 1" }, rows)]);
    expect(isConnectionLoss(late)).toBe(true);
  });

  test("that the administrator ends rejects the statement under way, and those behind it", async () => {
    const connection = await connect();
    const [[pid]] = (await connection.run({ text: "SELECT pg_backend_pid()" }, rows)) as [[number]];
    const sent = ["SELECT pg_sleep(60)", "SELECT 1"].map((text) => connection.run({ text }, rows));
    await until("it sleeps", async () => {
      const [{ state }] = (await admin`SELECT state FROM pg_stat_activity WHERE pid = ${pid}`) as [
        { state: string },
      ];
      return state === "active";
    });
    await admin`SELECT pg_terminate_backend(${pid})`;
    const errors = await settled(sent);
    expect(errors.map(isConnectionLoss)).toEqual([true, true]);
  });

  test("without an answer for 75 s counts as lost", async () => {
    const { proxy, connection } = await connectThroughProxy();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const sent = settled(await underWay(connection, proxy));
    vi.advanceTimersByTime(74_000);
    expect(await Promise.race([sent, "open"])).toBe("open");
    vi.advanceTimersByTime(1_000);
    expect((await sent).map(isConnectionLoss)).toEqual([true, true, true]);
  });
});

describe("the pool", () => {
  test("says after 30 s that all connections are in use", async () => {
    const database = new Database(readUrl(`${url}?pool=2`));
    afterwards(() => database.end());
    const taken = [1, 2].map(() => database.begin("default", { write: false }));
    for (const transaction of taken) await (await transaction).plain("SELECT 1");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const waiting = settled([database.begin("default", { write: false })]);
    vi.advanceTimersByTime(30_000);
    expect(await waiting).toEqual([
      expect.objectContaining({ code: "STORE_BUSY", message: "All 2 connections are in use." }),
    ]);
    for (const transaction of taken) await (await transaction).end();
  });

  test("rejects statements under way and closes when it is ended", async () => {
    const database = new Database(readUrl(url));
    const transaction = await database.begin("default", { write: false });
    const sleeping = settled([transaction.plain("SELECT pg_sleep(60)")]);
    const ended = database.end();
    expect((await sleeping).map(isConnectionLoss)).toEqual([true]);
    await transaction.end();
    await ended;
    const [late] = await settled([database.begin("default", { write: false })]);
    expect(isConnectionLoss(late)).toBe(true);
  });
});

describe("an address", () => {
  test.each([
    ["", undefined],
    ["?sslmode=disable", false],
    ["?sslmode=require", { rejectUnauthorized: false }],
    ["?sslmode=verify-full", { rejectUnauthorized: true }],
    ["?ssl=true", { rejectUnauthorized: true }],
  ])("with %j is encrypted as %j", (parameters, ssl) => {
    expect(readUrl(`postgres://me@host/db${parameters}`).client.ssl).toEqual(ssl);
  });

  test("names the server, the user and the database; special characters are percent-encoded", () => {
    const { client, where } = readUrl("postgres://m%40e:p%2Fw@[::1]:5433/my%20tasks?pool=3");
    expect(client).toMatchObject({
      host: "::1",
      port: 5433,
      user: "m@e",
      password: "p/w",
      database: "my tasks",
    });
    expect(where).toBe("postgres://[::1]:5433/my%20tasks");
    expect(readUrl("postgres://me@%2Ftmp/db").client.host).toBe("/tmp");
  });

  test("with sslmode=prefer is not encrypted if the server has no TLS", async () => {
    const { openPostgresStore } = await import("../../src/store/postgres/store.js");
    await (await openPostgresStore(`${url}?sslmode=prefer`, null)).close();
    await expect(openPostgresStore(`${url}?sslmode=require`, null)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("does not support SSL"),
    });
  });
});
