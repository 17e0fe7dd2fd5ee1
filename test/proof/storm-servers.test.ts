// Servers that are killed and come back, on a file and on PostgreSQL, and connections that fail, under workers that are killed.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { afterwards, checkStore, open, tempDir, until } from "../faults/support.js";
import { databaseIn, Serving } from "../http/program.js";
import { startServer } from "../postgres/server.js";
import { connectSql } from "../postgres/sql.js";
import { seeded, stored } from "../postgres/support.js";
import { amount, report } from "./figures.js";
import { impossible } from "./history.js";
import { Storm, withShortLeases } from "./storm.js";
import { isHeldUp, type Link, Wire } from "./wire.js";

const kills = amount("KILLS", 2);
const workers = amount("WORKERS", 2);
const stops = amount("STOPS", 1);
const faults = amount("FAULTS", 4);
const ttlMs = 500;
/** Of a client whose connection is gone without its knowledge. */
const patience = { timeoutMs: 1_500, silenceMs: 5_000 };

/** All kinds of faults in turn. A test of a few begins with any of them. */
async function cause(
  kinds: Readonly<Record<string, () => Promise<void>>>,
  { random, storm, killsWorkers = false }: { random: () => number; storm: Storm; killsWorkers?: boolean },
): Promise<void> {
  const all = Object.values(kinds);
  const first = Math.floor(random() * all.length);
  for (let fault = 0; fault < faults; fault++) {
    await storm.progress(10 + Math.floor(random() * 20));
    await sleep(random() * 10);
    await all[(first + fault) % all.length]!();
    if (killsWorkers && fault % 3 === 2) await storm.killWorker();
  }
  await storm.progress(30);
}

test("a server that is killed, with workers that are killed, loses nothing and does nothing twice", async () => {
  const random = seeded("storm-servers.test.ts, servers");
  const db = databaseIn(tempDir());
  let server = await new Serving(db, { args: ["--log-level", "error"] }).ready();
  const { port, token, url } = server;
  const dibs = await open({ path: db });
  await withShortLeases(dibs);
  const storm = new Storm({ place: () => ({ server: url, token }), random, workers, ttlMs });
  await storm.start();
  for (let kill = 0; kill < kills; kill++) {
    await storm.progress(20 + Math.floor(random() * 40));
    await sleep(random() * 10);
    await server.kill();
    server = await new Serving(db, { args: ["--port", String(port), "--log-level", "error"] }).ready();
    await storm.killWorker();
  }
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  await checkStore(db);
  report("servers", { ...storm.figures, "server kills": kills });
});

test("a server that is stopped for longer than leases, while others work on its file, does nothing twice", async () => {
  const random = seeded("storm-servers.test.ts, stops");
  const db = databaseIn(tempDir());
  const server = await new Serving(db, { args: ["--log-level", "error"] }).ready();
  const { token, url } = server;
  const dibs = await open({ path: db });
  await withShortLeases(dibs);
  const place = (at: number) => (at % 2 === 0 ? { server: url, token } : { path: db });
  const storm = new Storm({ place, random, workers, ttlMs });
  await storm.start();
  for (let done = 0; done < stops; ) {
    await storm.progress(20 + Math.floor(random() * 40));
    server.signal("SIGSTOP");
    const stoppedAt = performance.now();
    const before = storm.records;
    await until("its leases have expired", () => performance.now() - stoppedAt > 2 * ttlMs);
    // Not if it has the lock of the file: then each worker ends one call at most, and begins one.
    const wentOn = storm.records > before + 2 * workers;
    server.signal("SIGCONT");
    if (wentOn) done++;
  }
  await storm.progress(30);
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  await checkStore(db);
  report("stopped servers", { ...storm.figures, "server stops": stops });
});

test("HTTP connections that break, stall, overtake and stay half open lose nothing and do nothing twice", async () => {
  const random = seeded("storm-servers.test.ts, HTTP");
  const db = databaseIn(tempDir());
  const wire = await Wire.open();
  afterwards(() => wire.close());
  const args = ["--allow-host", `127.0.0.1:${wire.port}`, "--log-level", "error"];
  const { port, token } = await new Serving(db, { args }).ready();
  wire.target = port;
  const dibs = await open({ path: db });
  await withShortLeases(dibs);
  const place = () => ({ server: wire.url, token, ...patience });
  const storm = new Storm({ place, random, workers, ttlMs });
  await storm.start();
  const kinds = {
    break: async () => {
      wire.bytesMax = () => 500 + Math.floor(random() * 20_000);
      wire.breakAll();
      await storm.progress(20);
      wire.bytesMax = () => Number.POSITIVE_INFINITY;
      wire.breakAll();
    },
    delay: async () => {
      const resume = wire.stall();
      await sleep(random() * 2 * ttlMs);
      resume();
    },
    "half open, the server is not informed": async () => void wire.halfOpen("server"),
    "half open, the client is not informed": async () => void wire.halfOpen("client"),
    cut: async () => wire.breakAll(),
    overtake: async () => {
      const end = wire.overtake();
      await storm.progress(20);
      end();
    },
  };
  await cause(kinds, { random, storm });
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  await checkStore(db);
  report("HTTP", { ...storm.figures, "network faults": wire.faults });
});

// A write that a killed process has done half is completed from the log.
const postgres = await startServer({ full_page_writes: "on" });
afterAll(() => postgres.stop());

/** The server has said that no transaction is open. */
const isBetweenTransactions = ({ answer }: Link) =>
  answer?.toString("latin1").endsWith("Z\0\0\0\x05I") === true;

test("PostgreSQL that crashes, and connections that break, stall and stay half open, lose nothing and do nothing twice", async () => {
  const random = seeded("storm-servers.test.ts, PostgreSQL");
  const admin = connectSql(postgres.url());
  await admin.query("CREATE DATABASE storm");
  await admin.end();
  const dibs = await open({ url: postgres.url("storm") });
  await withShortLeases(dibs);
  const wire = await Wire.open();
  afterwards(() => wire.close());
  wire.target = postgres.port;
  const url = postgres.url("storm").replace(`:${postgres.port}/`, `:${wire.port}/`);
  const storm = new Storm({ place: () => ({ url: `${url}?pool=2` }), random, workers, ttlMs });
  await storm.start();
  let serverFaults = 0;
  const atServer = (fault: () => Promise<void>) => async () => {
    serverFaults++;
    await fault();
  };
  const kinds = {
    // Each connection breaks in the middle of a message.
    break: async () => {
      wire.bytesMax = () => 2_000 + Math.floor(random() * 40_000);
      wire.breakAll();
      await storm.progress(20);
      wire.bytesMax = () => Number.POSITIVE_INFINITY;
      wire.breakAll();
    },
    crash: atServer(() => postgres.crash()),
    delay: async () => {
      const resume = wire.stall();
      await sleep(random() * 2 * ttlMs);
      resume();
    },
    "kill a backend": atServer(() => postgres.killBackend()),
    // The others go on meanwhile.
    "delay one": async () => {
      let link: Link | undefined;
      await until("a transaction has ended", () => {
        link = wire.latest(isBetweenTransactions);
        return link !== undefined;
      });
      const resume = wire.stall([link!]);
      await storm.progress(10);
      await until("its next statement is sent", () => isHeldUp(link!) || link!.client.destroyed);
      resume();
    },
    restart: atServer(() => postgres.restart()),
    "half open, the server is not informed": async () => {
      const inform = wire.halfOpen("server");
      await sleep(random() * ttlMs);
      inform();
    },
    "kill the postmaster": atServer(() => postgres.killPostmaster()),
    // The others go on meanwhile.
    "half open, the client is not informed": async () => {
      const link = wire.latest();
      const inform = wire.halfOpen("client", link ? [link] : []);
      await storm.progress(10);
      inform();
    },
    cut: async () => wire.breakAll(),
  };
  await cause(kinds, { random, storm, killsWorkers: true });
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  await stored(postgres.url("storm"));
  report("PostgreSQL", {
    ...storm.figures,
    "network faults": wire.faults,
    "PostgreSQL faults": serverFaults,
  });
});
