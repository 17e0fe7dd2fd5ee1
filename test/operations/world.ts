import { join } from "node:path";
import { environment } from "../../src/compose.js";
import type { InputOf, OutputOf } from "../../src/contract/operation.js";
import type { OperationName, OperationNamed } from "../../src/contract/registry.js";
import { dispatch } from "../../src/operations/dispatch.js";
import type { Caller, Environment } from "../../src/operations/environment.js";
import { Executor } from "../../src/operations/execute.js";
import type { CallOptions } from "../../src/operations/handler.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { groupCommits } from "../../src/store/grouped.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import type { Store } from "../../src/store/store.js";
import { testDatabase } from "../postgres/database.js";
import { tempDir } from "../support.js";

export const org = "default";

export class Pipeline {
  readonly executor: Executor;

  constructor(
    readonly store: Store,
    readonly clock: TestClock,
    world: Partial<Environment> = {},
  ) {
    const commits = groupCommits(store);
    this.executor = new Executor(store, (to, job) => commits.submit(to, job), { ...environment, ...world });
  }

  /** As another process on the same store. */
  again(): Pipeline {
    return new Pipeline(this.store, this.clock);
  }

  call<N extends OperationName>(
    name: N,
    input: InputOf<OperationNamed<N>>,
    by: Partial<Caller> = {},
    options: CallOptions = {},
  ): Promise<OutputOf<OperationNamed<N>>> {
    const caller: Caller = { org, project: "demo", actor: "user:test", role: "admin", ...by };
    return dispatch(this.executor, name, input, caller, options) as Promise<OutputOf<OperationNamed<N>>>;
  }
}

export const driverNames = ["memory", "sqlite", "postgres"] as const;
export type Driver = (typeof driverNames)[number];

/** For a test file, which gets a database of its own: one case over a fresh store. */
export async function pipelines() {
  const database = await testDatabase();
  const drivers: Record<Driver, (clock: TestClock, directory: string) => Promise<Store>> = {
    memory: async (clock) => openMemoryStore(clock),
    sqlite: (clock, directory) => openSqliteStore(join(directory, "dibs.db"), clock),
    postgres: async (clock) => {
      await database.empty();
      return openPostgresStore(database.url, clock);
    },
  };
  return (driver: Driver, story: (pipeline: Pipeline) => Promise<void>, world?: Partial<Environment>) =>
    async () => {
      const directory = tempDir();
      const clock = new TestClock();
      const store = await drivers[driver](clock, directory);
      try {
        await store.open(org, "demo");
        await story(new Pipeline(store, clock, world));
      } finally {
        await store.close();
      }
    };
}
