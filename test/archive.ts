// A server's look for old tasks, for tests that have none: as another process on the same file.

import { environment } from "../src/compose.js";
import { Executor } from "../src/operations/execute.js";
import { retireTasks } from "../src/operations/retention.js";
import { groupCommits } from "../src/store/grouped.js";
import { openSqliteStore } from "../src/store/sqlite/store.js";
import type { Clock } from "../src/store/store.js";

/** Archives what ended before now, as far as one look goes; answers how many went. */
export async function archiveFinished(path: string, clock: Clock): Promise<number> {
  const store = await openSqliteStore(path, clock);
  try {
    const commits = groupCommits(store);
    const executor = new Executor(store, (to, job) => commits.submit(to, job), environment);
    return (await retireTasks(executor, "default", { olderThanMs: 0 })).archived;
  } finally {
    await store.close();
  }
}
