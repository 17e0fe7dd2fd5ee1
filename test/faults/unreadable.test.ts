// Rows that another program, or the disk, has spoilt: named where they are read, passed over where others can be worked on.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test, vi } from "vitest";
import { checkDibs, openDibs } from "../../src/compose.js";
import type { Dibs } from "../../src/index.js";
import { Executor } from "../../src/operations/execute.js";
import { Housekeeping } from "../../src/operations/housekeeping.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { eventually } from "../eventually.js";
import { Pipeline } from "../operations/world.js";
import { testDatabase } from "../postgres/database.js";
import { afterwards, tempDir } from "../support.js";

const { url, admin, empty } = await testDatabase();

interface Spoilt {
  dibs: Dibs;
  /** Overwrites a JSON column of some rows with what no decoder takes. */
  spoil(table: Table, where: string): Promise<void>;
  problems(): Promise<string[]>;
}

type Opening = () => Promise<Spoilt>;

/** Where each table has its JSON. PostgreSQL decodes some of it itself, so that no text there can be torn. */
const columns = {
  project: { sqlite: "settings", postgres: "settings" },
  task: { sqlite: "more", postgres: "more" },
  task_text: { sqlite: "metadata", postgres: null },
  claim: { sqlite: "metadata", postgres: "body" },
  attempt: { sqlite: "body", postgres: null },
  session: { sqlite: "capabilities", postgres: "body" },
  session_record: { sqlite: "history", postgres: null },
  event: { sqlite: "body", postgres: "data" },
  document: { sqlite: "value", postgres: null },
  idempotency: { sqlite: "answer", postgres: null },
};
type Table = keyof typeof columns;

async function onSqlite(): Promise<Spoilt> {
  const path = join(tempDir(), "dibs.db");
  const dibs = await openDibs({ path, project: "default" });
  afterwards(() => dibs.close());
  return {
    dibs,
    async spoil(table, where) {
      const db = new DatabaseSync(path);
      // The list of past claims has separators instead of JSON.
      const torn = table === "session_record" ? "a\u001fb\u001e" : '{"torn';
      const { changes } = db
        .prepare(`UPDATE ${table} SET ${columns[table].sqlite} = ? WHERE ${where}`)
        .run(torn);
      db.close();
      expect(changes).toBeGreaterThan(0);
    },
    problems: async () => (await checkDibs({ path })).problems,
  };
}

async function onPostgres(): Promise<Spoilt> {
  await empty();
  const dibs = await openDibs({ url, project: "default" });
  afterwards(() => dibs.close());
  return {
    dibs,
    async spoil(table, where) {
      const changed = await admin.query(
        `UPDATE dibs.${table} SET ${columns[table].postgres} = '[]' WHERE ${where} RETURNING 1`,
      );
      expect(changed).not.toEqual([]);
      await admin.query("UPDATE dibs.org SET version = version + 1");
    },
    problems: async () => (await checkDibs({ url })).problems,
  };
}

const stores: [string, Opening][] = [
  ["SQLite", onSqlite],
  ["PostgreSQL", onPostgres],
];

const corrupt = (table: string, id: string) =>
  expect.objectContaining({
    code: "STORE_CORRUPT",
    message: expect.stringMatching(new RegExp(`^Row \\S*${id} of table ${table} is unreadable\\.$`)),
  });

test.each(stores)("%s: an unreadable task is named, and the rest of the queue is worked", async (_, open) => {
  const { dibs, spoil, problems } = await open();
  for (let n = 0; n < 30; n++) await dibs.tasks.create({ title: `Task ${n}`, prompt: "x" });
  await dibs.sessions.register({ id: "a", capacity: 100 });
  expect(await problems()).toEqual([]);
  await spoil("task", "id IN ('0001', '0003')");

  await expect(dibs.tasks.get({ taskId: "0001" })).rejects.toEqual(corrupt("task", "0001"));
  await expect(dibs.tasks.claim({ taskId: "0003", sessionId: "a" })).rejects.toEqual(corrupt("task", "0003"));
  await expect(dibs.tasks.list()).rejects.toEqual(corrupt("task", "000[13]"));
  const claimed: string[] = [];
  for (let n = 0; n < 29; n++) {
    const { task } = await dibs.tasks.claimNext({ sessionId: "a" });
    if (task) claimed.push(task.id);
  }
  expect(claimed).toHaveLength(28);
  expect(claimed[0]).toBe("0002");
  for (const taskId of claimed) await dibs.tasks.complete({ taskId, sessionId: "a" });
  expect((await dibs.tasks.get({ taskId: "0030" })).task.state).toBe("completed");
  expect(await problems()).toEqual([
    expect.stringMatching(/^Row \S+\/0001 of table task is unreadable\.$/),
    expect.stringMatching(/^Row \S+\/0003 of table task is unreadable\.$/),
  ]);
});

test.each(stores)("%s: an unreadable claim that has expired does not stop other claims", async (_, open) => {
  const { dibs, spoil, problems } = await open();
  await dibs.projects.update({ settings: { claim: { minTtlMs: 1, defaultTtlMs: 1, startTimeoutMs: 1 } } });
  for (let n = 0; n < 3; n++) await dibs.tasks.create({ prompt: "x" });
  for (const id of ["a", "b", "c"]) await dibs.sessions.register({ id });
  await dibs.tasks.claimNext({ sessionId: "a" });
  await spoil("claim", "task_id = '0001'");
  expect((await dibs.tasks.claimNext({ sessionId: "b" })).task?.id).toBe("0002");
  expect((await dibs.tasks.claimNext({ sessionId: "c" })).task?.id).toMatch(/^000[23]$/);
  await expect(dibs.tasks.get({ taskId: "0001" })).rejects.toEqual(corrupt("claim", "0001"));
  expect(await problems()).toEqual([expect.stringMatching(/^Row \S+\/0001 of table claim is unreadable\.$/)]);
});

test.each(stores)("%s: unreadable sessions and events are named", async (_, open) => {
  const { dibs, spoil, problems } = await open();
  await dibs.sessions.register({ id: "a" });
  await dibs.sessions.register({ id: "b" });
  for (let n = 0; n < 30; n++) await dibs.tasks.create({ prompt: "x" });
  await spoil("session", "id = 'a'");
  await spoil("event", "type = 'task:created'");
  await expect(dibs.tasks.claimNext({ sessionId: "a" })).rejects.toEqual(corrupt("session", "a"));
  expect((await dibs.tasks.claimNext({ sessionId: "b" })).task?.id).toBe("0001");
  await expect(dibs.events.list()).rejects.toEqual(corrupt("event", "\\d+"));
  expect((await dibs.stats.get()).by_status).toMatchObject({ available: 29, claimed: 1 });
  const found = await problems();
  expect(found[0]).toMatch(/^Row \S+\/a of table session is unreadable\.$/);
  expect(found.at(-1)).toBe("22 more rows are unreadable.");
  expect(found).toHaveLength(10);
});

/** One damaged row each, in another project, or of another task or session of this one. */
const damages: [string, Table, string][] = [
  ["the project of an expired lease", "project", "id = 'other'"],
  ["the session of an expired lease", "session", "project = 'other' AND id = 'h'"],
  ["the record of that session", "session_record", "project = 'other' AND id = 'h'"],
  ["the task of an expired lease", "task", "project = 'other' AND id = 'past'"],
  ["an expired lease", "claim", "project = 'other'"],
  ["a lease that runs", "claim", "project = 'default' AND session_id = 'neighbour'"],
  ["a session that holds a task", "session", "project = 'default' AND id = 'neighbour'"],
  ["an idle session", "session", "project = 'default' AND id = 'idle'"],
  ["the task at the head of the queue", "task", "project = 'default' AND id = 'next'"],
  ["its text", "task_text", "no = (SELECT no FROM task WHERE project = 'default' AND id = 'next')"],
  ["a dependent", "task", "project = 'default' AND id = 'waits'"],
  ["a parent", "task", "project = 'default' AND id = 'whole'"],
  ["a closed attempt", "attempt", "no = (SELECT no FROM task WHERE project = 'default' AND id = 'done')"],
  ["an event", "event", "type = 'token:created'"],
  ["an event of a task", "event", "type = 'task:completed'"],
  ["a lock", "document", "kind = 'lock'"],
  ["a token", "document", "kind = 'token'"],
  ["an answer kept for its key", "idempotency", "1 = 1"],
];

/** What goes on in both projects before the damage. */
async function busyFleet(dibs: Dibs): Promise<void> {
  const project = "other";
  await dibs.projects.create({ id: project });
  await dibs.projects.create({ id: "third" });
  const short = { minTtlMs: 1, defaultTtlMs: 1, startTimeoutMs: 1 };
  await dibs.tasks.create({ project, prompt: "x", id: "past" });
  await dibs.sessions.register({ project, id: "h" });
  await dibs.tasks.create({ prompt: "x", id: "held" });
  await dibs.tasks.create({ prompt: "x", id: "waits", dependsOn: ["held"] });
  await dibs.tasks.create({ prompt: "x", id: "whole" });
  await dibs.tasks.create({ prompt: "x", id: "part", parentId: "whole" });
  for (const id of ["neighbours", "done"]) await dibs.tasks.create({ prompt: "x", id });
  await dibs.tasks.create({ prompt: "x", id: "next", metadata: { a: 1 }, priority: 9 });
  for (let n = 0; n < 10; n++) await dibs.tasks.create({ prompt: "x", id: `x${n}` });
  for (const id of ["worker", "neighbour", "idle"]) await dibs.sessions.register({ id, capacity: 100 });
  await dibs.locks.acquire({ name: "deploy", sessionId: "neighbour" });
  await dibs.tokens.create({ name: "ci", role: "worker" });
  for (const taskId of ["held", "part", "done"]) await dibs.tasks.claim({ taskId, sessionId: "worker" });
  await dibs.tasks.complete({ taskId: "done", sessionId: "worker" }, { idempotencyKey: "done" });
  await dibs.tasks.claim({ taskId: "neighbours", sessionId: "neighbour" });
  await dibs.tasks.claim({ project, taskId: "past", sessionId: "h" });
  await dibs.tasks.release({ project, taskId: "past", sessionId: "h" });
  await dibs.projects.update({ id: project, settings: { claim: short } });
  await dibs.tasks.claim({ project, taskId: "past", sessionId: "h" });
  await dibs.tasks.start({ taskId: "held", sessionId: "worker" });
}

/** What others do then, and what each of them hears. */
async function workOfOthers(dibs: Dibs): Promise<Record<string, unknown>> {
  const sessionId = "worker";
  const calls: Record<string, () => Promise<unknown>> = {
    claimNext: async () => {
      const { task } = await dibs.tasks.claimNext({ sessionId: "newcomer", register: true });
      expect(task).not.toBeNull();
    },
    register: () => dibs.sessions.register({ id: "another" }),
    "session heartbeat": () => dibs.sessions.heartbeat({ sessionId }),
    claim: () => dibs.tasks.claim({ taskId: "x5", sessionId }),
    heartbeat: () => dibs.tasks.heartbeat({ taskId: "x5", sessionId }),
    fail: () => dibs.tasks.fail({ taskId: "x5", sessionId, error: "x" }),
    "complete with a dependent": () => dibs.tasks.complete({ taskId: "held", sessionId }),
    "complete with a parent": () => dibs.tasks.complete({ taskId: "part", sessionId }),
    cancel: () => dibs.tasks.cancel({ taskId: "x8" }),
    cleanup: () => dibs.claims.cleanup(),
    stats: () => dibs.stats.get(),
    "stats of all projects": () => dibs.stats.get({ project: "*" }),
    "stats of claims": () => dibs.claims.stats({ dead: true }),
    "another project": () => dibs.tasks.list({ project: "third" }),
    "its sessions": () => dibs.sessions.list({ project: "third" }),
    create: () => dibs.tasks.create({ prompt: "more" }),
    lock: () => dibs.locks.acquire({ name: "build", sessionId }),
    token: () => dibs.tokens.create({ name: "cd", role: "worker" }),
    "end session": () => dibs.sessions.end({ sessionId }),
  };
  const failed: Record<string, unknown> = {};
  for (const [what, call] of Object.entries(calls)) {
    await call().catch((error: Error) => {
      failed[what] = error.message;
    });
  }
  return failed;
}

test.each(damages)("SQLite: %s is unreadable, and others go on working", async (_, table, where) => {
  const { dibs, spoil, problems } = await onSqlite();
  await busyFleet(dibs);
  await spoil(table, where);
  expect(await workOfOthers(dibs)).toEqual({});
  expect(await problems()).toEqual([expect.stringContaining(` of table ${table} is unreadable.`)]);
});

const onBoth = damages.filter(([, table]) => columns[table].postgres !== null);

test.each(onBoth)("PostgreSQL: %s is unreadable, and others go on working", async (_, table, where) => {
  const { dibs, spoil } = await onPostgres();
  await busyFleet(dibs);
  await spoil(table, where);
  expect(await workOfOthers(dibs)).toEqual({});
});

test("a waiting claim does not try again and again while only an unreadable task is ready", async () => {
  const { dibs, spoil } = await onSqlite();
  await dibs.tasks.create({ prompt: "x" });
  await dibs.sessions.register({ id: "a" });
  await spoil("task", "id = '0001'");
  const tries = vi.spyOn(Executor.prototype, "transact");
  afterwards(() => tries.mockRestore());
  // What is shown is that little happens for a while: a slow machine sees less of it, and does not fail.
  expect((await dibs.tasks.claimNext({ sessionId: "a", waitMs: 1500 })).task).toBeNull();
  const claims = tries.mock.calls.filter(([{ handler }]) => handler.name === "tasks.claimNext");
  expect(claims.length).toBeLessThan(10);
});

test.each(stores)(
  "%s: what a dead process held is handed on while another session's rows are unreadable",
  async (_, open) => {
    const { dibs, spoil } = await open();
    for (let n = 0; n < 3; n++) await dibs.tasks.create({ prompt: "x" });
    const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 600000)"]);
    afterwards(() => void child.kill("SIGKILL"));
    await dibs.sessions.register({ id: "torn" });
    await dibs.sessions.register({ id: "idle" });
    await dibs.sessions.register({ id: "dead", pid: child.pid! });
    await dibs.tasks.claim({ taskId: "0001", sessionId: "torn" });
    await dibs.tasks.claim({ taskId: "0002", sessionId: "dead" });
    await spoil("claim", "session_id = 'torn'");
    await spoil("session", "id = 'idle'");
    child.kill("SIGKILL");
    await once(child, "exit");
    await eventually(async () => {
      await dibs.tasks.list({ state: "completed" });
      return (await dibs.tasks.get({ taskId: "0002" })).task.state;
    }).toBe("queued");
    // Another session of the dead process cannot be ended, and does not fail the cleanup.
    await dibs.sessions.register({ id: "half", pid: child.pid! });
    await dibs.tasks.claim({ taskId: "0003", sessionId: "half" });
    await spoil("claim", "session_id = 'half'");
    await dibs.sessions.register({ id: "gone", pid: child.pid! });
    await dibs.tasks.claim({ taskId: "0002", sessionId: "gone" });
    expect((await dibs.claims.cleanup()).cleaned).toMatchObject([{ taskId: "0002", sessionId: "gone" }]);
  },
);

async function withTornProject(before: (pipeline: Pipeline) => Promise<unknown>): Promise<Pipeline> {
  const path = join(tempDir(), "dibs.db");
  const clock = new TestClock();
  const store = await openSqliteStore(path, clock);
  afterwards(() => store.close());
  await store.open("default", "demo");
  const pipeline = new Pipeline(store, clock);
  await pipeline.call("projects.create", { id: "torn" });
  await before(pipeline);
  const db = new DatabaseSync(path);
  db.exec(`UPDATE project SET settings = '{"torn' WHERE id = 'torn'`);
  db.close();
  return pipeline;
}

async function holdOne(pipeline: Pipeline, project: string): Promise<void> {
  await pipeline.call("tasks.create", { project, prompt: "x" });
  await pipeline.call("tasks.claimNext", { project, sessionId: "a", register: true });
}

test("housekeeping goes on with the projects that can be read", async () => {
  const { executor, store, clock } = await withTornProject((pipeline) => holdOne(pipeline, "demo"));
  clock.advance(60 * 60_000);
  const troubles: unknown[] = [];
  const housekeeping = new Housekeeping(executor, {
    orgs: () => ["default"],
    onTrouble: (error) => void troubles.push(error),
  });
  afterwards(() => housekeeping.stop());
  await eventually(() => store.read("default", (view) => view.due(clock.now(), 1).length)).toBe(0);
  await housekeeping.stop();
  expect(troubles).toEqual([]);
});

test("a clock that is set back is followed while the project of a lease is unreadable", async () => {
  const year = 365 * 24 * 60 * 60_000;
  const pipeline = await withTornProject(async (before) => {
    before.clock.advance(year);
    await holdOne(before, "torn");
    await holdOne(before, "demo");
  });
  pipeline.clock.advance(-year);
  await pipeline.call("tasks.create", { prompt: "x" });
  pipeline.clock.advance(60 * 60_000);
  const claimed = [];
  for (const sessionId of ["b", "c"]) {
    claimed.push((await pipeline.call("tasks.claimNext", { sessionId, register: true })).task?.id);
  }
  expect(claimed.sort()).toEqual(["0001", "0002"]);
});
