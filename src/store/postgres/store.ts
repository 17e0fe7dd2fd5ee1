// The store for many machines. All commits of an org happen one after the other, under a lock that is held to the commit: events
// get their numbers without gaps, in commit order. A whole group of jobs is a handful of round trips: begin, lock and look;
// fetch what the decisions ask for, if it is not known from before; write and commit.

import { randomUUID } from "node:crypto";
import { clockStepBackMsMax, limits } from "../../core/limits.js";
import { defaultSettings, orgTime } from "../../core/project.js";
import { UnknownOrgError } from "../../core/refusal.js";
import { orgColumns, type Row, toOrg } from "../row-codec.js";
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
import { Workspace } from "../workspace.js";
import { readUrl } from "./address.js";
import { unreadableRows } from "./check.js";
import { toDueClaim } from "./codec.js";
import { Database } from "./database.js";
import { isConnectionLoss } from "./errors.js";
import { rebuild } from "./fetch.js";
import { type Migrating, migrate } from "./migrate.js";
import { Notices } from "./notices.js";
import { hasHappened, lockOrg, Unknown } from "./outcome.js";
import { type Begun, PostgresRows } from "./read.js";
import { retryTransient } from "./retry.js";
import { runJobs, runLook } from "./runs.js";
import { PostgresSnapshot, snapshotIdle } from "./snapshot.js";
import type { PostgresTransaction } from "./transaction.js";

/** Tokens of this many commits back are kept, to tell what became of a commit whose answer was lost. */
const tokensKept = 10_000;
const dropTokensEvery = 256;
const dropKeysEveryMs = 60_000;
const dropKeysMax = 1_000;

const sql = {
  begin: `SELECT ${orgColumns}, version, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (SELECT json_build_array(c.project, c.task_id, c.due_at) FROM dibs.claim c WHERE c.org = $1 AND c.due_at IS NOT NULL
      ORDER BY c.due_at, c.project, c.task_id LIMIT 1),
    (SELECT t.token FROM dibs.commit_token t WHERE t.org = $1 AND t.version = o.version)
    FROM dibs.org o WHERE org = $1`,
  version: "SELECT version FROM dibs.org WHERE org = $1",
  newOrg: `INSERT INTO dibs.org (org, version, event_seq, event_min, ordinal, notification_seq, last_at, highest_at,
    default_project, created_at) VALUES ($1, 0, 0, 1, 0, 0, $2, $2, $3, $2)`,
  newProject: `INSERT INTO dibs.project (org, id, settings, paused, created_at, updated_at) VALUES ($1, $2, $3::text::json, false, $4, $4)`,
  now: "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
  token: "INSERT INTO dibs.commit_token (org, version, token) VALUES ($1, $2, $3)",
  dropTokens: "DELETE FROM dibs.commit_token WHERE org = $1 AND version < $2",
  dropKeys: `DELETE FROM dibs.idempotency WHERE org = $1 AND key IN
    (SELECT key FROM dibs.idempotency WHERE org = $1 AND created_at < $2 ORDER BY created_at LIMIT ${dropKeysMax}) RETURNING 1`,
};

const orgWidth = orgColumns.split(",").length;

/** What this process knows of an org between transactions. */
interface Known {
  rows: PostgresRows;
  workspace: Workspace;
  /** The version that the workspace's rows belong to, and the token of the commit that made it. */
  version: number;
  token: string | null;
  /** Commits of one org follow each other in this process, too. */
  last: Promise<unknown>;
  droppedAt: number;
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
  readonly capabilities = { shared: true, durable: true };
  readonly location: string;
  private readonly known = new Map<string, Known>();
  private readonly listeners = new Map<string, Set<ChangeListener>>();
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
        for (const each of org === null ? [...this.listeners.keys()] : [org]) this.announce(each, mayFree);
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
          this.seen.set(org, known[orgWidth]);
          return toOrg(known).defaultProject;
        }
        const now = this.clock?.now() ?? (await transaction.send({ text: sql.now, values: [] }))[0]![0];
        await transaction.all([
          { text: sql.newOrg, values: [org, now, defaultProject] },
          { text: sql.newProject, values: [org, defaultProject, JSON.stringify(defaultSettings), now] },
        ]);
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
    const turn = known.last.then(() => this.commitInTurn(org, known, jobs));
    known.last = turn.catch(() => undefined);
    return turn;
  }

  private async commitInTurn<T>(org: string, known: Known, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    const failed = new Map<number, unknown>();
    try {
      return await this.retryTransient(async () => {
        try {
          return await this.commitOnce(org, known, jobs, failed);
        } catch (error) {
          if (!(error instanceof Unknown)) throw error;
          return await this.becameOf(org, error as Unknown<JobResult<T>[]>);
        }
      });
    } catch (error) {
      // What one job wrote may break the group: alone, it breaks only itself.
      if (jobs.length === 1 || error instanceof StoreError) throw error;
      return this.commitSingly(org, known, jobs);
    }
  }

  private async commitSingly<T>(org: string, known: Known, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    const results: JobResult<T>[] = [];
    let trouble: StoreError | null = null;
    for (const job of jobs) {
      try {
        if (trouble) throw trouble;
        results.push(...(await this.commitInTurn(org, known, [job])));
      } catch (error) {
        // The store itself is in trouble: the others need not wait for the same.
        if (error instanceof StoreError) trouble = error;
        results.push({ ok: false, error });
      }
    }
    return results;
  }

  private async commitOnce<T>(
    org: string,
    known: Known,
    jobs: readonly Job<T>[],
    failed: Map<number, unknown>,
  ): Promise<JobResult<T>[]> {
    const { rows, workspace } = known;
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
        this.announce(org, written.mayFree);
        this.notices.committed(org, known.version, written.mayFree);
      }
      return results;
    };
    try {
      void transaction.send({ text: lockOrg, values: [org] });
      const begun = await this.begun(transaction, org);
      // After a failover the numbers may have gone back and come again, with other commits behind them.
      if (begun.version !== known.version || begun.token !== known.token) workspace.clear();
      rows.begin(begun, jobs.length);
      const now = orgTime(begun.org.lastAt, begun.now, clockStepBackMsMax);
      results = await runJobs(transaction, known, { org, jobs, failed, now });
      workspace.flush();
      const { statements, rebuilt } = rows.result;
      if (statements.length === 0 && rebuilt.length === 0) {
        known.version = begun.version;
        known.token = begun.token;
        workspace.committed();
        return results;
      }
      const sent = transaction.all(statements);
      for (const project of rebuilt) await rebuild(transaction, org, project);
      const version = begun.version + 1;
      const marks = transaction.all([
        { text: sql.token, values: [org, version, token] },
        ...(version % dropTokensEvery === 0
          ? [{ text: sql.dropTokens, values: [org, version - tokensKept] }]
          : []),
      ]);
      const dropped = this.dropOldKeys(transaction, org, known, now);
      sentAs = version;
      await Promise.all([sent, marks, dropped, transaction.commit()]);
      if ((await dropped) < dropKeysMax) known.droppedAt = now;
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

  /** Now and then: a key that is too old is not honoured anyway. */
  private async dropOldKeys(
    transaction: PostgresTransaction,
    org: string,
    known: Known,
    now: number,
  ): Promise<number> {
    if (Math.abs(now - known.droppedAt) < dropKeysEveryMs) return dropKeysMax;
    return (await transaction.send({ text: sql.dropKeys, values: [org, now - limits.idempotencyKeepMs] }))
      .length;
  }

  private async becameOf<T>(org: string, unknown: Unknown<T>): Promise<T> {
    const known = this.knownOf(org);
    // If nobody can tell, nothing that was pending may go along with the next commit.
    known.version = -1;
    if (await hasHappened(this.database, org, unknown)) return unknown.committed();
    known.workspace.clear();
    throw unknown.cause; // The group is tried again.
  }

  async read<T>(org: string, job: ReadJob<T>): Promise<T> {
    this.refuseClosed();
    return this.retryTransient(async () => {
      const transaction = await this.database.begin(org, { write: false });
      try {
        const begun = await this.begun(transaction, org);
        const rows = new PostgresRows(org);
        const workspace = new Workspace(rows);
        rows.begin(begun, 1);
        const now = orgTime(begun.org.lastAt, begun.now, clockStepBackMsMax);
        return await runLook(transaction, { rows, workspace }, { org, job, now });
      } finally {
        await transaction.end();
      }
    });
  }

  async snapshot(org: string): Promise<Snapshot> {
    this.refuseClosed();
    return this.retryTransient(async () => {
      const transaction = await this.database.begin(org, { write: false, idle: snapshotIdle });
      try {
        const begun = await this.begun(transaction, org);
        const now = orgTime(begun.org.lastAt, begun.now, clockStepBackMsMax);
        const snapshot = new PostgresSnapshot(transaction, org, begun, now, {
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
    const [version, now, earliest, token] = row.slice(orgWidth) as [
      number,
      number,
      Row | null,
      string | null,
    ];
    this.seen.set(org, version);
    const about = toOrg(row);
    transaction.planFor(about.eventSeq);
    return {
      org: about,
      version,
      now: this.clock?.now() ?? now,
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
      const rows = new PostgresRows(org);
      known = {
        rows,
        workspace: new Workspace(rows),
        version: -1,
        token: null,
        last: Promise.resolve(),
        droppedAt: 0,
      };
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
    const listeners = this.listeners.get(org) ?? new Set();
    this.listeners.set(org, listeners);
    listeners.add(listener);
    if (listeners.size === 1) this.notices.watch(org, this.seen.get(org) ?? -1);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.listeners.delete(org);
      this.notices.unwatch(org);
    };
  }

  private announce(org: string, mayFree: boolean): void {
    for (const listener of this.listeners.get(org) ?? []) listener({ mayFree });
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
