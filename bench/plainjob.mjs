// plainjob over the same SQLite binding as ours (its own, better-sqlite3, must be compiled at install).

import { DatabaseSync } from "@photostructure/sqlite";
import { defineQueue, defineWorker } from "plainjob";

function connection(file) {
  const db = new DatabaseSync(file);
  const prepared = new Map();
  const statement = (sql) => {
    if (!prepared.has(sql)) prepared.set(sql, db.prepare(sql));
    return prepared.get(sql);
  };
  const within = (begin, run, values) => {
    statement(begin).run();
    try {
      const result = run(...values);
      statement("COMMIT").run();
      return result;
    } catch (error) {
      if (db.isTransaction) statement("ROLLBACK").run();
      throw error;
    }
  };
  return {
    driver: "better-sqlite3",
    filename: file,
    pragma: (sql) => {
      db.prepare(`PRAGMA ${sql}`).all();
    },
    exec: (sql) => db.exec(sql),
    prepare: (sql) => db.prepare(sql),
    close: () => db.close(),
    transaction(run) {
      const deferred = (...values) => within("BEGIN", run, values);
      deferred.deferred = deferred;
      deferred.immediate = (...values) => within("BEGIN IMMEDIATE", run, values);
      deferred.exclusive = (...values) => within("BEGIN EXCLUSIVE", run, values);
      return deferred;
    },
  };
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Jobs per second from start to the last completion, with this many workers in one process. */
export async function plainjobPerSecond(file, jobs, workerCount) {
  const store = connection(file);
  const queue = defineQueue({ connection: store, logger: silent });
  queue.addMany(
    "job",
    Array.from({ length: jobs }, (_, index) => ({ prompt: `task number ${index}` })),
  );
  // As the others, it begins with all jobs in the file and none in the log.
  store.pragma("wal_checkpoint(TRUNCATE)");
  let done = 0;
  let finish;
  const finished = new Promise((resolve) => {
    finish = resolve;
  });
  const workers = Array.from({ length: workerCount }, () =>
    defineWorker("job", async () => undefined, {
      queue,
      logger: silent,
      onCompleted: () => {
        if (++done === jobs) finish();
      },
    }),
  );
  const start = performance.now();
  for (const worker of workers) void worker.start();
  await finished;
  const elapsed = (performance.now() - start) / 1000;
  await Promise.all(workers.map((worker) => worker.stop()));
  queue.close();
  return jobs / elapsed;
}
