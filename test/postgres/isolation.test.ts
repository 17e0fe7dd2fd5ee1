// Two orgs in one database. Even a statement that forgot its filter neither shows nor touches a row of the other one.

import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { noChanges } from "../../src/core/changes.js";
import type { Reads } from "../../src/core/view.js";
import type { Dibs } from "../../src/index.js";
import { readUrl } from "../../src/store/postgres/address.js";
import { Database } from "../../src/store/postgres/database.js";
import { orgTables, programRole } from "../../src/store/postgres/schema.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { PostgresTransaction } from "../../src/store/postgres/transaction.js";
import { afterwards, open } from "../faults/support.js";
import { testDatabase } from "./database.js";
import { connectSql } from "./sql.js";

const database = await testDatabase();
const { admin, url } = database;

/** Something of everything, with the same ids in every org. */
async function fill(dibs: Dibs): Promise<void> {
  const by = { sessionId: "worker" };
  await dibs.sessions.register({ id: "worker", capacity: 10 });
  await dibs.tasks.batch({
    tasks: [
      { key: "a", prompt: "first", id: "one" },
      { key: "b", prompt: "second", id: "two", dependsOn: ["a"] },
      { key: "c", prompt: "third", id: "three" },
      { key: "d", prompt: "fourth", id: "four" },
      { key: "e", prompt: "fifth", id: "five" },
    ],
  });
  await dibs.tasks.create({ prompt: "numbered" }, { idempotencyKey: "once" });
  const held = await dibs.tasks.claim({ ...by, taskId: "one", start: true });
  await dibs.tasks.complete({ ...by, taskId: "one", epoch: held.claim.epoch });
  const lost = await dibs.tasks.claim({ ...by, taskId: "three", start: true });
  await dibs.tasks.fail({ ...by, taskId: "three", epoch: lost.claim.epoch, error: "no", retryable: false });
  const asking = await dibs.tasks.claim({ ...by, taskId: "four", start: true });
  await dibs.tasks.ask({ ...by, taskId: "four", epoch: asking.claim.epoch, question: "why?" });
}

beforeAll(async () => {
  for (const org of ["a", "b"]) {
    await fill(await openOrg(org));
    await putDocument(org);
  }
});

async function putDocument(org: string, key = "key"): Promise<void> {
  const store = await openPostgresStore(url, { now: () => 1 });
  const documents = new Map([["x", { kind: "log", key, value: { org } }]]);
  await store.commit(org, [({ apply }) => apply({ ...noChanges(), documents })]);
  await store.close();
}

afterEach(() => {
  vi.restoreAllMocks();
});

const openOrg = (org: string) => open({ url, org });

/** All rows of an org, past row level security. */
async function rowsOf(org: string): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {};
  for (const table of orgTables) {
    const rows = await admin.query(`SELECT to_jsonb(t)::text AS row FROM dibs.${table} t WHERE org = $1`, [
      org,
    ]);
    all[table] = rows.map(({ row }) => row).sort();
  }
  return all;
}

/** As the program does it: its role, and the org as a setting of the transaction. */
async function asOrgA<T>(run: (transaction: PostgresTransaction) => Promise<T>): Promise<T> {
  const program = new Database(readUrl(url));
  program.takeRole();
  const transaction = await program.begin("a", { write: true });
  try {
    return await run(transaction);
  } finally {
    await transaction.end();
    await program.end();
  }
}

const refused = { code: "42501" };

describe.each(orgTables)("the table %s", (table) => {
  test("has rows of both orgs, and shows one of them its own", async () => {
    const both = await admin.query(`SELECT DISTINCT org FROM dibs.${table} ORDER BY org`);
    expect(both.map(({ org }) => org)).toEqual(["a", "b"]);
    const seen = await asOrgA((transaction) => transaction.plain(`SELECT DISTINCT org FROM dibs.${table}`));
    expect(seen.map(([org]) => org)).toEqual(["a"]);
  });

  test("takes no row for another org, and lets none be given away", async () => {
    const given = `INSERT INTO dibs.${table} SELECT (jsonb_populate_record(t, '{"org":"b"}')).* FROM dibs.${table} t LIMIT 1`;
    await expect(asOrgA((transaction) => transaction.plain(given))).rejects.toMatchObject(refused);
    const moved = `UPDATE dibs.${table} SET org = 'b'`;
    await expect(asOrgA((transaction) => transaction.plain(moved))).rejects.toMatchObject(refused);
  });

  test("keeps another org's rows from changes without a filter", async () => {
    const left = await asOrgA(async (transaction) => {
      await transaction.plain(`UPDATE dibs.${table} SET org = org`);
      await transaction.plain(`DELETE FROM dibs.${table}`);
      // Only the superuser behind the role sees what is left.
      await transaction.plain("RESET ROLE");
      return transaction.plain(`SELECT org, count(*) FROM dibs.${table} GROUP BY org`);
    });
    const [b] = await admin.query(`SELECT count(*)::int AS rows FROM dibs.${table} WHERE org = 'b'`);
    expect(left).toEqual([["b", b!.rows]]);
  });

  test("cannot be emptied by the program", async () => {
    await expect(asOrgA((transaction) => transaction.plain(`TRUNCATE dibs.${table}`))).rejects.toMatchObject(
      refused,
    );
  });
});

describe("every table", () => {
  test("but the one of migrations has row level security, forced also on its owner", async () => {
    const tables = await admin`
      SELECT relname AS name, relrowsecurity AND relforcerowsecurity AS secured, pg_get_userbyid(relowner) AS owner,
        (SELECT count(*)::int FROM pg_policy p WHERE p.polrelid = c.oid AND polqual IS NOT NULL AND polwithcheck IS NOT NULL
          AND polcmd = '*' AND polpermissive) AS policies
      FROM pg_class c WHERE relnamespace = 'dibs'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migration'`;
    const open = tables.filter(({ secured, policies }) => !secured || policies !== 1);
    expect(open).toEqual([]);
    expect(tables.map(({ name }) => name).sort()).toEqual([...orgTables].sort());
    expect(tables.filter(({ owner }) => owner === programRole)).toEqual([]);
  });

  test("shows nothing to a program that has not said for whom it works", async () => {
    const sql = connectSql(url);
    afterwards(() => sql.end());
    await sql.query(`SET ROLE ${programRole}`);
    for (const table of orgTables) {
      expect(await sql.query(`SELECT count(*)::int AS rows FROM dibs.${table}`)).toEqual([{ rows: 0 }]);
    }
  });
});

describe("the program's role", () => {
  test("owns nothing and has no power of its own", async () => {
    const [role] = await admin`SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin,
      (SELECT count(*)::int FROM pg_shdepend WHERE refobjid = r.oid AND deptype = 'o') AS owned
      FROM pg_roles r WHERE rolname = ${programRole}`;
    expect(Object.values(role!)).toEqual([false, false, false, false, false, 0]);
  });

  test.each([
    "INSERT INTO dibs.migration (version, name, applied_by) VALUES (9, 'x', 1)",
    "UPDATE dibs.migration SET name = 'x'",
    "DELETE FROM dibs.migration",
    "CREATE TABLE dibs.mine (x int)",
    "ALTER TABLE dibs.task DISABLE ROW LEVEL SECURITY",
  ])("may not: %s", async (text) => {
    await expect(asOrgA((transaction) => transaction.plain(text))).rejects.toMatchObject(refused);
  });

  test("is given back at the end of a transaction", async () => {
    const program = new Database(readUrl(url));
    afterwards(() => program.end());
    program.takeRole();
    for (const end of ["COMMIT", "ROLLBACK"]) {
      const transaction = await program.begin("a", { write: true });
      expect(await transaction.plain("SELECT current_user::text")).toEqual([[programRole]]);
      await transaction.plain(end);
      const [after] = await transaction.plain("SELECT current_user::text, current_setting('dibs.org', true)");
      expect(after).toEqual(["postgres", ""]);
      await transaction.end();
    }
  });
});

/** Takes the org's filter out of every statement that a store sends from now on; returns their texts. */
function forgetFilters(): string[] {
  const texts: string[] = [];
  const { send } = PostgresTransaction.prototype;
  vi.spyOn(PostgresTransaction.prototype, "send").mockImplementation(function (
    this: PostgresTransaction,
    { text, values },
  ) {
    const open = text.replaceAll(/(\b\w+\.)?\borg = (\$\d+)/g, "$2::text IS NOT NULL");
    if (open !== text) texts.push(open);
    return send.call(this, { text: open, values });
  });
  return texts;
}

/** Every list and row that a view can show. */
function lookAtEverything(view: Reads) {
  const all = { project: null, limit: 1_000 };
  const tasks = view.tasks({ ...all, afterOrdinal: 0 });
  return {
    org: view.org(),
    projects: view.projects(),
    tasks,
    ready: view.tasks({ ...all, afterOrdinal: 0, queued: { as: "ready", at: Number.MAX_SAFE_INTEGER } }),
    each: tasks.map(({ project, id }) => [
      view.task(project, id),
      view.text(project, id),
      view.claim(project, id),
      view.attempts(project, id, 100),
      view.dependents(project, id),
      view.children(project, id),
    ]),
    claims: view.openClaims(all),
    lost: view.lostClaims(all),
    events: view.events({ after: 0, limit: 1_000 }),
    sessions: view.sessions({ ...all, live: false }),
    notifications: view.notifications({ ...all, unread: false }),
    unread: view.unreadCount(null),
    counts: view.taskCounts(null),
    whole: view.wholeTasks({ afterOrdinal: 0, limit: 1_000 }),
    keys: view.idempotencyRecords({ limit: 1_000 }),
    counters: view.projects().map(({ id }) => view.counters({ project: id, limit: 1_000 })),
    due: view.due(Number.MAX_SAFE_INTEGER, 1_000),
    documents: view.documents({ kind: "log", limit: 1_000 }),
    document: view.document("log", "key"),
  };
}

describe("a store whose statements have lost their filter", () => {
  test("shows the same as before", async () => {
    const store = await openPostgresStore(url, { now: () => 1 });
    afterwards(() => store.close());
    const before = await store.read("a", lookAtEverything);
    const texts = forgetFilters();
    const after = await store.read("a", lookAtEverything);
    expect(texts.length).toBeGreaterThan(15);
    expect(after).toEqual(before);
  });

  test("writes the same as before, and nothing of the other org", async () => {
    const other = await rowsOf("b");
    const dibs = await openOrg("a");
    const texts = forgetFilters();
    const { claim } = await dibs.tasks.claim({ sessionId: "worker", taskId: "two", start: true });
    const by = { sessionId: "worker", taskId: "two", epoch: claim.epoch };
    await dibs.tasks.heartbeat(by);
    await dibs.tasks.complete(by);
    await dibs.tasks.update({ taskId: "five", priority: 90 });
    await dibs.tasks.cancel({ taskId: "five" });
    await dibs.projects.update({ settings: { order: "depth-first" } });
    await dibs.notifications.list();
    await dibs.sessions.end({ sessionId: "worker" });
    await dibs.tasks.claimNext({ sessionId: "worker", register: true });
    await putDocument("a", "another");
    expect(texts.some((text) => text.startsWith("UPDATE"))).toBe(true);
    expect(texts.some((text) => text.startsWith("DELETE"))).toBe(true);
    expect(await rowsOf("b")).toEqual(other);
  });
});
