// kill -9 at random moments. What was acknowledged is there, the rules hold, and the work goes on without waiting for leases.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Everything } from "../../src/core/invariants.js";
import { Child, checkStore, open, randomFrom, tempFile, until } from "./support.js";

const rounds = 5;
const workersPerRound = 4;

test("processes killed at random moments lose nothing that was acknowledged", async () => {
  const seed = Number(process.env.DIBS_SEED) || Math.floor(Math.random() * 2 ** 31);
  console.info(`killed.test.ts: seed ${seed} (set DIBS_SEED to repeat)`);
  const random = randomFrom(seed);
  const path = tempFile();
  const dibs = await open({ path });
  // Unlucky tasks may lose more than three workers here.
  await dibs.projects.update({ settings: { maxLost: 1_000 } });
  await dibs.close();

  const all: Child[] = [];
  for (let round = 0; round < rounds; round++) {
    const workers = Array.from({ length: workersPerRound }, () => new Child("busy.mjs", { path }));
    all.push(...workers);
    await Promise.all(workers.map((worker) => killSometime(worker, random)));
    await checkStore(path);
  }
  expect(all.flatMap((worker) => worker.of("trouble"))).toEqual([]);
  const acknowledged = all.flatMap((worker) => worker.messages);
  expect(acknowledged.filter(({ type }) => type === "completed").length).toBeGreaterThan(rounds);

  const store = await checkStore(path);
  expect(missing(store, acknowledged)).toEqual([]);

  // Leases last half an hour: only the liveness of the processes can free what they held.
  const fresh = new Child("drain.mjs", { path, loops: 2 });
  await fresh.said("ready");
  fresh.send("go");
  const { errors } = await fresh.said("done");
  expect(errors).toEqual([]);
  const end = await checkStore(path);
  expect(end.tasks.filter((task) => task.state !== "completed")).toEqual([]);
  expect(end.claims).toEqual([]);
  expect(missing(end, acknowledged)).toEqual([]);
  const held = store.claims.map(({ taskId, epoch }) => `${taskId} ${epoch}`);
  const orphaned = end.events.filter((event) => event.type === "task:claim-orphaned");
  const orphans = orphaned.map(({ taskId, epoch }) => `${taskId} ${epoch}`);
  expect(held.filter((each) => !orphans.includes(each))).toEqual([]);
});

async function killSometime(worker: Child, random: () => number): Promise<void> {
  const acknowledgements = Math.floor(random() * 40);
  await until(`${acknowledgements} acknowledgements`, () => {
    if (worker.of("trouble").length > 0) throw new Error(JSON.stringify(worker.of("trouble")[0]));
    return worker.messages.length >= acknowledgements;
  });
  await sleep(random() * 30);
  await worker.kill();
}

/** Acknowledged writes of which the store knows nothing, as sentences. */
function missing(store: Everything, acknowledged: Child["messages"]): string[] {
  const tasks = new Map(store.tasks.map((task) => [task.id, task]));
  const attempts = [...store.attempts, ...store.claims].map(
    ({ taskId, epoch, sessionId }) => `${taskId} ${epoch} ${sessionId}`,
  );
  const closed = new Map(store.attempts.map((attempt) => [`${attempt.taskId} ${attempt.epoch}`, attempt]));
  const known = new Set(attempts);
  const registered = store.events.filter((event) => event.type === "session:registered");
  const sessions = new Set(registered.map((event) => event.sessionId));
  return acknowledged.flatMap((message) => {
    const { type, taskId, epoch, sessionId } = message;
    const isThere =
      (type === "registered" && sessions.has(sessionId)) ||
      (type === "created" && tasks.has(taskId)) ||
      (type === "claimed" && known.has(`${taskId} ${epoch} ${sessionId}`)) ||
      (type === "completed" &&
        tasks.get(taskId)?.state === "completed" &&
        closed.get(`${taskId} ${epoch}`)?.result?.output === message.result);
    return isThere ? [] : [JSON.stringify(message)];
  });
}
