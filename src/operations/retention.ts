// What is older than somebody wants to keep goes, in steps: others write in between.

import { isOldEnough, olderBelow } from "../core/transitions/archive.js";
import type { Executor } from "./execute.js";

/** Archives the oldest events, at most `limit` of them, if they are older than that; answers how many. */
export async function retireEvents(
  executor: Executor,
  org: string,
  { olderThanMs, limit }: { olderThanMs: number; limit: number },
): Promise<number> {
  const below = await executor.store.read(org, (view, now) => {
    const after = view.org().eventMin - 1;
    return olderBelow(view.events({ after, limit, readableOnly: true }), now - olderThanMs);
  });
  if (below === 0) return 0;
  const outcome = await executor.system(org, { type: "archive-events", below });
  return outcome.ok ? (outcome.value as { archived: number }).archived : 0;
}

const readMax = 1_000;
/** Removed in one commit. */
const removedMax = 200;

export interface RetireTasks {
  olderThanMs: number;
  /** Where the step before has come to. */
  below?: number | undefined;
  /** How many tasks are looked at. */
  limit?: number;
}

/**
 * Archives finished tasks that are older than that, the newest first, so that what hangs on a task goes before it. Answers how
 * many went, and where the next step goes on: null when all tasks have been looked at.
 */
export async function retireTasks(
  executor: Executor,
  org: string,
  { olderThanMs, below, limit = readMax }: RetireTasks,
): Promise<{ archived: number; next: number | null }> {
  const { tasks, before } = await executor.store.read(org, (view, now) => {
    const beforeOrdinal = below ?? view.org().ordinal + 1;
    const page = view.tasks({ project: null, afterOrdinal: 0, beforeOrdinal, limit });
    return { tasks: page, before: now - olderThanMs };
  });
  const old = tasks.filter((task) => isOldEnough(task, before));
  let archived = 0;
  for (let at = 0; at < old.length; at += removedMax) {
    const some = old.slice(at, at + removedMax).map(({ project, id }) => ({ project, id }));
    const outcome = await executor.system(org, { type: "archive-tasks", tasks: some, before });
    if (outcome.ok) archived += (outcome.value as { archived: number }).archived;
  }
  return { archived, next: tasks.length < limit ? null : tasks[tasks.length - 1]!.ordinal };
}
