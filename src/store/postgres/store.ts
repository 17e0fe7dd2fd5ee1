// The store for many machines. All commits of an org happen one after the other, under a lock that is held to the commit: events
// get their numbers without gaps, in commit order. A whole group of jobs is a handful of round trips: begin, lock and look;
// fetch what the decisions ask for, if it is not known from before; write and commit.

import { randomUUID } from "node:crypto";
import { UnknownOrgError } from "../../core/refusal.js";
import type { Row } from "../columns.js";
import { commitGroup, type Failed } from "../jobs.js";
import { toDueClaim } from "../layouts.js";
import { Listeners } from "../listeners.js";
import { keysDroppedMax, newOrg, OldKeys, timeIn } from "../org-facts.js";
import { runJobs, runRead, settled } from "../runs.js";
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
import { readUrl } from "./address.js";
import { unreadableRows } from "./check.js";
import { Database } from "./database.js";
import { isConnectionLoss } from "./errors.js";
import { type Migrating, migrate } from "./migrate.js";
import { Notices } from "./notices.js";
import { OrgReads } from "./org-reads.js";
import { hasHappened, lockOrg, Unknown } from "./outcome.js";
import { retryTransient } from "./retry.js";
import type { Begun } from "./rows.js";
import { PostgresSnapshot, snapshotIdle } from "./snapshot.js";
import * as idempotency from "./tables/idempotency.js";
import * as orgs from "./tables/org.js";
import * as projects from "./tables/project.js";
import type { PostgresTransaction } from "./transaction.js";
import { write } from "./write.js";

/** Tokens of this many commits back are kept, to tell what became of a commit whose answer was lost. */
const tokensKept = 10_000;
const dropTokensEvery = 256;

const sql = {
  begin: `SELECT ${orgs.columns}, version, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (SELECT json_build_array(c.project, c.task_id, c.due_at) FROM dibs.claim c WHERE c.org = $1 AND c.due_at IS NOT NULL
      ORDER BY c.due_at, c.project, c.task_id LIMIT 1),
    (SELECT t.token FROM dibs.commit_token t WHERE t.org = $1 AND t.version = o.version)
    FROM dibs.org o WHERE org = $1`,
  version: "SELECT version FROM dibs.org WHERE org = $1",
  now: "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
  token: "INSERT INTO dibs.commit_token (org, version, token) VALUES ($1, $2, $3)",
  dropTokens: "DELETE FROM dibs.commit_token WHERE org = $1 AND version < $2",
};

/** What this process knows of an org between transactions. */
interface Known {
  reads: OrgReads;
  /** The version that the cached rows belong to, and the token of the commit that created it. */
  version: number;
  token: string | null;
  /** Commits of one org follow each other in this process, too. */
  last: Promise<unknown>;
}

export async function openPostgresStore(
  url: string,
  clock: Clock | null,
  migrating?: Migrating,
): Promise<Store> {
  const settings = readUrl(url);
  // Short: a wrong address should be heard of soon, but a server that restarts is worth a moment.
  const { hasRole, warning } = await retryTransient(settings.where, () => migrate(settings, migrating), {
    patienceMs: 3_000,
  });
  const database = new Database(settings);
  if (hasRole) database.takeRole();
  return new PostgresStore(database, clock, warning);
}

class PostgresStore implements Store {
  readonly capabilities = { shared: true, durable: true, groupMax: 256, commitRowsMax: 2_000 };
  readonly location: string;
  private readonly known = new Map<string, Known>();
  private readonly listeners = new Listeners({
    onFirst: (org) => this.notices.watch(org, this.seen.get(org) ?? -1),
    onLast: (org) => this.notices.unwatch(org),
  });
  private readonly oldKeys = new OldKeys();
  private readonly notices: Notices;
  private readonly snapshots = new Set<Snapshot>();
  /** The last version of each org that anything here has seen. */
  private readonly seen = new Map<string, number>();
  private closed = false;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock | null,
    private readonly warning: string | null,
  ) {
    this.location = database.where;
    this.notices = new Notices({
      database,
      look: (org) => this.versionOf(org),
      onChange: (org, mayFree) => {
        for (const each of org === null ? this.listeners.orgs : [org]) this.listeners.announce(each, mayFree);
      },
    });
  }

  async open(org: string, defaultProject: string): Promise<string> {
    return this.retryTransient(async () => {
      const transaction = await this.database.begin(org, { write: true });
      try {
        void transaction.send({ text: lockOrg, values: [org] });
        const [known] = await transaction.send({ text: sql.begin, values: [org] });
        if (known) {
          this.seen.set(org, known[orgs.width]);
          return orgs.decode(known).defaultProject;
        }
        const now = this.clock?.now() ?? (await transaction.send({ text: sql.now, values: [] }))[0]![0];
        const created = newOrg(org, defaultProject, now);
        await transaction.all([orgs.insert(created.org), ...projects.write(org, [created.project])]);
        await transaction.commit();
        this.seen.set(org, 0);
        return defaultProject;
      } finally {
        await transaction.end();
      }
    });
  }

  async commit<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    this.refuseClosed();
    const known = this.knownOf(org);
    const turn = known.last.then(() => commitGroup(jobs, (some) => this.commitRetrying(org, known, some)));
    known.last = turn.catch(() => undefined);
    return turn;
  }

  private async commitRetrying<T>(
    org: string,
    known: Known,
    jobs: readonly Job<T>[],
  ): Promise<JobResult<T>[]> {
    const failed: Failed = new Map();
    return this.retryTransient(async () => {
      try {
        return await this.commitOnce(org, known, jobs, failed);
      } catch (error) {
        if (!(error instanceof Unknown)) throw error;
        return await this.becameOf(org, error as Unknown<JobResult<T>[]>);
      }
    });
  }

  private async commitOnce<T>(
    org: string,
    known: Known,
    jobs: readonly Job<T>[],
    failed: Failed,
  ): Promise<JobResult<T>[]> {
    const { reads } = known;
    const { workspace } = reads;
    const token = randomUUID();
    const transaction = await this.database.begin(org, { write: true });
    let sentAs: number | null = null;
    let results: JobResult<T>[] = [];
    const committed = (): JobResult<T>[] => {
      known.version = sentAs!;
      known.token = token;
      this.seen.set(org, known.version);
      const written = workspace.committed();
      if (written) {
        this.listeners.announce(org, written.mayFree);
        this.notices.committed(org, known.version, written.mayFree);
      }
      return results;
    };
    try {
      void transaction.send({ text: lockOrg, values: [org] });
      const beginning = this.begun(transaction, org);
      const noteAhead = reads.ahead(transaction, jobs.length);
      const begun = await beginning;
      const fetching = reads.in(transaction, begun, jobs.length);
      // After a failover the numbers may have gone back and come again, with other commits behind them.
      if (begun.version !== known.version || begun.token !== known.token) workspace.clear();
      else await noteAhead();
      const now = timeIn(begun.org, begun);
      results = await runJobs(fetching, { jobs, failed, now: () => now });
      const pending = workspace.pending();
      if (!pending) {
        known.version = begun.version;
        known.token = begun.token;
        workspace.committed();
        return results;
      }
      const sent = write(transaction, org, pending);
      if (pending.reordered.size > 0) await sent;
      const version = begun.version + 1;
      const marks = transaction.all([
        { text: sql.token, values: [org, version, token] },
        ...(version % dropTokensEvery === 0
          ? [{ text: sql.dropTokens, values: [org, version - tokensKept] }]
          : []),
      ]);
      const dropped = this.dropOldKeys(transaction, org, now);
      sentAs = version;
      await Promise.all([sent, marks, dropped, transaction.commit()]);
      this.oldKeys.dropped(org, now, await dropped);
      return committed();
    } catch (error) {
      if (sentAs !== null && isConnectionLoss(error)) {
        throw new Unknown(sentAs, token, committed, error);
      }
      known.version = -1;
      workspace.clear();
      throw error;
    } finally {
      await transaction.end();
    }
  }

  /** Returns how many were dropped; as if there were more, where it is not time for it. */
  private async dropOldKeys(transaction: PostgresTransaction, org: string, now: number): Promise<number> {
    const before = this.oldKeys.before(org, now);
    if (before === null) return keysDroppedMax;
    return (await transaction.send(idempotency.drop(org, before))).length;
  }

  private async becameOf<T>(org: string, unknown: Unknown<T>): Promise<T> {
    const known = this.knownOf(org);
    // If nobody can tell, nothing that was pending may go along with the next commit.
    known.version = -1;
    if (await hasHappened(this.database, org, unknown)) return unknown.committed();
    known.reads.workspace.clear();
    throw unknown.cause; // The group is tried again.
  }

  async read<T>(org: string, job: ReadJob<T>): Promise<T> {
    this.refuseClosed();
    const result = await this.retryTransient(async () => {
      const transaction = await this.database.begin(org, { write: false });
      try {
        const begun = await this.begun(transaction, org);
        const reads = new OrgReads(org);
        const now = timeIn(begun.org, begun);
        return await runRead(reads.in(transaction, begun, 1), { job, lists: reads.lists, now: () => now });
      } finally {
        await transaction.end();
      }
    });
    return settled(result);
  }

  async snapshot(org: string): Promise<Snapshot> {
    this.refuseClosed();
    return this.retryTransient(async () => {
      const transaction = await this.database.begin(org, { write: false, idle: snapshotIdle });
      try {
        const begun = await this.begun(transaction, org);
        const snapshot = new PostgresSnapshot(transaction, org, begun, {
          where: this.location,
          onClose: (closed) => this.snapshots.delete(closed),
        });
        this.snapshots.add(snapshot);
        return snapshot;
      } catch (error) {
        await transaction.end();
        throw error;
      }
    });
  }

  private async begun(transaction: PostgresTransaction, org: string): Promise<Begun> {
    const [row] = await transaction.send({ text: sql.begin, values: [org] });
    if (!row) throw new UnknownOrgError(org);
    const [version, now, earliest, token] = row.slice(orgs.width) as [
      number,
      number,
      Row | null,
      string | null,
    ];
    this.seen.set(org, version);
    const about = orgs.decode(row);
    transaction.planFor(about.eventSeq);
    return {
      org: about,
      version,
      now: () => this.clock?.now() ?? now,
      earliestDue: earliest && toDueClaim(earliest),
      token,
    };
  }

  private async versionOf(org: string): Promise<number> {
    const transaction = await this.database.begin(org, { write: false });
    try {
      const [row] = await transaction.send({ text: sql.version, values: [org] });
      return row?.[0] ?? -1;
    } finally {
      await transaction.end();
    }
  }

  private knownOf(org: string): Known {
    let known = this.known.get(org);
    if (!known) {
      known = { reads: new OrgReads(org), version: -1, token: null, last: Promise.resolve() };
      this.known.set(org, known);
    }
    return known;
  }

  private retryTransient<T>(attempt: () => Promise<T>): Promise<T> {
    return retryTransient(this.location, () => {
      this.refuseClosed();
      return attempt();
    });
  }

  onChange(org: string, listener: ChangeListener): () => void {
    return this.listeners.add(org, listener);
  }

  async backup(): Promise<void> {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      "A PostgreSQL database is backed up by its own tools.",
      "Use pg_dump or your provider's backups (docs/guides/backups.md), or export the organisation.",
    );
  }

  async check(org?: string): Promise<string[]> {
    const warnings = [this.warning, this.notices.warning].filter((problem) => problem !== null);
    if (org === undefined) return warnings;
    return [...warnings, ...(await this.retryTransient(() => unreadableRows(this.database, org)))];
  }

  private refuseClosed(): void {
    if (this.closed) throw new StoreError("STORE_CLOSED", "This client was closed.");
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.notices.close();
    for (const snapshot of [...this.snapshots]) await snapshot.close();
    await Promise.allSettled([...this.known.values()].map((known) => known.last));
    await this.database.end();
  }
}
