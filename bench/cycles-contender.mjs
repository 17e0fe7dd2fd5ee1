// One contender of the cycles benchmark, in a process of its own: nobody works in a heap, or with code, that others have left.
// For every message it works once through the tasks of a fresh copy of the prepared store, and tells how many a second.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { Statements } from "../dist/store/sqlite/statements.js";
import { openDibs, seconds, workAhead, workThrough } from "./lib.mjs";
import { plainjobPerSecond } from "./plainjob.mjs";

const [name, directory, original, tasks, workers] = process.argv.slice(2);
const workerIds = Array.from({ length: Number(workers) }, (_, index) => `worker-${index}`);

let files = 0;
const freshFile = () => join(directory, `${name}-${files++}.db`);
function copyOfOriginal() {
  const file = freshFile();
  copyFileSync(original, file);
  return file;
}

async function dibsPerSecond(work) {
  const dibs = await openDibs({ path: copyOfOriginal() });
  let done = 0;
  const elapsed = await seconds(async () => {
    done = await work(dibs, workerIds);
  });
  await dibs.close();
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
  const db = new DatabaseSync(copyOfOriginal(), { timeout: 0 });
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
    recorded ??= await recording(() => dibsPerSecond(workThrough));
    return replayPerSecond(recorded);
  },
  plainjob1: () => plainjobPerSecond(freshFile(), Number(tasks), 1),
  plainjob8: () => plainjobPerSecond(freshFile(), Number(tasks), 8),
};

process.on("message", async () => process.send(await contenders[name]()));
