// A restore: the rows are older than the log, and replaying the log brings them to its end.

import { expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { replayLog } from "../../src/store/dynamodb/replay.js";
import { openDynamoStore } from "../../src/store/dynamodb/store.js";
import { createTables, tableNames } from "../../src/store/dynamodb/tables.js";
import { until } from "../support.js";
import { FakeDynamo } from "./fake.js";

const prefix = "dibs";
const where = "dynamodb://eu-west-1/dibs";
const names = tableNames(prefix);
const rowTables = Object.values(names).filter((name) => name !== names.log);

async function withDibs<T>(
  service: FakeDynamo,
  story: (dibs: Awaited<ReturnType<typeof openDibs>>) => Promise<T>,
): Promise<T> {
  const store = await openDynamoStore(service.client(), { prefix, location: where, clock: null });
  const dibs = await openDibs({ store });
  try {
    return await story(dibs);
  } finally {
    await dibs.close();
    await store.close();
  }
}

test("rows that were restored to a minute before the log are brought to its end", async () => {
  const service = new FakeDynamo();
  await createTables(service.client(), prefix);
  await withDibs(service, async (dibs) => {
    await dibs.tasks.create({ prompt: "First" });
    await dibs.tasks.create({ prompt: "Second" });
  });
  const rowsAt = Date.now();
  const rows = rowTables.map((name) => ({ name, items: service.contents(name) }));
  const expected = await withDibs(service, async (dibs) => {
    const { claim } = await dibs.tasks.claimNext({ sessionId: "a", register: true });
    const { taskId, epoch } = claim!;
    await dibs.tasks.complete({ taskId, epoch, sessionId: "a", result: "done" });
    await dibs.tasks.create({ prompt: "Third" });
    return (await dibs.tasks.list()).tasks;
  });
  const now = rowTables.map((name) => service.contents(name));
  for (const { name, items } of rows) service.restore(name, items);

  const count = await replayLog(service.client(), { prefix, where }, { org: "default", rowsAt });
  expect(count).toBeGreaterThan(0);
  await withDibs(service, async (dibs) => {
    expect((await dibs.tasks.list()).tasks).toEqual(expected);
    // An applier starts with a commit.
    await dibs.sessions.register({ id: "b" });
    const tasks = rowTables.indexOf(names.tasks);
    await until("the tasks are in their table", () => {
      return JSON.stringify(service.contents(names.tasks)).length >= JSON.stringify(now[tasks]).length;
    });
    expect((await dibs.tasks.list()).tasks).toEqual(expected);
    expect((await dibs.tasks.claimNext({ sessionId: "b" })).claim?.taskId).toBe("0002");
  });
});

test("an org that is not there is refused", async () => {
  const service = new FakeDynamo();
  await createTables(service.client(), prefix);
  const replaying = replayLog(service.client(), { prefix, where }, { org: "other", rowsAt: Date.now() });
  await expect(replaying).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
});
