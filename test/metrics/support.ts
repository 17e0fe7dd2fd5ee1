// A store with its pipeline, as a server has it.

import { environment } from "../../src/compose.js";
import type { OperationName } from "../../src/contract/registry.js";
import { dispatch } from "../../src/operations/dispatch.js";
import { Executor } from "../../src/operations/execute.js";
import type { Driver, TestClock } from "../../src/store/conformance/index.js";
import type { Store } from "../../src/store/store.js";
import { withStores } from "../transfer/drivers.js";

export const org = "default";
export const project = "demo";
const caller = { org, project, actor: "user:test", role: "admin" as const };

/** Each job is a commit of its own. */
export function executorOn(store: Store): Executor & { submitted: number } {
  const counted = { submitted: 0 };
  const submit: Executor["submit"] = async (to, job) => {
    counted.submitted++;
    const [result] = await store.commit(to, [job]);
    if (!result!.ok) throw result!.error;
    return result!.value;
  };
  return Object.assign(new Executor(store, submit, environment), counted, {
    get submitted() {
      return counted.submitted;
    },
  });
}

export class Teller {
  readonly executor: Executor;

  constructor(readonly store: Store) {
    this.executor = executorOn(store);
  }

  // biome-ignore lint/suspicious/noExplicitAny: each test looks at its own answer.
  call(name: OperationName, input: object = {}): Promise<any> {
    return dispatch(this.executor, name, input, caller, { signals: [] });
  }

  async create(
    count: number,
    { project: of = project, ...more }: { project?: string; labels?: string[] } = {},
  ) {
    const tasks = Array.from({ length: count }, (_, at) => ({ prompt: `task ${at}`, ...more }));
    await this.call("tasks.batch", { project: of, tasks });
  }

  /** Claims the next task, and answers who holds what. */
  async claim(sessionId: string, more: object = {}) {
    const { claim } = await this.call("tasks.claimNext", { sessionId, register: true, ...more });
    return { taskId: claim.taskId as string, sessionId, epoch: claim.epoch as number };
  }
}

export const result = { output: "done", filesCreated: [], filesModified: [] };

/** A store of one kind with a project, and one who calls it. */
export const withTeller = (driver: Driver, story: (teller: Teller, clock: TestClock) => Promise<void>) =>
  withStores([driver], async ([store], clock) => {
    await store!.open(org, project);
    await story(new Teller(store!), clock);
  });
