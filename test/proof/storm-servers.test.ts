// Servers that are killed and come back, on a file and on PostgreSQL, under workers that are killed as well.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { afterwards, checkStore, open, tempDir } from "../faults/support.js";
import { databaseIn, Serving } from "../http/program.js";
import { ProxyServer } from "../postgres/proxy.js";
import { startServer } from "../postgres/server.js";
import { connectSql } from "../postgres/sql.js";
import { seeded, stored } from "../postgres/support.js";
import { amount, report } from "./figures.js";
import { impossible } from "./history.js";
import { Storm, withShortLeases } from "./storm.js";
import { Wire } from "./wire.js";

const kills = amount("KILLS", 2);
const workers = amount("WORKERS", 2);
const faults = amount("FAULTS", 4);
const ttlMs = 500;

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
    storm.figures.kills++;
    server = await new Serving(db, { args: ["--port", String(port), "--log-level", "error"] }).ready();
    await storm.killWorker();
  }
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  await checkStore(db);
  report("servers", storm.figures);
});

test("HTTP connections that break, stall and stay half open lose nothing and do nothing twice", async () => {
  const random = seeded("storm-servers.test.ts, HTTP");
  const db = databaseIn(tempDir());
  const wire = await Wire.open();
  afterwards(() => wire.close());
  const args = ["--allow-host", `127.0.0.1:${wire.port}`, "--log-level", "error"];
  const { port, token } = await new Serving(db, { args }).ready();
  wire.target = port;
  const dibs = await open({ path: db });
  await withShortLeases(dibs);
  const storm = new Storm({ place: () => ({ server: wire.url, token }), random, workers, ttlMs });
  await storm.start();
  const kinds = {
    break: async () => {
      wire.bytesMax = () => 500 + Math.floor(random() * 20_000);
      wire.breakAll();
      await storm.progress(20);
      wire.bytesMax = () => Number.POSITIVE_INFINITY;
      wire.breakAll();
    },
    stall: async () => {
      wire.stall();
      await sleep(random() * 2 * ttlMs);
      wire.resume();
    },
    "half open": async () => wire.halfOpen(),
    cut: async () => wire.breakAll(),
  };
  const names = Object.keys(kinds) as (keyof typeof kinds)[];
  for (let fault = 0; fault < faults; fault++) {
    await storm.progress(10 + Math.floor(random() * 20));
    await kinds[names[fault % names.length]!]();
  }
  await storm.progress(20);
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  await checkStore(db);
  report("HTTP", { ...storm.figures, faults: wire.faults });
});

// A write that a killed process has done half is completed from the log.
const postgres = await startServer({ full_page_writes: "on" });
afterAll(() => postgres.stop());

test("PostgreSQL that crashes, and connections that are cut, lose nothing and do nothing twice", async () => {
  const random = seeded("storm-servers.test.ts, PostgreSQL");
  const admin = connectSql(postgres.url());
  await admin.query("CREATE DATABASE storm");
  await admin.end();
  const url = postgres.url("storm");
  const dibs = await open({ url });
  await withShortLeases(dibs);
  const proxy = await ProxyServer.before(url);
  afterwards(() => proxy.close());
  const storm = new Storm({ place: () => ({ url: `${proxy.url}?pool=2` }), random, workers, ttlMs });
  await storm.start();
  const bytes = () => 2_000 + Math.floor(random() * 40_000);
  const kinds = {
    // Each connection breaks in the middle of a message.
    break: async () => {
      const before = proxy.cuts;
      proxy.rules.bytesMax = () => ({ toServer: bytes(), toClient: bytes() });
      proxy.cutAll();
      await storm.progress(20);
      proxy.rules = {};
      proxy.cutAll();
      counted += proxy.cuts - before;
    },
    cut: async () => proxy.cutAll(),
    crash: () => postgres.crash(),
    restart: () => postgres.restart(),
    "kill a backend": () => postgres.killBackend(),
    "kill the postmaster": () => postgres.killPostmaster(),
  };
  let counted = 0;
  const names = Object.keys(kinds) as (keyof typeof kinds)[];
  // A test of a few faults begins with any of them.
  const first = Math.floor(random() * names.length);
  for (let fault = 0; fault < faults; fault++) {
    await storm.progress(10 + Math.floor(random() * 20));
    await sleep(random() * 10);
    await kinds[names[(first + fault) % names.length]!]();
    counted++;
    if (fault % 3 === 2) await storm.killWorker();
  }
  await storm.progress(30);
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  await stored(url);
  report("PostgreSQL", { ...storm.figures, faults: counted });
});
