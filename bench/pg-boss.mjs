// pg-boss. Its `work` polls, at the most twice a second, so that one job per handler call means two jobs per second and worker;
// loops of `fetch` and `complete` are its fastest way to work on one job at a time. Its fetch looks at all
// queued jobs. Fewer connections than workers were slower.

import PgBoss from "pg-boss";

const queue = "job";
const options = { supervise: false, schedule: false };

async function open(url, max) {
  const boss = new PgBoss({ connectionString: url, max, ...options });
  const fail = (error) => {
    throw error;
  };
  boss.on("error", fail);
  await boss.start();
  return {
    boss,
    async stop() {
      // Its connections may end after it says so, and then with the database.
      boss.off("error", fail).on("error", () => undefined);
      await boss.stop({ graceful: false, wait: true });
    },
  };
}

export async function preparePgBoss(url, jobs) {
  const { boss, stop } = await open(url, 2);
  await boss.createQueue(queue);
  for (let at = 0; at < jobs; at += 1000) {
    const size = Math.min(1000, jobs - at);
    await boss.insert(
      Array.from({ length: size }, (_, index) => ({
        name: queue,
        data: { prompt: `task number ${at + index}` },
      })),
    );
  }
  await stop();
}

/** Jobs per second, with so many loops at once. */
export async function pgBossPerSecond(url, jobs, concurrency) {
  const { boss, stop } = await open(url, concurrency);
  await Promise.all(Array.from({ length: concurrency }, () => boss.getDb().executeSql("SELECT 1")));
  let done = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (;;) {
        const [job] = await boss.fetch(queue);
        if (!job) return;
        await boss.complete(queue, job.id);
        done++;
      }
    }),
  );
  const elapsed = (performance.now() - start) / 1000;
  await stop();
  if (done !== jobs) throw new Error(`pg-boss did ${done} of ${jobs} jobs`);
  return jobs / elapsed;
}
