// Claim + complete with 32 workers in one process, durable (synchronous=FULL), against
// - plainjob, a SQLite job queue, at its own synchronous=NORMAL (one worker and eight, the better counts), and
// - a bare loop that does nothing but the SQL statements which Dibs did, with the same values, in the same transactions.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { Statements } from "../dist/store/sqlite/statements.js";
import {
  createTasks,
  median,
  openDibs,
  registerWorkers,
  remove,
  round,
  seconds,
  temporaryDirectory,
  workAhead,
  workThrough,
} from "./lib.mjs";
import { plainjobPerSecond } from "./plainjob.mjs";

const workers = 32;

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

function replay(file, calls) {
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
  return elapsed;
}

async function prepareStore(file, tasks) {
  const dibs = await openDibs({ path: file });
  await createTasks(dibs, tasks);
  await registerWorkers(dibs, workers);
  await dibs.close();
}

export async function cycles({ quick, log }) {
  const tasks = quick ? 4_000 : 20_000;
  const rounds = quick ? 3 : 7;
  const directory = temporaryDirectory();
  const original = join(directory, "original.db");
  await prepareStore(original, tasks);
  const rates = { dibs: [], dibsAhead: [], bare: [], plainjob: [] };

  // The statements of one run, from the same starting point as every other run.
  const traced = join(directory, "traced.db");
  copyFileSync(original, traced);
  const tracedDibs = await openDibs({ path: traced });
  const calls = await recording(() => workThrough(tracedDibs, workerIds));
  await tracedDibs.close();

  for (let at = 0; at < rounds; at++) {
    for (const [name, work] of Object.entries({ dibs: workThrough, dibsAhead: workAhead })) {
      const file = join(directory, `${name}-${at}.db`);
      copyFileSync(original, file);
      const dibs = await openDibs({ path: file });
      let done = 0;
      const elapsed = await seconds(async () => {
        done = await work(dibs, workerIds);
      });
      rates[name].push(done / elapsed);
      await dibs.close();
    }

    const bare = join(directory, `bare-${at}.db`);
    copyFileSync(original, bare);
    rates.bare.push(tasks / replay(bare, calls));

    const alone = await plainjobPerSecond(join(directory, `plain-${at}.db`), tasks, 1);
    const eight = await plainjobPerSecond(join(directory, `plain8-${at}.db`), tasks, 8);
    rates.plainjob.push(Math.max(alone, eight));
    log(
      `  round ${at + 1}: dibs ${round(rates.dibs[at], 0)}/s, ahead ${round(rates.dibsAhead[at], 0)}/s, bare ${round(rates.bare[at], 0)}/s, plainjob ${round(rates.plainjob[at], 0)}/s`,
    );
  }
  remove(directory);
  const ratios = (other, own = "dibs") => rates[own].map((rate, at) => rate / rates[other][at]);
  return {
    perSecond: {
      dibs: round(median(rates.dibs), 0),
      dibsAhead: round(median(rates.dibsAhead), 0),
      bare: round(median(rates.bare), 0),
      plainjob: round(median(rates.plainjob), 0),
    },
    checks: [
      {
        name: "dibs (FULL) / plainjob (NORMAL), cycles per second",
        ratio: round(median(ratios("plainjob"))),
        atLeast: 1,
      },
      {
        name: "the same, reporting and claiming together as dibs.work does",
        ratio: round(median(ratios("plainjob", "dibsAhead"))),
        atLeast: 1,
      },
      { name: "dibs / bare loop of the same statements", ratio: round(median(ratios("bare"))), atLeast: 0.6 },
    ],
  };
}

const workerIds = Array.from({ length: workers }, (_, index) => `worker-${index}`);
