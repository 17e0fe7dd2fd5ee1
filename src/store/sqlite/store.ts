// The embedded store: one file, any number of processes. A commit is one short BEGIN IMMEDIATE transaction that never
// awaits: the jobs run, their changes are written, and the answer leaves only after the disk has it (synchronous=FULL).

import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { backup as copyDatabase } from "@photostructure/sqlite";
import { commitGroup, type Failed, runInOrder, withoutFailing } from "../jobs.js";
import { Listeners } from "../listeners.js";
import { newOrg, OldKeys, timeIn } from "../org-facts.js";
import { withLists } from "../org-view.js";
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
import { listsIn, rowsIn } from "./rows.js";
import { orgsMax } from "./schema.js";
import { Scope } from "./scope.js";
import { SqliteSnapshot } from "./snapshot.js";
import { Statements } from "./statements.js";
import * as idempotency from "./tables/idempotency.js";
import * as orgs from "./tables/org.js";
import * as projects from "./tables/project.js";
import { write } from "./write.js";

/** How often other processes' commits are looked for while somebody waits: quick at first, then calm. */
const pollMs = { quick: 4, calm: 20, calmAfter: 250 };

/** What this process keeps of an org between transactions. */
interface Known {
  scope: Scope;
  workspace: Workspace;
}

export async function openSqliteStore(file: string, clock: Clock, options?: FileOptions): Promise<Store> {
  return new SqliteStore(await openFile(file, options), file, clock, options?.brief ?? false);
}

class SqliteStore implements Store {
  readonly capabilities = { shared: true, durable: true, groupMax: 256, commitRowsMax: 2_000 };
  readonly location: string;
  private readonly statements: Statements;
  private readonly known = new Map<string, Known>();
  private readonly listeners = new Listeners({
    onFirst: () => this.startPolling(),
    onLast: () => this.listeners.orgs.length === 0 && this.stopPolling(),
  });
  private readonly snapshots = new Set<Snapshot>();
  private readonly oldKeys = new OldKeys();
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
        const scope = new Scope(this.statements, org);
        const known = orgs.find(scope);
        if (known) return known.defaultProject;
        if (orgs.count(this.statements) >= orgsMax) {
          throw new StoreError(
            "STORE_UNAVAILABLE",
            `${this.file} holds ${orgsMax} organisations already.`,
            "Use another file, PostgreSQL or DynamoDB.",
          );
        }
        const created = newOrg(org, defaultProject, this.clock.now());
        orgs.insert(scope, created.org);
        projects.put(scope, created.project);
        return defaultProject;
      }),
    );
  }

  async commit<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    return commitGroup(jobs, (some) =>
      withoutFailing(async (failed) => {
        this.refuseClosed();
        const { results, written } = await patiently(this.file, () => this.commitOnce(org, some, failed));
        if (written) this.listeners.announce(org, written.mayFree);
        return results;
      }),
    );
  }

  private commitOnce<T>(org: string, jobs: readonly Job<T>[], failed: Failed) {
    const { scope, workspace } = this.knownOf(org);
    try {
      const results = this.transaction(() => {
        this.forgetIfForeign();
        const { view } = workspace;
        const now = timeIn(view.org(), this.clock);
        const apply = workspace.apply.bind(workspace);
        const results = runInOrder({ now, view, apply }, jobs, failed, isSqliteError);
        const pending = workspace.pending();
        if (pending) write(scope, pending);
        this.dropOldKeys(scope, now);
        return results;
      });
      return { results, written: workspace.committed() };
    } catch (error) {
      workspace.clear();
      throw error;
    }
  }

  private dropOldKeys(scope: Scope, now: number): void {
    const before = this.oldKeys.before(scope.org, now);
    if (before !== null) this.oldKeys.dropped(scope.org, now, idempotency.drop(scope, before));
  }

  async read<T>(org: string, job: ReadJob<T>): Promise<T> {
    this.refuseClosed();
    return patiently(this.file, () => {
      this.statements.run("BEGIN");
      try {
        this.refuseNewerSince();
        // Not kept: any org can be asked for.
        const scope = this.known.get(org)?.scope ?? new Scope(this.statements, org);
        const view = withLists(new Workspace(rowsIn(scope)).view, listsIn(scope));
        return job(view, timeIn(view.org(), this.clock));
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

  private knownOf(org: string): Known {
    let known = this.known.get(org);
    if (!known) {
      const scope = new Scope(this.statements, org);
      known = { scope, workspace: new Workspace(rowsIn(scope)) };
      this.known.set(org, known);
    }
    return known;
  }

  /** The cached rows hold only while nobody else has written: `data_version` tells, inside our own transaction. */
  private forgetIfForeign(): void {
    const version = this.readDataVersion();
    if (version === this.dataVersion) return;
    refuseNewer(this.db, this.file);
    this.dataVersion = version;
    for (const { workspace } of this.known.values()) workspace.clear();
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
    return this.listeners.add(org, listener);
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
        for (const org of this.listeners.orgs) this.listeners.announce(org, true);
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
    this.known.clear();
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

function isSqliteError(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === "ERR_SQLITE_ERROR";
}
