// Large changes: many tasks with dependencies through batches, and one completion that sets ten thousand free.

import { join } from "node:path";
import { openDibs, remove, round, seconds, temporaryDirectory } from "./lib.mjs";

export async function bulk({ quick }) {
  const directory = temporaryDirectory();
  const dibs = await openDibs({ path: join(directory, "dibs.db") });
  const total = quick ? 5_000 : 100_000;
  const batch = 1_000;
  const creating = await seconds(async () => {
    for (let at = 0; at < total; at += batch) {
      await dibs.tasks.batch({
        tasks: Array.from({ length: batch }, (_, index) => ({
          key: `k${index}`,
          prompt: `step ${at + index}`,
          ...(index === 0 ? {} : { dependsOn: [`k${index - 1}`, ...(index > 10 ? [`k${index - 10}`] : [])] }),
        })),
      });
    }
  });
  const dependents = quick ? 1_000 : 10_000;
  const { task } = await dibs.tasks.create({ prompt: "the gate", priority: 100 });
  for (let at = 0; at < dependents; at += 1_000) {
    await dibs.tasks.batch({
      tasks: Array.from({ length: 1_000 }, () => ({ prompt: "waits", dependsOn: [task.id] })),
    });
  }
  const { claim } = await dibs.tasks.claim({ taskId: task.id, sessionId: "s", register: true });
  let unblocked = 0;
  const completing = await seconds(async () => {
    const answer = await dibs.tasks.complete({
      taskId: task.id,
      sessionId: "s",
      epoch: claim.epoch,
      result: "open",
    });
    unblocked = answer.unblockedCount;
  });
  await dibs.close();
  remove(directory);
  return {
    tasksCreatedPerSecond: round(total / creating, 0),
    unblocked,
    completingMs: round(completing * 1000, 1),
    microsecondsPerDependent: round((completing * 1e6) / unblocked, 1),
    checks: [],
  };
}
