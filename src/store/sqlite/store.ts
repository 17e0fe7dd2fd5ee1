// The embedded store: one file, any number of processes. A commit is one short BEGIN IMMEDIATE transaction that never
// awaits: the jobs run, their changes are written, and the answer leaves only after the disk has it (synchronous=FULL).

import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { backup as copyDatabase } from "@photostructure/sqlite";
import type { Changes } from "../../core/changes.js";
import { clockStepBackMsMax, limits } from "../../core/limits.js";
import { defaultSettings, orgTime } from "../../core/project.js";
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
import { unreadableRows } from "./check.js";
import {
  connectTo,
  createPrivate,
  type Database,
  type FileOptions,
  integrityProblems,
  openFile,
  patiently,
  refuseNewer,
  syncDirectory,
} from "./connection.js";
import { translate } from "./errors.js";
import { finalizeStatements } from "./release.js";
import { orgsMax } from "./schema.js";
import { SqliteSnapshot } from "./snapshot.js";
import { Statements } from "./statements.js";
import { SqliteRows } from "./write.js";

/** How often other processes' commits are looked for while somebody waits: quick at first, then calm. */
const pollMs = { quick: 4, calm: 20, calmAfter: 250 };

const dropEveryMs = 60_000;
const dropMax = 1000;

/** A job failed: the group is run again without it. */
class JobFailure {
  constructor(
    readonly index: number,
    readonly error: unknown,
  ) {}
}

export async function openSqliteStore(file: string, clock: Clock, options?: FileOptions): Promise<Store> {
  return new SqliteStore(await openFile(file, options), file, clock, options?.brief ?? false);
}

class SqliteStore implements Store {
  readonly capabilities = { shared: true, durable: true };
  readonly location: string;
  private readonly statements: Statements;
  private readonly rows = new Map<string, SqliteRows>();
  private readonly workspaces = new Map<string, Workspace>();
  private readonly listeners = new Map<string, Set<ChangeListener>>();
  private readonly snapshots = new Set<Snapshot>();
  private readonly droppedAt = new Map<string, number>();
  private dataVersion = -1;
  private lookedVersion = -1;
  private poll: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(
    private readonly db: Database,
    private readonly file: string,
    private readonly clock: Clock,
    private readonly isBrief: boolean,
  ) {
    this.location = file;
    this.statements = new Statements(db);
  }

  async open(org: string, defaultProject: string): Promise<string> {
    return patiently(this.file, () =>
      this.transaction(() => {
        const known = this.statements.get("SELECT default_project FROM org WHERE org = ?", org);
        if (known) return known[0] as string;
        if (this.statements.get("SELECT count(*) FROM org")![0] >= orgsMax) {
          throw new StoreError(
            "STORE_UNAVAILABLE",
            `${this.file} holds ${orgsMax} organisations already.`,
            "Use another file, or PostgreSQL.",
          );
        }
        const now = this.clock.now();
        this.statements.run(
          `INSERT INTO org (org, event_seq, event_min, ordinal, notification_seq, last_at, highest_at, default_project, created_at)
          VALUES (?, 0, 1, 0, 0, ?, ?, ?, ?)`,
          org,
          now,
          now,
          defaultProject,
          now,
        );
        this.statements.run(
          "INSERT INTO project (org, id, settings, paused, created_at, updated_at) VALUES (?, ?, ?, 0, ?, ?)",
          org,
          defaultProject,
          JSON.stringify(defaultSettings),
          now,
          now,
        );
        return defaultProject;
      }),
    );
  }

  async commit<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    const failed = new Map<number, unknown>();
    for (;;) {
      this.refuseClosed();
      const done = await this.tryCommit(org, jobs, failed);
      if (done === "again") continue;
      if (done === "singly") return this.commitSingly(org, jobs);
      if (done.written) this.announce(org, done.written.mayFree);
      return done.results;
    }
  }

  private async tryCommit<T>(org: string, jobs: readonly Job<T>[], failed: Map<number, unknown>) {
    try {
      return await patiently(this.file, () => this.commitOnce(org, jobs, failed));
    } catch (error) {
      // What one job wrote may break the group: alone, it breaks only itself.
      if (!(error instanceof JobFailure) && (jobs.length === 1 || error instanceof StoreError)) throw error;
      if (!(error instanceof JobFailure)) return "singly";
      failed.set(error.index, error.error);
      return "again";
    }
  }

  private async commitSingly<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    const results: JobResult<T>[] = [];
    for (const job of jobs) {
      try {
        results.push(...(await this.commit(org, [job])));
      } catch (error) {
        results.push({ ok: false, error });
      }
    }
    return results;
  }

  private commitOnce<T>(org: string, jobs: readonly Job<T>[], failed: Map<number, unknown>) {
    const workspace = this.workspace(org);
    try {
      const results = this.transaction(() => {
        this.forgetIfForeign();
        const now = orgTime(workspace.org().lastAt, this.clock.now(), clockStepBackMsMax);
        const transaction = { now, view: workspace, apply: (changes: Changes) => workspace.apply(changes) };
        const results = jobs.map((job, index): JobResult<T> => {
          if (failed.has(index)) return { ok: false, error: failed.get(index) };
          try {
            return { ok: true, value: job(transaction) };
          } catch (error) {
            // The store's own troubles end the whole group; a job's own failure only that job.
            if (isStoreTrouble(error)) throw error;
            throw new JobFailure(index, error);
          }
        });
        workspace.flush();
        this.dropOldKeys(org, now);
        return results;
      });
      return { results, written: workspace.committed() };
    } catch (error) {
      workspace.clear();
      throw error;
    }
  }

  /** Now and then: a key that is too old is not honoured anyway. */
  private dropOldKeys(org: string, now: number): void {
    if (Math.abs(now - (this.droppedAt.get(org) ?? 0)) < dropEveryMs) return;
    const dropped = this.statements.count(
      `DELETE FROM idempotency WHERE org = ? AND key IN
        (SELECT key FROM idempotency WHERE org = ? AND created_at < ? ORDER BY created_at LIMIT ${dropMax})`,
      org,
      org,
      now - limits.idempotencyKeepMs,
    );
    if (dropped < dropMax) this.droppedAt.set(org, now);
  }

  async read<T>(org: string, job: ReadJob<T>): Promise<T> {
    this.refuseClosed();
    return patiently(this.file, () => {
      this.statements.run("BEGIN");
      try {
        this.refuseNewerSince();
        // Not kept: strangers may ask for any org.
        const view = new Workspace(this.rows.get(org) ?? new SqliteRows(this.statements, org));
        return job(view, orgTime(view.org().lastAt, this.clock.now(), clockStepBackMsMax));
      } finally {
        if (this.db.isTransaction) this.statements.run("ROLLBACK");
      }
    });
  }

  async snapshot(org: string): Promise<Snapshot> {
    this.refuseClosed();
    const snapshot = await SqliteSnapshot.open(this.file, org, this.clock, () =>
      this.snapshots.delete(snapshot),
    );
    this.snapshots.add(snapshot);
    if (this.closed) await snapshot.close();
    return snapshot;
  }

  private transaction<T>(run: () => T): T {
    this.statements.run("BEGIN IMMEDIATE");
    try {
      const value = run();
      this.statements.run("COMMIT");
      return value;
    } catch (error) {
      // A full disk has rolled back already.
      if (this.db.isTransaction) this.statements.run("ROLLBACK");
      throw error;
    }
  }

  private rowsOf(org: string): SqliteRows {
    let rows = this.rows.get(org);
    if (!rows) {
      rows = new SqliteRows(this.statements, org);
      this.rows.set(org, rows);
    }
    return rows;
  }

  private workspace(org: string): Workspace {
    let workspace = this.workspaces.get(org);
    if (!workspace) {
      workspace = new Workspace(this.rowsOf(org));
      this.workspaces.set(org, workspace);
    }
    return workspace;
  }

  /** The cached rows hold only while nobody else has written: `data_version` tells, inside our own transaction. */
  private forgetIfForeign(): void {
    const version = this.readDataVersion();
    if (version === this.dataVersion) return;
    refuseNewer(this.db, this.file);
    this.dataVersion = version;
    for (const workspace of this.workspaces.values()) workspace.clear();
  }

  /** For looks, which leave the cache to commits. */
  private refuseNewerSince(): void {
    const version = this.readDataVersion();
    if (version === this.lookedVersion) return;
    refuseNewer(this.db, this.file);
    this.lookedVersion = version;
  }

  /** A look that fails changes nothing; the next one may succeed. */
  private dataVersionOr(last: number): number {
    try {
      return this.readDataVersion();
    } catch {
      return last;
    }
  }

  private readDataVersion(): number {
    return this.statements.get("PRAGMA data_version")![0];
  }

  onChange(org: string, listener: ChangeListener): () => void {
    const listeners = this.listeners.get(org) ?? new Set();
    this.listeners.set(org, listeners);
    this.startPolling();
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.listeners.delete(org);
      if (this.listeners.size === 0) this.stopPolling();
    };
  }

  private announce(org: string, mayFree: boolean): void {
    for (const listener of this.listeners.get(org) ?? []) listener({ mayFree });
  }

  private startPolling(): void {
    if (this.poll || this.closed) return;
    let seen = this.readDataVersion();
    let idle = 0;
    const look = () => {
      const version = this.dataVersionOr(seen);
      idle = version === seen ? idle + 1 : 0;
      if (version !== seen) {
        seen = version;
        for (const org of [...this.listeners.keys()]) this.announce(org, true);
      }
      if (this.poll) schedule();
    };
    const schedule = () => {
      this.poll = setTimeout(look, idle > pollMs.calmAfter ? pollMs.calm : pollMs.quick);
      this.poll.unref();
    };
    schedule();
  }

  private stopPolling(): void {
    if (this.poll) clearTimeout(this.poll);
    this.poll = null;
  }

  async backup(path: string): Promise<void> {
    this.refuseClosed();
    if (existsSync(path)) {
      throw new StoreError("STORE_UNAVAILABLE", `${path} exists already.`, "Name a new file for the backup.");
    }
    const draft = `${path}.part-${process.pid}`;
    // In one step, or every commit of another process would start it anew; and on a connection of its own, because the
    // copying thread locks the one it copies from.
    const source = connectTo(this.file, { readOnly: true });
    try {
      rmSync(draft, { force: true });
      createPrivate(draft);
      await copyDatabase(source, draft, { rate: -1 });
      renameSync(draft, path);
      syncDirectory(dirname(path));
    } catch (error) {
      throw translate(error, path);
    } finally {
      source.close();
      rmSync(draft, { force: true });
    }
  }

  async check(): Promise<string[]> {
    this.refuseClosed();
    const damage = integrityProblems(this.db);
    return damage.length > 0 ? damage : unreadableRows(this.db);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.stopPolling();
    this.listeners.clear();
    this.workspaces.clear();
    for (const snapshot of this.snapshots) await snapshot.close();
    try {
      this.db.exec("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Tidying up: what is in the log stays in it, for the next one to open the store.
    } finally {
      this.statements.forget();
      this.db.close();
    }
    if (!this.isBrief) await finalizeStatements();
  }

  private refuseClosed(): void {
    if (this.closed) throw new StoreError("STORE_CLOSED", "This client was closed.");
  }
}

function isStoreTrouble(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === "ERR_SQLITE_ERROR";
}
