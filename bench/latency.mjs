// From completing a dependency to a waiting claimNext returning, in the same process and in another one.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDibs, quantile, remove, round, temporaryDirectory } from "./lib.mjs";

const self = fileURLToPath(import.meta.url);
const wallClock = () => performance.timeOrigin + performance.now();

async function waitForOne(dibs, sessionId) {
  const { claim } = await dibs.tasks.claimNext({ sessionId, waitMs: 60_000 });
  const at = wallClock();
  await dibs.tasks.complete({ taskId: claim.taskId, sessionId, epoch: claim.epoch, result: "seen" });
  return at;
}

/** Creates a gate that is held and a task behind it, lets somebody wait, opens the gate, and measures. */
async function rounds(dibs, count, waiting) {
  const times = [];
  for (let at = 0; at < count; at++) {
    const gate = await dibs.tasks.create({ prompt: "gate" });
    const { claim } = await dibs.tasks.claim({ taskId: gate.task.id, sessionId: "opener", register: true });
    await dibs.tasks.create({ prompt: "behind", dependsOn: [gate.task.id] });
    const seen = waiting();
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
    const start = wallClock();
    await dibs.tasks.complete({
      taskId: gate.task.id,
      sessionId: "opener",
      epoch: claim.epoch,
      result: "open",
    });
    times.push((await seen) - start);
  }
  return { p50Ms: round(quantile(times, 0.5)), p99Ms: round(quantile(times, 0.99)) };
}

export async function latency({ quick }) {
  const count = quick ? 30 : 300;
  const directory = temporaryDirectory();
  const file = join(directory, "dibs.db");
  const dibs = await openDibs({ path: file });
  await dibs.sessions.register({ id: "near" });
  const sameProcess = await rounds(dibs, count, () => waitForOne(dibs, "near"));

  const child = fork(self, [file]);
  await once(child, "message");
  const otherProcess = await rounds(dibs, count, async () => {
    child.send("wait");
    const [at] = await once(child, "message");
    return at;
  });
  child.send("stop");
  await once(child, "exit");
  await dibs.close();
  remove(directory);
  return { sameProcess, otherProcess, checks: [] };
}

if (process.argv[1] === self) {
  const dibs = await openDibs({ path: process.argv[2] });
  await dibs.sessions.register({ id: "far" });
  process.on("message", async (message) => {
    if (message === "wait") process.send(await waitForOne(dibs, "far"));
    else {
      await dibs.close();
      process.disconnect();
    }
  });
  process.send("ready");
}
