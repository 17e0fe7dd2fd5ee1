// A PostgreSQL database without Dibs' schema: read, it is refused and stays empty; a command that begins something creates the schema.

import { expect, test } from "vitest";
import { openDesk } from "../cli/desk.js";
import { testDatabase } from "./database.js";

const database = await testDatabase({ migrated: false });

const hasSchema = async () =>
  (await database.admin`SELECT 1 FROM pg_namespace WHERE nspname = 'dibs'`).length > 0;

test("commands refuse an empty database, and the first task creates the schema", async () => {
  const desk = await openDesk();
  const db = ["--db", database.url];
  const { host, pathname } = new URL(database.url);
  const where = `postgres://${host}${pathname}`;
  for (const line of [["list"], ["claim", "--session", "a"], ["export", "-"]]) {
    const { code, err } = await desk.dibs([...line, ...db]);
    expect([code, err]).toEqual([
      6,
      `dibs: No Dibs store in ${where}. (STORE_NOT_FOUND)\nCheck the address. To create the store, run: dibs init --db <address>\n`,
    ]);
  }
  expect(await hasSchema()).toBe(false);
  const first = await desk.dibs(["add", "One", ...db]);
  expect(first).toMatchObject({ code: 0, err: `Created store ${where}\n` });
  expect(await desk.dibs(["add", "Two", ...db])).toMatchObject({ code: 0, err: "" });
  expect((await desk.json(["list", ...db])).tasks).toHaveLength(2);
});
