// Claim + complete with 32 workers in one process, on a PostgreSQL server with durable defaults, against job queues for PostgreSQL
// on the same server: graphile-worker (one job at a time; with local queue; with local queue and
// completions that are not acknowledged) and pg-boss. Each round works through a fresh copy of a prepared database.

import { loadavg } from "node:os";
import { createTasks, median, openDibs, registerWorkers, round, seconds, workAhead } from "./lib.mjs";
import { pgBossPerSecond, preparePgBoss } from "./pg-boss.mjs";
import { graphilePerSecond, graphilePresets, prepareGraphile } from "./pg-graphile.mjs";
import { startServer, withSql } from "./pg-server.mjs";

const workers = 32;
/** As many as graphile-worker's local queue holds jobs: only a figure, to tell waiting for commits from work. */
const manyWorkers = 512;

async function prepareDibs(url, tasks) {
  const dibs = await openDibs({ url });
  await createTasks(dibs, tasks);
  await registerWorkers(dibs, manyWorkers);
  await dibs.close();
}

async function dibsPerSecond(url, count) {
  const workerIds = Array.from({ length: count }, (_, index) => `worker-${index}`);
  const dibs = await openDibs({ url });
  let done = 0;
  const elapsed = await seconds(async () => {
    done = await workAhead(dibs, workerIds);
  });
  await dibs.close();
  return done / elapsed;
}

const dibsLeft = "SELECT count(*)::int AS left FROM dibs.task WHERE state <> 'completed'";
const graphileLeft = "SELECT count(*)::int AS left FROM graphile_worker._private_jobs";

/** What is measured: how it is prepared and worked through, and what tells how many jobs are not done afterwards. */
const contestants = {
  dibs: {
    from: "dibs",
    perSecond: (url) => dibsPerSecond(url, workers),
    left: dibsLeft,
  },
  dibs512Workers: {
    from: "dibs",
    perSecond: (url) => dibsPerSecond(url, manyWorkers),
    left: dibsLeft,
  },
  graphile: {
    from: "graphile",
    perSecond: (url, jobs) => graphilePerSecond(url, jobs, workers, graphilePresets.byDefault),
    left: graphileLeft,
  },
  graphileAwaited: {
    from: "graphile_many",
    perSecond: (url, jobs) => graphilePerSecond(url, jobs, workers, graphilePresets.awaited),
    left: graphileLeft,
  },
  graphileBatched: {
    from: "graphile_many",
    perSecond: (url, jobs) => graphilePerSecond(url, jobs, workers, graphilePresets.batched),
    left: graphileLeft,
  },
  pgBoss: {
    from: "pgboss",
    perSecond: (url, jobs) => pgBossPerSecond(url, jobs, workers),
    left: "SELECT count(*)::int AS left FROM pgboss.job WHERE name = 'job' AND state <> 'completed'",
  },
};

const prepare = {
  dibs: prepareDibs,
  graphile: prepareGraphile,
  graphile_many: prepareGraphile,
  pgboss: preparePgBoss,
};

export async function pgCycles({ quick, log }) {
  const rounds = quick ? 3 : 5;
  // A round of each takes seconds. pg-boss gets slower with the length of its queue: a short one is in its favour.
  const jobs = quick
    ? { dibs: 2_000, graphile: 2_000, graphile_many: 20_000, pgboss: 1_000 }
    : { dibs: 5_000, graphile: 5_000, graphile_many: 50_000, pgboss: 5_000 };
  const server = await startServer();
  try {
    for (const [name, fill] of Object.entries(prepare)) {
      await server.create(name);
      await fill(server.url(name), jobs[name]);
      await withSql(server.url(name), (sql) => sql.query("VACUUM ANALYZE"));
    }
    const rates = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
    for (let at = 0; at < rounds; at++) {
      for (const [name, { from, perSecond, left }] of Object.entries(contestants)) {
        const url = await server.clone("round", from);
        rates[name].push(await perSecond(url, jobs[from]));
        const [row] = await withSql(url, (sql) => sql.query(left));
        if (row.left !== 0) throw new Error(`${name} left ${row.left} of ${jobs[from]} jobs`);
        await server.drop("round");
      }
      const all = Object.entries(rates).map(([name, list]) => `${name} ${round(list[at], 0)}/s`);
      log(`  round ${at + 1}: ${all.join(", ")}; load ${round(loadavg()[0], 1)}`);
    }
    const ratio = (other) => round(median(rates.dibs.map((rate, at) => rate / rates[other][at])));
    return {
      jobs,
      perSecond: Object.fromEntries(
        Object.entries(rates).map(([name, list]) => [name, round(median(list), 0)]),
      ),
      checks: [
        {
          name: "dibs / graphile-worker, one job per fetch, cycles per second",
          ratio: ratio("graphile"),
          atLeast: 2,
        },
        { name: "dibs / pg-boss, cycles per second", ratio: ratio("pgBoss"), atLeast: 1 },
        {
          name: "dibs / graphile-worker with local queue, completions awaited, cycles per second",
          ratio: ratio("graphileAwaited"),
          atLeast: 0.7,
        },
        {
          name: "dibs / graphile-worker with local queue and batched completion (not acknowledged), cycles per second",
          ratio: ratio("graphileBatched"),
          atLeast: 1,
        },
      ],
    };
  } finally {
    await server.stop();
  }
}
