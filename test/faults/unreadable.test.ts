// Rows that another program, or the disk, has spoilt: named where they are read, passed over where others can be worked on.

import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { checkDibs, openDibs } from "../../src/compose.js";
import type { Dibs } from "../../src/index.js";
import { testDatabase } from "../postgres/database.js";
import { afterwards, tempDir } from "../support.js";

const { url, admin, empty } = await testDatabase();

interface Spoilt {
  dibs: Dibs;
  /** Overwrites a JSON column of one row with what no decoder takes. */
  spoil(table: "task" | "claim" | "session" | "event", where: string): Promise<void>;
  problems(): Promise<string[]>;
}

type Opening = () => Promise<Spoilt>;

const broken = { task: "more", claim: "metadata", session: "capabilities", event: "body" };

async function onSqlite(): Promise<Spoilt> {
  const path = join(tempDir(), "dibs.db");
  const dibs = await openDibs({ path });
  afterwards(() => dibs.close());
  return {
    dibs,
    async spoil(table, where) {
      const db = new DatabaseSync(path);
      db.exec(`UPDATE ${table} SET ${broken[table]} = '{"torn' WHERE ${where}`);
      db.close();
    },
    problems: async () => (await checkDibs({ path })).problems,
  };
}

async function onPostgres(): Promise<Spoilt> {
  await empty();
  const dibs = await openDibs({ url });
  afterwards(() => dibs.close());
  const columns = { task: "more", claim: "body", session: "body", event: "data" };
  return {
    dibs,
    async spoil(table, where) {
      await admin.unsafe(`UPDATE dibs.${table} SET ${columns[table]} = '[]' WHERE ${where}`);
      await admin.unsafe("UPDATE dibs.org SET version = version + 1");
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
    message: expect.stringMatching(new RegExp(`^Row \\S*${id} of table ${table} is unreadable: `)),
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
    expect.stringMatching(/^Row \S+\/0001 of table task is unreadable: /),
    expect.stringMatching(/^Row \S+\/0003 of table task is unreadable: /),
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
  expect(await problems()).toEqual([expect.stringMatching(/^Row \S+\/0001 of table claim is unreadable: /)]);
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
  const found = await problems();
  expect(found[0]).toMatch(/^Row \S+\/a of table session is unreadable: /);
  expect(found.at(-1)).toBe("22 more rows are unreadable.");
  expect(found).toHaveLength(10);
});
