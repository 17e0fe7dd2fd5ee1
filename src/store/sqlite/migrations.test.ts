import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { noChanges } from "../../core/changes.js";
import { defaultSettings } from "../../core/project.js";
import { TestClock, World } from "../conformance/index.js";
import { openFile } from "./connection.js";
import { knownSchema } from "./known-schema.js";
import { applicationId, migrations, migrationTable, numbersPerOrg, schemaVersion } from "./schema.js";
import { openSqliteStore } from "./store.js";

/** A store as the first version left it, with a session and what happened. */
const no = (ordinal: number) => numbersPerOrg + ordinal;

function makeOld(file: string): void {
  const db = new DatabaseSync(file);
  const first = migrations[0]!;
  // It knew nothing of landing and resources.
  const { land, worktree, uses, scopes, ...settings } = defaultSettings;
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA journal_mode = WAL;
    CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_by INTEGER NOT NULL) STRICT;
    INSERT INTO migration VALUES (1, '${first.name}', 1);
    ${first.sql}
    PRAGMA user_version = 1;
    INSERT INTO org VALUES (1, 'default', 2, 1, 1, 0, 5, 5, 'demo', 5);
    INSERT INTO project VALUES ('default', 'demo', '${JSON.stringify(settings)}', 0, 5, 5);
    INSERT INTO session VALUES ('default', 'demo', 'a', NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, NULL, NULL, 5, 5, NULL, 1, NULL);
    INSERT INTO task VALUES (${no(1)}, 'default', 'demo', '0001', 'task', NULL, 'first', 'queued', 50, NULL, 0, NULL, 0, 5, 5, 5, NULL,
      NULL, 0, 0, 0, '{"correlationId":"c","createdBy":"user:x"}');
    INSERT INTO event VALUES (${no(1)}, NULL, 'session:registered', 5, 'demo', NULL, 'a', NULL, 'agent:a', '{"name": "a \\"b\\""}');
    INSERT INTO event VALUES (${no(2)}, ${no(1)}, 'task:created', 6, 'demo', '0001', NULL, 3, 'user:x', '{}')`);
  db.close();
}

test("a store of the first version is brought up to date, and goes on", async () => {
  const directory = mkdtempSync(join(tmpdir(), "dibs-"));
  const file = join(directory, "dibs.db");
  try {
    makeOld(file);
    const store = await openSqliteStore(file, { now: () => 10 });
    expect(await store.open("default", "other")).toBe("demo");
    const session = await store.read("default", (view) => view.session("demo", "a"));
    expect(session).toMatchObject({ id: "a", startedAt: 5, owner: null });
    const [joined, created] = await store.read("default", (view) => view.events({ after: 0, limit: 10 }));
    expect(joined).toMatchObject({
      seq: 1,
      at: 5,
      sessionId: "a",
      taskId: null,
      epoch: null,
      data: { name: 'a "b"' },
    });
    expect(created).toEqual({
      org: "default",
      seq: 2,
      type: "task:created",
      at: 6,
      project: "demo",
      taskId: "0001",
      sessionId: null,
      epoch: 3,
      actor: "user:x",
      data: {},
    });
    const ofTask = { after: 0, limit: 10, project: "demo", taskId: "0001" };
    expect(await store.read("default", (view) => view.events(ofTask))).toEqual([created]);
    const sessions = new Map([["demo/a", { ...session!, owner: "token" }]]);
    const documents = new Map([["log/x", { kind: "log", key: "x", value: { n: 1 } }]]);
    const [done] = await store.commit("default", [
      ({ apply }) => apply({ ...noChanges(), sessions, documents }),
    ]);
    expect(done).toEqual({ ok: true, value: undefined });
    await store.close();

    const again = await openSqliteStore(file, { now: () => 10 });
    const seen = await again.read("default", (view) => [
      view.session("demo", "a")?.owner,
      view.document("log", "x"),
    ]);
    expect(seen).toEqual(["token", { n: 1 }]);
    expect(await again.check()).toEqual([]);
    await again.close();
    const db = new DatabaseSync(file);
    expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: schemaVersion });
    expect(db.prepare("SELECT version, name FROM migration").all()).toEqual(
      migrations.map(({ version, name }) => ({ version, name })),
    );
    db.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("a task of the first version is there after the migration, and its change is submitted and lands", async () => {
  const directory = mkdtempSync(join(tmpdir(), "dibs-"));
  const file = join(directory, "dibs.db");
  try {
    makeOld(file);
    const clock = new TestClock();
    const store = await openSqliteStore(file, clock);
    await store.open("default", "demo");
    const world = new World(store, clock);
    expect(await world.look("0001")).toMatchObject({
      id: "0001",
      title: "first",
      now: "queued",
      priority: 50,
      createdAt: 5,
      submission: null,
      landed: null,
    });
    const [commit, repository] = ["c".repeat(40), "a".repeat(40)];
    const place = { repository, target: "main" };
    await world.settings({ land: place });
    const epoch = await world.claim("0001", "agent", { start: true });
    const result = { output: "", filesCreated: [], filesModified: [] };
    await world.ok({ type: "submit", taskId: "0001", sessionId: "agent", epoch, commit, result });
    const lease = await world.ok({ type: "acquire-lander", ...place, holder: "lander" });
    const tasks = [{ project: "demo", taskId: "0001", submission: 1, commit }];
    const opened = { ...place, epoch: lease.epoch, tasks, commit };
    const { id } = await world.ok({ type: "open-landing", ...opened });
    await world.ok({ type: "land", id, epoch: lease.epoch });
    expect(await world.look("0001")).toMatchObject({ now: "completed", landed: { commit, target: "main" } });
    await world.checkInvariants();
    await store.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("every connection flushes each commit to the disk, and does not trust what the file says", async () => {
  const directory = mkdtempSync(join(tmpdir(), "dibs-"));
  try {
    for (const brief of [false, true, false]) {
      const db = await openFile(join(directory, "dibs.db"), { brief });
      expect(db.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
      expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      expect(db.prepare("PRAGMA trusted_schema").get()).toEqual({ trusted_schema: 0 });
      db.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("the known schema of every version is what its migrations create", () => {
  for (const { version } of migrations) {
    const db = new DatabaseSync(":memory:");
    db.exec(migrationTable);
    for (const { sql } of migrations.slice(0, version)) db.exec(sql);
    const rows = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").all();
    db.close();
    const known = [...knownSchema(version)].map(([name, sql]) => ({ name, sql }));
    const byName = (a: unknown, b: unknown) => JSON.stringify(a).localeCompare(JSON.stringify(b));
    expect(known.sort(byName)).toEqual(rows.map((row) => ({ ...row })).sort(byName));
  }
});
