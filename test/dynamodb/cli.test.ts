// Commands on DynamoDB: the tables are created by one of them, and all others use them or say what to run.

import { describe, expect, test } from "vitest";
import { openDesk } from "../cli/desk.js";
import { hasNoLocal, newAddress, newTables } from "./local.js";

test("db create --print prints a template with every table, and creates nothing", async () => {
  const desk = await openDesk();
  const { code, out } = await desk.dibs(["db", "create", "dynamodb://eu-west-1/shop", "--print"]);
  expect(code).toBe(0);
  const { Resources } = JSON.parse(out);
  const tables = Object.values<{ Type: string; DeletionPolicy: string; Properties: object }>(Resources);
  expect(tables.map(({ Properties }) => (Properties as { TableName: string }).TableName)).toEqual([
    "shop-Tasks",
    "shop-Queue",
    "shop-Agents",
    "shop-Counts",
    "shop-Notifications",
    "shop-Log",
  ]);
  for (const { Type, DeletionPolicy, Properties } of tables) {
    expect([Type, DeletionPolicy]).toEqual(["AWS::DynamoDB::Table", "Retain"]);
    expect(Properties).toMatchObject({
      BillingMode: "PAY_PER_REQUEST",
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    });
  }
  expect(Resources.LogTable.Properties.TimeToLiveSpecification).toEqual({
    AttributeName: "expiresAt",
    Enabled: true,
  });
});

test.each([
  [[], "Missing address."],
  [["shop.db"], "The file shop.db is not a store on DynamoDB."],
  [["postgres://db.example/shop"], "A PostgreSQL database is not a store on DynamoDB."],
  [["dynamodb://shop"], "'shop' is not a region"],
])("db create %j is refused: %s", async (args, reason) => {
  const desk = await openDesk();
  const { code, err } = await desk.dibs(["db", "create", ...args]);
  expect(code).toBeGreaterThan(0);
  expect(err).toContain(reason);
});

test("db replay needs the time of the restore", async () => {
  const desk = await openDesk();
  const address = "dynamodb://eu-west-1/shop";
  for (const args of [[], ["--rows-at", "yesterday"]]) {
    const { code, err } = await desk.dibs(["db", "replay", address, ...args]);
    expect(code).toBe(2);
    expect(err).toContain("--rows-at");
  }
});

describe.skipIf(hasNoLocal)("over DynamoDB Local", () => {
  test("commands refuse a store without tables, and work on it once they are created", async () => {
    const desk = await openDesk();
    const address = newAddress();
    const db = ["--db", address];
    for (const line of [["list"], ["add", "One"], ["export", "-"]]) {
      const { code, err } = await desk.dibs([...line, ...db]);
      expect(code).toBe(6);
      expect(err).toContain(`No Dibs store in ${address}. (STORE_NOT_FOUND)`);
      expect(err).toContain(`run: dibs db create "${address}"`);
    }
    expect(await desk.says(["db", "create", address])).toBe(`created the tables of ${address}\n`);
    expect(await desk.json(["db", "create", address])).toMatchObject({ success: true, created: false });

    await desk.says(["add", "One", ...db]);
    await desk.says(["add", "Two", "--depends-on", "0001", ...db]);
    const { claim } = await desk.json(["claim", "--session", "a", ...db]);
    expect(claim.taskId).toBe("0001");
    await desk.says(["done", "0001", "--session", "a", ...db]);
    const { tasks } = await desk.json(["list", ...db], { env: {} });
    expect(tasks.map(({ id }: { id: string }) => id)).toContain("0002");
    expect(await desk.json(["doctor"], { env: { DIBS_DATABASE_URL: address } })).toMatchObject({
      success: true,
    });
  });

  test("an export of a file is imported, and exported again with the same bytes", async () => {
    const desk = await openDesk();
    const db = ["--db", await newTables()];
    await desk.says(["init", "--no-agents"]);
    await desk.says(["add", "One"]);
    await desk.says(["add", "Two", "--depends-on", "0001"]);
    await desk.says(["claim", "--session", "a"]);
    await desk.says(["export", "there.jsonl"]);
    await desk.says(["import", "there.jsonl", ...db]);
    await desk.says(["export", "back.jsonl", ...db]);
    expect(desk.read("back.jsonl")).toBe(desk.read("there.jsonl"));
    const { code, err } = await desk.dibs(["backup", "copy.db", ...db]);
    expect(code).toBe(6);
    expect(err).toContain("point-in-time recovery");
  });
});
