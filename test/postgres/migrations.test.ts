// Starting: on a database that is empty, too new, out of reach or closed to us.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noChanges } from "../../src/core/changes.js";
import type { DibsError } from "../../src/index.js";
import { migrations, programRole } from "../../src/store/postgres/schema.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { eventually } from "../eventually.js";
import { Child, open, refusalOf } from "../faults/support.js";
import { testDatabase } from "./database.js";
import { freePort, type Server, startServer } from "./server.js";
import { connectSql, type Sql } from "./sql.js";
import { stored } from "./support.js";

const applied = migrations.map(({ version, name }) => ({ version, name }));
const migrationRows = (sql: Sql) => sql`SELECT version, name FROM dibs.migration ORDER BY version`;
const empty = await testDatabase({ migrated: false });
const full = await testDatabase();

describe("ten processes that start on an empty database", () => {
  test("apply each migration once, and all can work", async () => {
    const children = Array.from({ length: 10 }, () => new Child("opener.mjs", { url: empty.url }));
    await Promise.all(children.map((child) => child.said("ready")));
    for (const child of children) child.send("go");
    await Promise.all(children.map((child) => child.exited));

    expect(children.flatMap((child) => child.of("refused"))).toEqual([]);
    const wrote = children.map((child) => child.of("opened")[0]?.wrote as string);
    expect([...(await migrationRows(empty.admin))]).toEqual(applied);
    expect((await stored(empty.url)).tasks.map(({ id }) => id)).toEqual(wrote.sort());
  });
});

describe("a database of the first version", () => {
  test("is brought up to date, and goes on", async () => {
    const { admin, url } = await testDatabase({ migrated: false });
    await admin.query(`CREATE SCHEMA dibs; CREATE TABLE dibs.migration (version integer PRIMARY KEY, name text NOT NULL,
      applied_by integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    await admin.query(migrations[0]!.sql);
    await admin.query(`INSERT INTO dibs.migration (version, name, applied_by) VALUES (1, 'foundation', 1);
      INSERT INTO dibs.org VALUES ('default', 1, 0, 1, 0, 0, 5, 5, 'demo', 5);
      INSERT INTO dibs.project VALUES ('default', 'demo', '{}', false, 5, 5);
      INSERT INTO dibs.session VALUES ('default', 'demo', 'a', 5, NULL, '{"startedAt":5,"capacity":1,"capabilities":[],"avoid":[]}')`);
    const store = await openPostgresStore(url, { now: () => 10 });
    expect(await store.open("default", "other")).toBe("demo");
    const session = await store.read("default", (view) => view.session("demo", "a"));
    expect(session).toMatchObject({ id: "a", startedAt: 5, owner: null });
    const sessions = new Map([["demo/a", { ...session!, owner: "token" }]]);
    const documents = new Map([["log/x", { kind: "log", key: "x", value: { n: 1 } }]]);
    const [done] = await store.commit("default", [
      ({ apply }) => apply({ ...noChanges(), sessions, documents }),
    ]);
    expect(done).toEqual({ ok: true, value: undefined });
    await store.close();

    const again = await openPostgresStore(url, { now: () => 10 });
    const seen = await again.read("default", (view) => [
      view.session("demo", "a")?.owner,
      view.document("log", "x"),
    ]);
    expect(seen).toEqual(["token", { n: 1 }]);
    expect(await again.check()).toEqual([]);
    await again.close();
    expect([...(await migrationRows(admin))]).toEqual(applied);
  });
});

describe("a database whose tasks were listed by an index on their state", () => {
  test("lists the same tasks by state once it is brought up to date", async () => {
    const { admin, url } = await testDatabase();
    const dibs = await open({ url });
    const ids = ["waiting", "held", "done", "gone", "failed", "asking"];
    for (const id of ids) await dibs.tasks.create({ id, prompt: id });
    const { session } = await dibs.sessions.register({ capacity: ids.length });
    const claim = (taskId: string) => dibs.tasks.claim({ taskId, sessionId: session.id, start: true });
    for (const id of ids.slice(1)) if (id !== "gone") await claim(id);
    await dibs.tasks.complete({ taskId: "done", sessionId: session.id });
    await dibs.tasks.cancel({ taskId: "gone" });
    await dibs.tasks.fail({ taskId: "failed", sessionId: session.id, error: "no", retryable: false });
    await dibs.tasks.ask({ taskId: "asking", sessionId: session.id, question: "Which?" });
    await dibs.tasks.release({ taskId: "asking", sessionId: session.id });
    await dibs.close();
    const states = ["queued", "running", "completed", "cancelled", "failed", "awaiting_response"] as const;
    const listed = async () => {
      const again = await open({ url });
      const lists = await Promise.all(states.map((state) => again.tasks.list({ state: [state] })));
      const { taskStates } = await again.stats.get({}).then((stats) => ({ taskStates: stats.by_status }));
      await again.close();
      return { lists: lists.map(({ tasks }) => tasks.map(({ id }) => id)), taskStates };
    };
    const before = await listed();
    expect(before.lists).toEqual([["waiting"], ["held"], ["done"], ["gone"], ["failed"], ["asking"]]);

    await admin.query(`DROP TABLE dibs.task_state; DROP INDEX dibs.task_lost;
      CREATE INDEX task_by_state ON dibs.task (org, project, state, no) WHERE state <> 'completed';
      CREATE INDEX task_lost ON dibs.task (org, no) WHERE state = 'queued' AND lost_count > 0;
      CREATE INDEX task_submitted ON dibs.task (org, no) WHERE state = 'submitted';
      DELETE FROM dibs.migration WHERE version >= 5`);
    expect(await listed()).toEqual(before);
    expect([...(await migrationRows(admin))]).toEqual(applied);
  });
});

describe("rows of tasks", () => {
  test("are changed in place when tasks are completed together", async () => {
    const { admin, url } = await testDatabase();
    const dibs = await open({ url });
    const count = 200;
    await dibs.tasks.batch({ tasks: Array.from({ length: count }, (_, n) => ({ prompt: `${n}` })) });
    const { session } = await dibs.sessions.register({ capacity: count });
    const sessionId = session.id;
    const held = await Promise.all(Array.from({ length: count }, () => dibs.tasks.claimNext({ sessionId })));
    await Promise.all(held.map(({ task }) => dibs.tasks.complete({ taskId: task!.id, sessionId })));
    await dibs.close();
    const updates = async () => {
      const [row] = await admin`SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS in_place
        FROM pg_stat_user_tables WHERE relname = 'task'`;
      return row as { all: number; in_place: number };
    };
    await eventually(async () => (await updates()).all).toBeGreaterThanOrEqual(count);
    const { all, in_place } = await updates();
    expect(in_place / all).toBeGreaterThan(0.9);
  });
});

describe("a database that a newer Dibs has changed", () => {
  test("is refused, and left as it is", async () => {
    const { admin } = full;
    await admin`INSERT INTO dibs.migration (version, name, applied_by) VALUES (9999, 'from the future', 1)`;
    const look = async () => ({
      migrations: await admin`SELECT * FROM dibs.migration`,
      relations: await admin`SELECT relname, relacl::text FROM pg_class
        WHERE relnamespace = 'dibs'::regnamespace ORDER BY relname`,
      orgs: await admin`SELECT * FROM dibs.org`,
    });
    const before = await look();
    const refusal = await refusalOf(open({ url: full.url }));
    expect(refusal.code).toBe("STORE_TOO_NEW");
    expect(refusal.message).toContain("9999");
    expect(await look()).toEqual(before);
  });
});

describe("on a server of its own", () => {
  const directory = mkdtempSync(join(tmpdir(), "dibs-hba-"));
  let server: Server;
  let root: Sql;

  beforeAll(async () => {
    // Only the superuser comes in without a password.
    const hba = join(directory, "pg_hba.conf");
    writeFileSync(hba, "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
    chmodSync(directory, 0o755);
    server = await startServer({ hba_file: hba });
    root = connectSql(server.url());
  });

  afterAll(async () => {
    await root?.end();
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const as = (user: string, password: string, database: string) =>
    server.url(database).replace("postgres@", `${user}:${password}@`);

  test("starters on several new databases at once do not disturb each other", async () => {
    const names = ["one", "two", "three", "four"];
    for (const name of names) await root.query(`CREATE DATABASE ${name}`);
    const starts = [...names, ...names].map(async (name) => {
      const dibs = await open({ url: server.url(name) });
      await dibs.tasks.create({ prompt: "work" });
    });
    await Promise.all(starts);
    for (const name of names) expect((await stored(server.url(name))).tasks).toHaveLength(2);
  });

  test("an owner who may not make roles can start and work", async () => {
    await root`CREATE ROLE owner LOGIN PASSWORD 'sekret'`;
    await root`CREATE DATABASE owned OWNER owner`;
    const dibs = await open({ url: as("owner", "sekret", "owned") });
    const { task } = await dibs.tasks.create({ prompt: "work" });
    await dibs.close();
    const again = await open({ url: as("owner", "sekret", "owned") });
    expect((await again.tasks.get({ taskId: task.id })).task.title).toBe("work");
    const [role] = await root`SELECT pg_has_role('owner', ${programRole}, 'MEMBER') AS has`;
    expect(role?.has).toBe(false);
  });

  test("an owner who may make roles, but is no superuser, can start and work", async () => {
    await root.query(`ALTER ROLE ${programRole} RENAME TO former_program`);
    await root`CREATE ROLE maker LOGIN CREATEROLE PASSWORD 'sekret'`;
    await root`CREATE DATABASE made OWNER maker`;
    const dibs = await open({ url: as("maker", "sekret", "made") });
    await dibs.tasks.create({ prompt: "work" });
    expect((await stored(as("maker", "sekret", "made"))).tasks).toHaveLength(1);
    const [role] = await root`SELECT pg_has_role('maker', ${programRole}, 'SET') AS has`;
    expect(role?.has).toBe(true);
  });

  test.each<[what: string, url: () => string, says: RegExp]>([
    ["a wrong password", () => as("owner", "sekret2", "owned"), /password/],
    ["an unknown user", () => as("stranger", "sekret2", "owned"), /stranger/],
    ["an unknown database", () => as("owner", "sekret", "nowhere"), /nowhere/],
    ["no right to make the schema", () => as("owner", "sekret", "postgres"), /permission denied/],
  ])("%s is refused with what to check", async (_, url, says) => {
    const refusal = await refusalOf(open({ url: url() }));
    expect(refusal.code).toBe("STORE_UNAVAILABLE");
    expect(refusal.message).toMatch(says);
    expect(refusal.hint).toMatch(/user|password|grants/);
    expectNoSecret(refusal);
  });
});

describe("an address where no server answers", () => {
  test("is named in the refusal, without the password", async () => {
    const port = await freePort();
    const refusal = await refusalOf(open({ url: `postgres://me:sekret@127.0.0.1:${port}/work` }));
    expect(refusal.code).toBe("STORE_UNAVAILABLE");
    expect(refusal.message).toContain(`postgres://127.0.0.1:${port}/work`);
    expect(refusal.hint).toMatch(/server runs/);
    expectNoSecret(refusal);
  });

  test.each(["postgres://me:sekret@host:port/work", "postgres://me:sekret@", "postgres:me:sekret"])(
    "that is no address (%s) is refused without repeating it",
    async (url) => {
      const refusal = await refusalOf(open({ url }));
      expect(refusal.code).toBe("STORE_UNAVAILABLE");
      expectNoSecret(refusal);
    },
  );
});

/** Neither in the texts nor anywhere in what a log would print. */
function expectNoSecret(refusal: DibsError): void {
  expect(inspect(refusal, { depth: 20, showHidden: true })).not.toContain("sekret");
}
