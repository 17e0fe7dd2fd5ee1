// graphile-worker: with one job per fetch and completion; with its local queue, completions awaited; and with batched completion, where
// a worker goes on before its completion is acknowledged.

import { EventEmitter } from "node:events";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

process.env.NO_LOG_SUCCESS = "1";
const logger = new Logger(() => () => undefined);

export const graphilePresets = {
  byDefault: {},
  // Each job is completed durably before its worker goes on, as a Dibs worker does it; 512 jobs are locked in advance.
  awaited: { localQueue: { size: 512 } },
  // Its fastest: smaller local queues were slower, longer delays and a local queue of 2 000 jobs not faster. It moves on without
  // waiting for the completion, and so many jobs are locked for this process in advance.
  batched: { localQueue: { size: 512 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
};

export async function prepareGraphile(url, jobs) {
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  for (let at = 0; at < jobs; at += 1000) {
    const size = Math.min(1000, jobs - at);
    await utils.addJobs(
      Array.from({ length: size }, (_, index) => ({
        identifier: "job",
        payload: { prompt: `task number ${at + index}` },
      })),
    );
  }
  await utils.release();
}

/** Jobs per second from start to the last completion in the database. */
export async function graphilePerSecond(url, jobs, concurrency, preset) {
  const size = concurrency + 2;
  const pool = new pg.Pool({ connectionString: url, max: size });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  const warm = await Promise.all(Array.from({ length: size }, () => pool.connect()));
  for (const client of warm) client.release();
  let done = 0;
  let finish;
  const finished = new Promise((resolve) => {
    finish = resolve;
  });
  const events = new EventEmitter();
  events.on("job:error", ({ error }) => {
    throw error;
  });
  events.on("job:success", () => {
    if (++done === jobs) finish();
  });
  const start = performance.now();
  const runner = await run({
    pgPool: pool,
    logger,
    events,
    noHandleSignals: true,
    preset: { worker: { concurrentJobs: concurrency, ...preset } },
    taskList: { job: async () => undefined },
  });
  await finished;
  // The last jobs are deleted in the background.
  for (;;) {
    const { rows } = await pool.query("SELECT 1 FROM graphile_worker._private_jobs LIMIT 1");
    if (rows.length === 0) break;
  }
  const elapsed = (performance.now() - start) / 1000;
  await runner.stop();
  await pool.end();
  return jobs / elapsed;
}
