// Claim + complete on DynamoDB Local, alone and with 32 workers, beside PostgreSQL on the same machine; what a cycle costs in requests and
// units, which are money on AWS; and what a claim costs as the queue grows. The emulator's times say nothing about AWS: ratios do.

import { loadavg } from "node:os";
import { spent, startDynamo } from "./dynamodb-server.mjs";
import {
  createTasks,
  median,
  openDibs,
  registerWorkers,
  round,
  seconds,
  workAhead,
  workThrough,
} from "./lib.mjs";
import { startServer } from "./pg-server.mjs";

const workers = 32;
/** Without a write for this long, in milliseconds, all rows are in the tables. */
const quietMs = 1_000;

async function settled(cost) {
  for (let before = -1, now = cost(); now.writeRequests !== before; now = cost()) {
    before = now.writeRequests;
    await new Promise((resolve) => setTimeout(resolve, quietMs));
  }
}

/** Cycles per second; `begin` is called when the tasks and workers are there. */
async function cycles(dibs, { count, tasks, work }, begin = async () => undefined) {
  await createTasks(dibs, tasks);
  const ids = await registerWorkers(dibs, count);
  await begin();
  let done = 0;
  const elapsed = await seconds(async () => {
    done = await work(dibs, ids);
  });
  if (done !== tasks) throw new Error(`${done} of ${tasks} tasks were done`);
  return round(done / elapsed, 1);
}

async function onDynamo(server, name, kind) {
  const { dibs, cost, close } = await server.store(name);
  let before;
  const perSecond = await cycles(dibs, kind, async () => {
    await settled(cost);
    before = cost();
  });
  await settled(cost);
  const perCycle = spent(before, cost(), kind.tasks);
  await close();
  return { perSecond, perCycle };
}

async function onPostgres(server, name, kind) {
  await server.create(name);
  const dibs = await openDibs({ url: server.url(name) });
  const perSecond = await cycles(dibs, kind);
  await dibs.close();
  return { perSecond };
}

/** Claims and completions one after the other, on queues of several lengths in turn. */
async function claimsBy(server, sizes, claims, log) {
  const stores = {};
  for (const size of sizes) {
    const opened = await server.store(`size${size}`);
    const elapsed = await seconds(() => createTasks(opened.dibs, size));
    await registerWorkers(opened.dibs, 1);
    await settled(opened.cost);
    stores[size] = { ...opened, times: [], before: opened.cost() };
    log(`  made: ${size} queued tasks in ${round(elapsed, 1)} s`);
  }
  for (let at = 0; at < claims; at++) {
    for (const { dibs, times } of Object.values(stores)) {
      let claim;
      const elapsed = await seconds(async () => {
        ({ claim } = await dibs.tasks.claimNext({ sessionId: "worker-0" }));
      });
      times.push(elapsed * 1_000);
      const { taskId, epoch } = claim;
      await dibs.tasks.complete({ taskId, epoch, sessionId: "worker-0", result: "done" });
    }
  }
  const figures = {};
  for (const [size, { times, cost, before, close }] of Object.entries(stores)) {
    await settled(cost);
    figures[size] = { claimMs: round(median(times)), perCycle: spent(before, cost(), claims) };
    await close();
  }
  return figures;
}

export async function dynamodb({ quick, log }) {
  const tiny = process.env.DIBS_BENCH_TINY === "1";
  const [alone, together] = tiny ? [20, 64] : quick ? [200, 1_000] : [500, 3_000];
  const sizes = tiny ? [50, 500] : quick ? [1_000, 10_000] : [1_000, 100_000];
  const claims = tiny ? 10 : quick ? 50 : 200;
  const kinds = {
    alone: { count: 1, tasks: alone, work: workThrough },
    with32Workers: { count: workers, tasks: together, work: workAhead },
  };
  const dynamo = await startDynamo();
  const postgres = await startServer();
  try {
    const figures = { dynamodb: {}, postgresql: {} };
    for (const [name, kind] of Object.entries(kinds)) {
      figures.dynamodb[name] = await onDynamo(dynamo, name, kind);
      figures.postgresql[name] = await onPostgres(postgres, name.toLowerCase(), kind);
      const { perSecond, perCycle } = figures.dynamodb[name];
      log(
        `  ${name}: ${perSecond}/s (PostgreSQL ${figures.postgresql[name].perSecond}/s), ${perCycle.writeUnits} write units and ${perCycle.writeRequests} write requests per cycle; load ${round(loadavg()[0], 1)}`,
      );
    }
    const bySize = await claimsBy(dynamo, sizes, claims, log);
    const [small, large] = sizes.map((size) => bySize[size]);
    return {
      ...figures,
      byQueueLength: bySize,
      checks: [
        {
          name: "write units per cycle, alone",
          ratio: figures.dynamodb.alone.perCycle.writeUnits,
          atMost: 32,
        },
        {
          name: `write units per cycle, ${workers} workers`,
          ratio: figures.dynamodb.with32Workers.perCycle.writeUnits,
          atMost: 20,
        },
        {
          name: `cost of a claim: ${sizes[1]} queued / ${sizes[0]} queued`,
          ratio: round(large.claimMs / small.claimMs),
          atMost: 1.5,
        },
        {
          name: `read units of a cycle: ${sizes[1]} queued / ${sizes[0]} queued`,
          ratio: round((large.perCycle.readUnits + 1) / (small.perCycle.readUnits + 1)),
          atMost: 1.5,
        },
      ],
    };
  } finally {
    await postgres.stop();
    await dynamo.stop();
  }
}
