// The library on DynamoDB: the same calls, another address.

import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type DibsError, exportDibs, importDibs, openDibs } from "../../src/index.js";
import { hasNoLocal, newAddress, newTables } from "./local.js";

afterEach(() => vi.unstubAllEnvs());

const refusalOf = (opening: Promise<unknown>) =>
  opening.then(
    () => expect.fail("it was opened"),
    (error) => error as DibsError,
  );

describe.skipIf(hasNoLocal)("over DynamoDB Local", () => {
  let url: string;
  beforeAll(async () => {
    url = await newTables();
  });

  test("a plan is worked through, and its results are there for the next program", async () => {
    const dibs = await openDibs({ url, org: "plan" });
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
    const later = await openDibs({ url, org: "plan" });
    expect((await later.tasks.list()).tasks.map(({ state }) => state)).toEqual(["completed", "completed"]);
    await later.close();
  });

  test("DIBS_DATABASE_URL names the store where none is given", async () => {
    vi.stubEnv("DIBS_DATABASE_URL", url);
    const here = await openDibs({ org: "named" });
    const { task } = await here.tasks.create({ prompt: "find me" });
    await here.close();
    vi.unstubAllEnvs();
    const there = await openDibs({ url, org: "named" });
    expect((await there.tasks.get({ taskId: task.id })).task.prompt).toBe("find me");
    await there.close();
  });

  test("an org is exported and imported under another name, with the same bytes", async () => {
    const dibs = await openDibs({ url, org: "moving" });
    await dibs.tasks.create({ prompt: "First" });
    await dibs.tasks.create({ prompt: "Second", dependsOn: ["0001"] });
    await dibs.tasks.claimNext({ sessionId: "a", register: true });
    await dibs.close();
    const lines = await linesOf({ url, org: "moving" });
    await importDibs({ url, org: "moved" }, () => asLines(lines));
    const again = await linesOf({ url, org: "moved" });
    expect(again.slice(1)).toEqual(lines.slice(1));
  });

  test("tables that are missing are refused with the command that creates them", async () => {
    const address = newAddress();
    const error = await refusalOf(openDibs({ url: address }));
    expect(error.code).toBe("STORE_NOT_FOUND");
    expect(error.hint).toContain(`dibs db create "${address}"`);
  });
});

async function linesOf(options: { url: string; org: string }): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportDibs(options)) lines.push(line);
  return lines;
}

async function* asLines(lines: string[]): AsyncGenerator<string> {
  yield* lines;
}

test.each([
  ["dynamodb:///dibs", "the region is missing"],
  ["dynamodb://nowhere/dibs", "'nowhere' is not a region"],
  ["dynamodb://eu-west-1", "the prefix of the tables is missing"],
  ["dynamodb://eu-west-1/a/b", "the prefix of the tables must have"],
  ["dynamodb://eu-west-1:8000/dibs", "?endpoint=http://host:port"],
  ["dynamodb://key:secret@eu-west-1/dibs", "must not contain credentials"],
  ["dynamodb://eu-west-1/dibs?table=x", "'?table' is unknown"],
  ["dynamodb://eu-west-1/dibs?endpoint=127.0.0.1:8000", "?endpoint= must be an http(s) address"],
])("the address %s is refused with the reason", async (url, reason) => {
  const error = await refusalOf(openDibs({ url }));
  expect(error.code).toBe("STORE_UNAVAILABLE");
  expect(error.message).toContain(reason);
  expect(error.message).not.toContain("secret");
});
