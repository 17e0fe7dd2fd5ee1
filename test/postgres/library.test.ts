// The library on PostgreSQL: the same calls, another address.

import { afterEach, expect, test, vi } from "vitest";
import { type DibsError, openDibs } from "../../src/index.js";
import { testDatabase } from "./database.js";

const database = await testDatabase();

afterEach(() => vi.unstubAllEnvs());

const refusalOf = (opening: Promise<unknown>) =>
  opening.then(
    () => expect.fail("it was opened"),
    (error) => error as DibsError,
  );

test("a plan is worked through, and its results are there for the next program", async () => {
  const dibs = await openDibs({ url: database.url, org: "plan" });
  await dibs.tasks.batch({
    tasks: [
      { key: "schema", prompt: "Write the schema" },
      { key: "api", prompt: "Build the API on it", dependsOn: ["schema"] },
    ],
  });
  const done: string[] = [];
  await dibs.work(({ task }) => void done.push(task.title), { untilEmpty: true }).done;
  await dibs.close();
  expect(done).toEqual(["Write the schema", "Build the API on it"]);
  const later = await openDibs({ url: database.url, org: "plan" });
  expect((await later.tasks.list()).tasks.map(({ state }) => state)).toEqual(["completed", "completed"]);
  await later.close();
});

test("DIBS_DATABASE_URL names the place where none is given", async () => {
  vi.stubEnv("DIBS_DATABASE_URL", database.url);
  const here = await openDibs({ org: "named" });
  const { task } = await here.tasks.create({ prompt: "find me" });
  await here.close();
  vi.unstubAllEnvs();
  const there = await openDibs({ url: database.url, org: "named" });
  expect((await there.tasks.get({ taskId: task.id })).task.prompt).toBe("find me");
  await there.close();
});

test("two places at once, or none, are refused with what to do", async () => {
  const both = await refusalOf(openDibs({ url: database.url, path: "x.db" }));
  expect(both.code).toBe("VALIDATION_FAILED");
  vi.stubEnv("DIBS_DATABASE_URL", "");
  const none = await refusalOf(openDibs({}));
  expect(none.hint).toContain("DIBS_DATABASE_URL");
  expect((await refusalOf(openDibs({ url: "mysql://somewhere/x" }))).code).toBe("STORE_UNAVAILABLE");
});

test("a backup says which tool to use", async () => {
  const { openPostgresStore } = await import("../../src/store/postgres/store.js");
  const store = await openPostgresStore(database.url, null);
  await expect(store.backup("x")).rejects.toMatchObject({ hint: expect.stringContaining("pg_dump") });
  await store.close();
});
