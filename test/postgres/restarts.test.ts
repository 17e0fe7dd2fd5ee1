// The server crashes, restarts and loses processes, and connections are ended by its administrator, while work goes on. Nobody who works has to
// know: what was acknowledged is there, and nothing is done twice.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import type { Dibs } from "../../src/index.js";
import { open } from "../faults/support.js";
import { report } from "../proof/figures.js";
import { until } from "../support.js";
import { startServer } from "./server.js";
import { connectSql } from "./sql.js";
import { seeded, stored } from "./support.js";

// A write that a killed process has done half is completed from the log.
const server = await startServer({ full_page_writes: "on" });
afterAll(() => server.stop());

async function freshDatabase(name: string): Promise<string> {
  const sql = connectSql(server.url());
  await sql.query(`CREATE DATABASE ${name}`);
  await sql.end();
  return server.url(name);
}

/** Two clients with several loops each: create, claim what comes, complete, until told to stop. */
async function startFleet(url: string) {
  const clients = await Promise.all([open({ url: `${url}?pool=2` }), open({ url: `${url}?pool=3` })]);
  const fleet = { isOver: false, created: [] as string[], completed: new Map<string, string>() };
  const loop = async (dibs: Dibs, who: string) => {
    const { session } = await dibs.sessions.register({ name: who });
    for (let round = 0; !fleet.isOver; round++) {
      const { task } = await dibs.tasks.create({ prompt: `${who}/${round}` });
      fleet.created.push(task.id);
      const { claim } = await dibs.tasks.claimNext({ sessionId: session.id, start: round % 2 === 0 });
      if (!claim) continue;
      const { taskId, epoch } = claim;
      const output = `${taskId} by ${who}/${round}`;
      await dibs.tasks.complete({ taskId, epoch, sessionId: session.id, result: { output } });
      fleet.completed.set(taskId, output);
    }
  };
  const loops = clients.flatMap((dibs, at) =>
    Array.from({ length: 4 }, (_, n) => loop(dibs, `client ${at} loop ${n}`)),
  );
  const ended = Promise.all(loops);
  ended.catch(() => undefined);
  return {
    created: fleet.created,
    completed: fleet.completed,
    /** So much more is completed, or a loop has failed. */
    async goesOn(more: number): Promise<void> {
      const goal = fleet.completed.size + more;
      let isBroken = false;
      ended.catch(() => {
        isBroken = true;
      });
      await until("so much is completed", () => isBroken || fleet.completed.size >= goal);
      if (isBroken) await ended;
    },
    async stop(): Promise<void> {
      fleet.isOver = true;
      await ended;
    },
  };
}

type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** No loop has seen an error, and the store has what they were told, once. */
async function expectWhole(fleet: Fleet, url: string): Promise<void> {
  await fleet.stop();
  const { tasks, claims, attempts, events } = await stored(url);
  expect(tasks.map(({ id }) => id).sort()).toEqual([...fleet.created].sort());
  expect(claims).toEqual([]);
  const outputs = new Map(attempts.map(({ taskId, result }) => [taskId, result?.output]));
  expect(outputs).toEqual(fleet.completed);
  expect(attempts).toHaveLength(fleet.completed.size);
  const completions = events.filter(({ type }) => type === "task:completed");
  expect(completions).toHaveLength(fleet.completed.size);
}

test("a server that crashes, restarts or loses a process at any moment costs nobody anything but time", async () => {
  const outages = ["crash", "killBackend", "restart", "killPostmaster"] as const;
  const random = seeded("restarts.test.ts");
  const url = await freshDatabase("crashes");
  const fleet = await startFleet(url);
  for (const outage of outages) {
    await fleet.goesOn(20 + Math.floor(random() * 20));
    await sleep(random() * 10);
    await server[outage]();
  }
  await fleet.goesOn(20);
  await expectWhole(fleet, url);
  report("PostgreSQL restarts", {
    "PostgreSQL faults": outages.length,
    "completed tasks": fleet.completed.size,
  });
});

test("connections that the administrator ends, again and again, are replaced unnoticed", async () => {
  const random = seeded("restarts.test.ts");
  const url = await freshDatabase("terminations");
  const fleet = await startFleet(url);
  const admin = connectSql(server.url());
  let ended = 0;
  try {
    while (ended < 60) {
      await fleet.goesOn(1);
      await sleep(random() * 8);
      const rows = await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = 'terminations' AND application_name LIKE 'dibs%' ORDER BY md5(pid::text || ${random()}) LIMIT 2`;
      ended += rows.length;
    }
  } finally {
    await admin.end();
  }
  await fleet.goesOn(20);
  await expectWhole(fleet, url);
  report("PostgreSQL connections", { "PostgreSQL faults": ended, "completed tasks": fleet.completed.size });
});
