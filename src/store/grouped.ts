// Group commit, over any store. What arrives while a commit is under way shares the next one: one durable write then
// pays for all of them, and nobody waits for more than the commit before theirs.

import { type Job, type Store, StoreError } from "./store.js";

export interface GroupedCommits {
  /** Runs the job in the next group of its org. */
  submit<T>(org: string, job: Job<T>): Promise<T>;
  /** Resolves when everything submitted so far is settled; later submissions are refused. */
  close(): Promise<void>;
}

interface Pending {
  job: Job<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export function groupCommits(store: Store): GroupedCommits {
  const { groupMax } = store.capabilities;
  const queues = new Map<string, Pending[]>();
  const drains = new Set<Promise<void>>();
  let closed = false;

  async function drain(org: string, queue: Pending[]): Promise<void> {
    // One turn of the event loop between groups: whoever was answered by the last commit can join this one.
    for (await turn(); queue.length > 0; await turn()) {
      const group = queue.splice(0, groupMax);
      try {
        const results = await store.commit(
          org,
          group.map(({ job }) => job),
        );
        for (let index = 0; index < group.length; index++) {
          const { resolve, reject } = group[index]!;
          const result = results[index]!;
          if (result.ok) resolve(result.value);
          else reject(result.error);
        }
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    queues.delete(org);
  }

  return {
    submit<T>(org: string, job: Job<T>): Promise<T> {
      if (closed) return Promise.reject(new StoreError("STORE_CLOSED", "This client was closed."));
      return new Promise<T>((resolve, reject) => {
        const pending = { job, resolve: resolve as (value: unknown) => void, reject };
        const queue = queues.get(org);
        if (queue) {
          queue.push(pending);
          return;
        }
        const fresh = [pending];
        queues.set(org, fresh);
        const drained = drain(org, fresh);
        drains.add(drained);
        void drained.finally(() => drains.delete(drained));
      });
    },
    async close() {
      closed = true;
      await Promise.all(drains);
    },
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
