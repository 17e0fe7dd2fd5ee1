// Tells how long a store takes, over any store.

import type { ChangeListener, Job, JobResult, ReadJob, Snapshot, Store } from "./store.js";

export type Observe = (operation: "commit" | "read", ms: number) => void;

export function timed(store: Store, observe: Observe): Store {
  return new TimedStore(store, observe);
}

class TimedStore implements Store {
  readonly capabilities: Store["capabilities"];
  readonly location: string;

  constructor(
    private readonly store: Store,
    private readonly observe: Observe,
  ) {
    this.capabilities = store.capabilities;
    this.location = store.location;
  }

  /** The clock starts before the call: an embedded store is done with its work when the call returns. */
  private async time<T>(operation: "commit" | "read", work: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await work();
    } finally {
      this.observe(operation, performance.now() - begun);
    }
  }

  commit<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    return this.time("commit", () => this.store.commit(org, jobs));
  }

  read<T>(org: string, job: ReadJob<T>): Promise<T> {
    return this.time("read", () => this.store.read(org, job));
  }

  open(org: string, defaultProject: string): Promise<string> {
    return this.store.open(org, defaultProject);
  }

  snapshot(org: string): Promise<Snapshot> {
    return this.store.snapshot(org);
  }

  onChange(org: string, listener: ChangeListener): () => void {
    return this.store.onChange(org, listener);
  }

  backup(path: string): Promise<void> {
    return this.store.backup(path);
  }

  check(org?: string): Promise<string[]> {
    return this.store.check(org);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
