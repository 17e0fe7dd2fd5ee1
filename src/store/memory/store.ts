// The reference model: plain maps, scanned and sorted by the rules of the core each time. Slow and obviously right, it is the
// oracle for the SQL stores, and a real store for programs that need no durability.

import type { Changes, Key } from "../../core/changes.js";
import { limits } from "../../core/limits.js";
import { mayFree } from "../../core/may-free.js";
import { UnknownOrgError } from "../../core/refusal.js";
import { Listeners } from "../listeners.js";
import { newOrg, timeIn } from "../org-facts.js";
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
import { copyOf, type MemoryOrg, put, tablesOf } from "./tables.js";
import { MemoryView } from "./view.js";

export function openMemoryStore(clock: Clock): Store {
  return new MemoryStore(clock);
}

class MemoryStore implements Store {
  readonly capabilities = { shared: false, durable: false, groupMax: 256, commitRowsMax: 2_000 };
  readonly location = "memory";
  private readonly orgs = new Map<string, MemoryOrg>();
  private readonly listeners = new Listeners();
  private closed = false;

  constructor(private readonly clock: Clock) {}

  async open(org: string, defaultProject: string): Promise<string> {
    let tables = this.orgs.get(org);
    if (!tables) {
      const created = newOrg(org, defaultProject, this.clock.now());
      tables = tablesOf(created.org, created.project);
      this.orgs.set(org, tables);
    }
    return tables.org.defaultProject;
  }

  async commit<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]> {
    const tables = this.tables(org);
    const now = timeIn(tables.org, this.clock);
    const view = new MemoryView(tables);
    const before = tables.writes;
    let frees = false;
    const results = jobs.map((job): JobResult<T> => {
      const undo: (() => void)[] = [];
      const apply = (changes: Changes) => {
        const moves = view.queueMoves(changes);
        const sessions = new Map([...changes.sessions.keys()].map((key) => [key, tables.sessions.get(key)]));
        put(tables, changes, undo);
        const facts = { joinedQueue: moves.hasJoined(), session: (key: Key) => sessions.get(key) };
        frees = mayFree(changes, facts) || frees;
      };
      try {
        return { ok: true, value: job({ now, view, apply }) };
      } catch (error) {
        for (const step of undo.reverse()) step();
        return { ok: false, error };
      }
    });
    for (const [key, record] of tables.idempotency) {
      if (record.createdAt < now - limits.idempotencyKeepMs) tables.idempotency.delete(key);
    }
    if (tables.writes !== before) this.listeners.announce(org, frees);
    return results;
  }

  async read<T>(org: string, job: ReadJob<T>): Promise<T> {
    const tables = this.tables(org);
    return job(new MemoryView(tables), timeIn(tables.org, this.clock));
  }

  async snapshot(org: string): Promise<Snapshot> {
    const tables = copyOf(this.tables(org));
    const now = timeIn(tables.org, this.clock);
    let closed = false;
    return {
      read: async (job) => {
        if (closed || this.closed) throw new StoreError("STORE_CLOSED", "This snapshot was closed.");
        return job(new MemoryView(tables), now);
      },
      close: async () => {
        closed = true;
      },
    };
  }

  onChange(org: string, listener: ChangeListener): () => void {
    return this.listeners.add(org, listener);
  }

  async backup(): Promise<void> {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      "A store in memory has no backup.",
      "Open a store with a path.",
    );
  }

  async check(): Promise<string[]> {
    return [];
  }

  async close(): Promise<void> {
    this.closed = true;
    this.listeners.clear();
  }

  private tables(org: string): MemoryOrg {
    const tables = this.orgs.get(org);
    if (this.closed) throw new StoreError("STORE_CLOSED", "This client was closed.");
    if (!tables) throw new UnknownOrgError(org);
    return tables;
  }
}
