// Shared by all benchmarks: temporary stores, medians, and the parts of Dibs that they look into.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDibs } from "../dist/index.js";

export { openDibs };

const directories = new Set();
process.on("exit", () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

export function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), "dibs-bench-"));
  directories.add(directory);
  return directory;
}

export function remove(directory) {
  rmSync(directory, { recursive: true, force: true });
  directories.delete(directory);
}

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

export const median = (values) => quantile(values, 0.5);

export async function seconds(run) {
  const start = performance.now();
  await run();
  return (performance.now() - start) / 1000;
}

export const round = (value, digits = 2) => Number(value.toFixed(digits));

/** Creates `count` independent tasks in batches. */
export async function createTasks(dibs, count, from = 0) {
  for (let at = 0; at < count; at += 1000) {
    const size = Math.min(1000, count - at);
    await dibs.tasks.batch({
      tasks: Array.from({ length: size }, (_, index) => ({
        id: `task-${String(from + at + index).padStart(9, "0")}`,
        prompt: `task number ${from + at + index}`,
      })),
    });
  }
}

export async function registerWorkers(dibs, count, more = {}) {
  const ids = Array.from({ length: count }, (_, index) => `worker-${index}`);
  await Promise.all(ids.map((id) => dibs.sessions.register({ id, ...more })));
  return ids;
}

/** Every worker claims, then completes, until nothing is left; returns the number of cycles. */
export async function workThrough(dibs, workers) {
  let cycles = 0;
  await Promise.all(
    workers.map(async (sessionId) => {
      for (;;) {
        const { claim } = await dibs.tasks.claimNext({ sessionId });
        if (!claim) return;
        await dibs.tasks.complete({ taskId: claim.taskId, sessionId, epoch: claim.epoch, result: "done" });
        cycles++;
      }
    }),
  );
  return cycles;
}

/** As dibs.work does it: the next claim is sent together with the report; each worker goes on when both are durable. */
export async function workAhead(dibs, workers) {
  let cycles = 0;
  await Promise.all(
    workers.map(async (sessionId) => {
      let { claim } = await dibs.tasks.claimNext({ sessionId });
      while (claim) {
        const { taskId, epoch } = claim;
        const done = dibs.tasks.complete({ taskId, sessionId, epoch, result: "done" });
        const next = dibs.tasks.claimNext({ sessionId });
        await done;
        cycles++;
        ({ claim } = await next);
      }
    }),
  );
  return cycles;
}
