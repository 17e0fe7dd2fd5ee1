// One org in this process: its log, what is known of it, and its commits, one after the other.

import { randomUUID } from "node:crypto";
import { UnknownOrgError } from "../../core/refusal.js";
import { commitGroup, type Failed } from "../jobs.js";
import { newOrg } from "../org-facts.js";
import { runJobs, runRead, settled } from "../runs.js";
import { type Clock, type Job, type JobResult, type ReadJob, StoreError } from "../store.js";
import { Applier } from "./applier.js";
import type { Calls } from "./calls.js";
import { DynamoError } from "./client.js";
import { copyOf } from "./copy.js";
import { OrgKeys } from "./keys.js";
import { KnownItems } from "./known-items.js";
import { newMeta } from "./meta.js";
import { OrgLog } from "./org-log.js";
import { OrgReads } from "./org-reads.js";
import { DynamoSnapshot } from "./snapshot.js";
import * as orgs from "./tables/org.js";
import * as project from "./tables/project.js";
import { writesOf } from "./write.js";

/** Characters of rows that are kept between commits. */
const keptMax = 64 * 1024 * 1024;
/** A commit waits when so many rows are not in the tables yet, and fails when it is so many after that. */
const backlogMax = 20_000;
const refusedMax = 100_000;

/** With more rows than that in the overlay, a process that only reads applies them, too. */
const leftMax = 1_000;

export interface OrgOptions {
  calls: Calls;
  clock: Clock;
  /** `isOwn`: of this process. */
  onCommit(change: { mayFree: boolean; isOwn: boolean }): void;
}

export class OrgStore {
  readonly log: OrgLog;
  readonly applier: Applier;
  private readonly keys: OrgKeys;
  private readonly kept = new KnownItems();
  private readonly reads: OrgReads;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly org: string,
    private readonly options: OrgOptions,
  ) {
    this.keys = new OrgKeys(org);
    this.log = new OrgLog(options.calls, this.keys, this.kept);
    this.log.onForeign = ({ mayFree }) => options.onCommit({ mayFree, isOwn: false });
    this.applier = new Applier(this.log);
    this.reads = new OrgReads(this.log, this.kept, null, options.clock);
  }

  /** The default project. */
  async open(defaultProject: string): Promise<string> {
    await this.log.poll();
    while (this.log.head === 0) {
      await this.create(defaultProject);
      await this.log.poll();
    }
    return this.read((view) => view.org().defaultProject);
  }

  private async create(defaultProject: string): Promise<void> {
    const { calls, clock } = this.options;
    const put = { table: calls.tables.log, item: newMeta(this.keys), conditions: [{ absent: "PK" }] };
    try {
      await calls.repeated(() => calls.client.putItem(put));
    } catch (error) {
      // Another process was first.
      if (!(error instanceof DynamoError) || error.kind !== "condition-failed") throw error;
    }
    const created = newOrg(this.org, defaultProject, clock.now());
    const writes = [orgs.write(this.keys, created.org), project.write(this.keys, created.project)];
    await this.log.commit({ head: 0, token: randomUUID(), mayFree: false, writes });
    this.applier.start();
  }

  /** Jobs are run on what is known; what is written is confirmed by its put. */
  commit<T>(jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    const turn = this.last.then(() => commitGroup(jobs, (some) => this.commitGroup(some)));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async commitGroup<T>(jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    await this.begin();
    await this.waitForTables();
    if (this.kept.weight > keptMax) this.kept.clear();
    const failed: Failed = new Map();
    try {
      for (;;) {
        const results = await this.commitOnce(jobs, failed);
        if (results) return results;
      }
    } catch (error) {
      this.reads.workspace.clear();
      throw error;
    }
  }

  /** What is not in the tables yet is in the memory of every process. */
  private async waitForTables(): Promise<void> {
    const { applier } = this;
    if (applier.backlog <= backlogMax) return;
    applier.start();
    await applier.idle();
    if (applier.backlog <= refusedMax) return;
    throw new StoreError(
      "STORE_BUSY",
      applier.warning ?? `${applier.backlog} rows are not in the tables yet.`,
      "Try again later; if it persists, check the limits and the permissions of the tables (docs/guides/dynamodb.md).",
    );
  }

  /** Null: another process was first. */
  private async commitOnce<T>(jobs: readonly Job<T>[], failed: Failed): Promise<JobResult<T>[] | null> {
    const { reads, log, keys } = this;
    const { workspace, reader, claims } = reads;
    const results = await runJobs(reads.fetching(jobs.length), { jobs, failed, now: reads.now });
    const head = reads.seen;
    if (!workspace.isDirty) {
      reads.committed(head);
      return results;
    }
    const now = this.options.calls.clock.now();
    const writes = await reads.answered(() => writesOf({ keys, reader, claims, now }, workspace.pending()!));
    const { mayFree } = workspace;
    if (!(await log.commit({ head, token: randomUUID(), mayFree, writes }))) {
      workspace.clear();
      return null;
    }
    reads.committed(head + 1);
    this.applier.start();
    this.options.onCommit({ mayFree, isOwn: true });
    return results;
  }

  async read<T>(job: ReadJob<T>): Promise<T> {
    await this.begin();
    const own = new KnownItems();
    const leave = this.log.follow(own);
    try {
      const reads = new OrgReads(this.log, own, this.kept, this.options.clock);
      return settled(await runRead(reads.fetching(1), { job, lists: reads.lists, now: reads.now }));
    } finally {
      leave();
    }
  }

  private async begin(): Promise<void> {
    if (this.log.head <= 0) await this.log.poll();
    if (this.log.head === 0) throw new UnknownOrgError(this.org);
    // Left behind by a process that was killed.
    if (this.applier.backlog > leftMax) this.applier.start();
  }

  async snapshot(onClose: (snapshot: DynamoSnapshot) => void): Promise<DynamoSnapshot> {
    await this.begin();
    const { items, head } = await copyOf(this.log);
    return new DynamoSnapshot(this.keys, items, { head, clock: this.options.clock, onClose });
  }

  /** What was begun is finished, and in the tables if the service answers. */
  async close(): Promise<void> {
    await this.last.catch(() => undefined);
    await this.applier.idle();
  }
}

export const closed = (): StoreError => new StoreError("STORE_CLOSED", "This client was closed.");
