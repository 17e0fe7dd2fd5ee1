// The store on DynamoDB. A commit is one conditional put at the head of the org's log; its rows follow into the tables.

import { Listeners } from "../listeners.js";
import {
  type ChangeListener,
  type Clock,
  type Job,
  type JobResult,
  type ReadJob,
  type Snapshot,
  type Store,
  StoreError,
} from "../store.js";
import { Calls } from "./calls.js";
import { unreadableRows } from "./check.js";
import type { DynamoClient } from "./client.js";
import { closed, OrgStore } from "./org-store.js";
import { ServiceClock } from "./service-clock.js";
import { tableNames } from "./tables.js";
import { Watch } from "./watch.js";

export interface Options {
  /** What the names of the tables begin with. */
  prefix: string;
  /** Where the store is, for people. */
  location: string;
  /** Null: the service's clock. */
  clock: Clock | null;
  /** Of this machine, to be corrected by the service's. */
  processClock?: () => number;
}

export async function openDynamoStore(client: DynamoClient, options: Options): Promise<Store> {
  return new DynamoStore(client, options);
}

class DynamoStore implements Store {
  readonly capabilities = { shared: true, durable: true, groupMax: 256, commitRowsMax: 2_000 };
  readonly location: string;
  private readonly calls: Calls;
  private readonly serviceClock: ServiceClock;
  private readonly clock: Clock;
  private readonly orgs = new Map<string, OrgStore>();
  private readonly snapshots = new Set<Snapshot>();
  private readonly watch = new Watch((org) => this.orgOf(org).log.poll());
  private readonly listeners = new Listeners({
    onFirst: (org) => this.watch.start(org),
    onLast: (org) => this.watch.stop(org),
  });
  private closed = false;

  constructor(client: DynamoClient, { prefix, location, clock, processClock }: Options) {
    this.location = location;
    this.serviceClock = new ServiceClock(processClock);
    this.clock = clock ?? this.serviceClock;
    this.calls = new Calls(client, tableNames(prefix), this.serviceClock, location);
  }

  async open(org: string, defaultProject: string): Promise<string> {
    this.refuseClosed();
    return this.orgOf(org).open(defaultProject);
  }

  async commit<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    this.refuseClosed();
    return this.orgOf(org).commit(jobs);
  }

  async read<T>(org: string, job: ReadJob<T>): Promise<T> {
    this.refuseClosed();
    return this.orgOf(org).read(job);
  }

  async snapshot(org: string): Promise<Snapshot> {
    this.refuseClosed();
    const snapshot = await this.orgOf(org).snapshot((over) => this.snapshots.delete(over));
    this.snapshots.add(snapshot);
    return snapshot;
  }

  onChange(org: string, listener: ChangeListener): () => void {
    return this.listeners.add(org, listener);
  }

  async backup(): Promise<void> {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      "DynamoDB tables are backed up by AWS.",
      "Use point-in-time recovery or on-demand backups (docs/guides/dynamodb.md), or export the organisation.",
    );
  }

  async check(org?: string): Promise<string[]> {
    this.refuseClosed();
    const appliers = [...this.orgs.values()].map(({ applier }) => applier.warning);
    const warnings = [this.serviceClock.warning, ...appliers].filter((problem) => problem !== null);
    if (org === undefined) return warnings;
    return [...warnings, ...(await unreadableRows(this.orgOf(org)))];
  }

  private orgOf(org: string): OrgStore {
    let found = this.orgs.get(org);
    if (!found) {
      found = new OrgStore(org, {
        calls: this.calls,
        clock: this.clock,
        onCommit: ({ mayFree, isOwn }) => {
          if (!isOwn) this.watch.noteForeign(org);
          this.listeners.announce(org, mayFree);
        },
      });
      this.orgs.set(org, found);
    }
    return found;
  }

  private refuseClosed(): void {
    if (this.closed) throw closed();
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.watch.close();
    for (const snapshot of [...this.snapshots]) await snapshot.close();
    await Promise.all([...this.orgs.values()].map((org) => org.close()));
    this.calls.client.close();
  }
}
