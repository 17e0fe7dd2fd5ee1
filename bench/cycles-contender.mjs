// One contender of the cycles benchmark, in a process of its own: nobody works in a heap, or with code, that others have left.
// For every message it works once through the tasks of a fresh copy of the prepared store, and tells how many a second. What it
// wrote is on the disk before the next begins, whose own writes would have to wait for it otherwise.

import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { Statements } from "../dist/store/sqlite/statements.js";
import { openDibs, seconds, workAhead, workThrough } from "./lib.mjs";
import { plainjobPerSecond } from "./plainjob.mjs";

const [name, directory, original, tasks, workers] = process.argv.slice(2);
const workerIds = Array.from({ length: Number(workers) }, (_, index) => `worker-${index}`);

const file = join(directory, `${name}.db`);

function toDisk() {
  for (const path of [file, `${file}-wal`].filter(existsSync)) {
    const handle = openSync(path, "r+");
    fsyncSync(handle);
    closeSync(handle);
  }
}

function remove() {
  for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
}

/** Closed at the end: closing collects garbage (ADR 22), and the next round would measure how code gets warm again. */
const stores = [];

async function dibsPerSecond(work) {
  const dibs = await openDibs({ path: file });
  stores.push(dibs);
  let done = 0;
  const elapsed = await seconds(async () => {
    done = await work(dibs, workerIds);
  });
  return done / elapsed;
}

/** Notes every statement that goes to SQLite while `run` runs, on a store opened within. */
async function recording(run) {
  const calls = [];
  const { prepared } = Statements.prototype;
  const noted = new WeakMap();
  Statements.prototype.prepared = function (sql) {
    const statement = prepared.call(this, sql);
    if (!noted.has(statement)) {
      const call =
        (method) =>
        (...values) => {
          calls.push([method, sql, values]);
          return statement[method](...values);
        };
      noted.set(statement, { run: call("run"), get: call("get"), all: call("all") });
    }
    return noted.get(statement);
  };
  try {
    await run();
  } finally {
    Statements.prototype.prepared = prepared;
  }
  return calls;
}

function replayPerSecond(calls) {
  const db = new DatabaseSync(file, { timeout: 0 });
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY",
  );
  const prepared = new Map();
  const steps = calls.map(([method, sql, values]) => {
    if (!prepared.has(sql)) {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      prepared.set(sql, statement);
    }
    return [prepared.get(sql), method, values];
  });
  const start = performance.now();
  for (const [statement, method, values] of steps) statement[method](...values);
  const elapsed = (performance.now() - start) / 1000;
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return Number(tasks) / elapsed;
}

let recorded = null;
const contenders = {
  dibs: () => dibsPerSecond(workThrough),
  ahead: () => dibsPerSecond(workAhead),
  async bare() {
    if (!recorded) {
      recorded = await recording(() => dibsPerSecond(workThrough));
      copyOriginal();
    }
    return replayPerSecond(recorded);
  },
  plainjob1: () => plainjobPerSecond(file, Number(tasks), 1),
  plainjob8: () => plainjobPerSecond(file, Number(tasks), 8),
};

function copyOriginal() {
  remove();
  copyFileSync(original, file);
  toDisk();
}

process.on("message", async () => {
  if (name.startsWith("plainjob")) remove();
  else copyOriginal();
  const perSecond = await contenders[name]();
  toDisk();
  remove();
  process.send(perSecond);
});

process.on("disconnect", async () => {
  for (const dibs of stores) await dibs.close();
});
