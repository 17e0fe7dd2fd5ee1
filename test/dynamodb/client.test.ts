// What the store relies on, of the service and of the fake alike.

import { beforeAll, describe, expect, test } from "vitest";
import { settingsFrom } from "../../src/store/dynamodb/address.js";
import {
  type Condition,
  type DynamoClient,
  DynamoError,
  type Item,
  keyOf,
} from "../../src/store/dynamodb/client.js";
import { connectSdk } from "../../src/store/dynamodb/sdk-client.js";
import { createTables, missingTables, tableNames } from "../../src/store/dynamodb/tables.js";
import { FakeDynamo } from "./fake.js";
import { connectTo, hasNoLocal, newAddress } from "./local.js";
import { emptyReply, errorReply, proxied } from "./proxy.js";

const n = (value: number) => ({ N: String(value) });
const s = (value: string) => ({ S: value });

async function failure(call: Promise<unknown>): Promise<DynamoError> {
  const error = await call.then(
    () => null,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(DynamoError);
  return error;
}

describe.each([
  { name: "the fake", isSkipped: false, connect: async () => new FakeDynamo().client() },
  { name: "DynamoDB Local", isSkipped: hasNoLocal, connect: () => connectTo(newAddress()) },
])("$name", ({ isSkipped, connect }) => {
  describe.skipIf(isSkipped)("as a service", () => {
    const tables = tableNames(`c${Math.random().toString(36).slice(2, 8)}`);
    const table = tables.tasks;
    let client: DynamoClient;
    let count = 0;
    const newKey = () => keyOf(`P${++count}`, "a");
    const row = <T extends Item>(rest = {} as T, key = newKey()) => ({ ...key, ...rest });
    const stored = async (key: ReturnType<typeof newKey>) => (await client.getItem({ table, key })).item;

    beforeAll(async () => {
      client = await connect();
      const prefix = table.replace(/-Tasks$/, "");
      expect(await createTables(client, prefix)).toBe(true);
      expect(await createTables(client, prefix)).toBe(false);
      expect(await missingTables(client, prefix)).toEqual([]);
      return () => client.close();
    });

    test("an item is returned as it was put, with the date of the service", async () => {
      const item = row({ text: s("ä\u0000€ "), count: n(-12), bytes: { B: new Uint8Array([0, 255]) } });
      const { time } = await client.putItem({ table, item });
      expect(Math.abs(time!.date - Date.now())).toBeLessThan(60_000);
      expect(time!.receivedAt).toBeGreaterThanOrEqual(time!.sentAt);
      const { bytes, ...rest } = (await stored(item))!;
      const { bytes: sent, ...others } = item;
      expect(rest).toEqual(others);
      expect([...(bytes as { B: Uint8Array }).B]).toEqual([...sent.B]);
      expect((await client.getItem({ table, key: newKey() })).item).toBeUndefined();
    });

    test("a put whose condition fails changes nothing and returns the stored item", async () => {
      const item = row({ version: n(1) });
      const put = { table, item, conditions: [{ absent: "PK" }] };
      await client.putItem({ ...put, once: true });
      const error = await failure(client.putItem({ ...put, item: { ...item, version: n(2) }, once: true }));
      expect(error).toMatchObject({ kind: "condition-failed", item });
      expect(error.time).toBeDefined();
      expect(await stored(item)).toEqual(item);
    });

    test.each<[string, Condition, boolean]>([
      ["an attribute is absent", { absent: "version" }, false],
      ["another is absent", { absent: "other" }, true],
      ["an attribute is present", { present: "version" }, true],
      ["another is present", { present: "other" }, false],
      ["a number equals", { attribute: "version", equals: n(7) }, true],
      ["a number equals another", { attribute: "version", equals: n(70) }, false],
      ["a number equals a text", { attribute: "version", equals: s("7") }, false],
      ["an absent attribute equals", { attribute: "other", equals: n(7) }, false],
      ["a number differs from itself", { attribute: "version", differs: n(7) }, false],
      ["a number differs from another", { attribute: "version", differs: n(8) }, true],
      ["an absent attribute differs", { attribute: "other", differs: n(7) }, true],
      ["a number is below, as numbers are", { attribute: "version", below: n(10) }, true],
      ["a number is above", { attribute: "version", above: n(10) }, false],
      ["an absent attribute is below", { attribute: "other", below: n(10) }, false],
      ["a text is above", { attribute: "text", above: s("a") }, true],
      ["one of two holds", { anyOf: [{ absent: "version" }, { present: "text" }] }, true],
      ["none of two holds", { anyOf: [{ absent: "version" }, { absent: "text" }] }, false],
    ])("condition: %s", async (_, condition, holds) => {
      const item = row({ version: n(7), text: s("b") });
      await client.putItem({ table, item });
      const update = client.updateItem({
        table,
        key: { PK: item.PK, SK: item.SK },
        set: { done: { BOOL: true } },
        conditions: [{ present: "PK" }, condition],
      });
      if (holds) expect((await update).item).toEqual({ ...item, done: { BOOL: true } });
      else expect(await failure(update)).toMatchObject({ kind: "condition-failed", item });
    });

    test("an update sets, removes and adds, and creates an item that is absent", async () => {
      const key = newKey();
      await client.updateItem({ table, key, set: { a: s("x"), b: s("y") }, add: { count: 2 } });
      const { item } = await client.updateItem({
        table,
        key,
        set: { a: s("z") },
        remove: ["b"],
        add: { count: -5 },
      });
      expect(item).toEqual({ ...key, a: s("z"), count: n(-3) });
      expect(await stored(key)).toEqual(item);
    });

    test("a delete with a condition that fails keeps the item; deleting nothing succeeds", async () => {
      const item = row({ version: n(1) });
      await client.putItem({ table, item });
      const key = { PK: item.PK, SK: item.SK };
      const conditions = [{ attribute: "version", equals: n(2) }];
      expect((await failure(client.deleteItem({ table, key, conditions }))).kind).toBe("condition-failed");
      await client.deleteItem({ table, key });
      await client.deleteItem({ table, key });
      expect(await stored(key)).toBeUndefined();
    });

    test("a query returns a partition in the order of bytes, between bounds, in pages", async () => {
      const partition = `Q${++count}`;
      const keys = ["", "0", "1", "10", "2", "A", "a", "ä", "€", "\uffee", "😀"].slice(1);
      for (const key of [...keys].reverse()) {
        await client.putItem({ table, item: { ...keyOf(partition, key), text: s("x"), other: s("y") } });
      }
      const all = await client.query({ table, partition });
      expect(all.items.map(({ SK }) => SK.S)).toEqual(keys);
      expect(all.next).toBeUndefined();
      const keysOf = async (query: object) =>
        (await client.query({ table, partition, ...query })).items.map(({ SK }) => SK.S);
      expect(await keysOf({ from: "1", to: "2" })).toEqual(["1", "10", "2"]);
      expect(await keysOf({ from: "b" })).toEqual(["ä", "€", "\uffee", "😀"]);
      expect(await keysOf({ to: "1" })).toEqual(["0", "1"]);
      expect(await keysOf({ descending: true, limit: 2 })).toEqual(["😀", "\uffee"]);
      const first = await client.query({ table, partition, limit: 3, attributes: ["SK", "text"] });
      expect(first.items[0]).toEqual({ SK: s("0"), text: s("x") });
      expect(first.next).toEqual(keyOf(partition, "10"));
      expect(await keysOf({ limit: 2, after: first.next })).toEqual(["2", "A"]);
      expect(await keysOf({ descending: true, after: first.next })).toEqual(["1", "0"]);
      expect(await client.query({ table, partition: "nothing" })).toMatchObject({ items: [] });
    });

    test("a page of a query ends at a megabyte", async () => {
      const partition = `Q${++count}`;
      const text = s("x".repeat(300_000));
      for (let at = 0; at < 5; at++)
        await client.putItem({ table, item: { ...keyOf(partition, String(at)), text } });
      const { items, next } = await client.query({ table, partition });
      expect(items).toHaveLength(4);
      const rest = await client.query({ table, partition, after: next! });
      expect(rest.items.map(({ SK }) => SK.S)).toEqual(["4"]);
      expect(rest.next).toBeUndefined();
    });

    test("a batch returns the items that exist, from several tables", async () => {
      const items = [row({ a: n(1) }), row({ a: n(2) })];
      const other = row({ a: n(3) });
      await client.batchWriteItem([
        ...items.map((put) => ({ table, put })),
        { table: tables.log, put: other },
      ]);
      const keys = [...items, row()].map(({ PK, SK }) => ({ table, key: { PK, SK } }));
      const asked = [...keys, { table: tables.log, key: { PK: other.PK, SK: other.SK } }];
      const found = await client.batchGetItem(asked);
      expect(found.unprocessed).toEqual([]);
      const byCount = found.items.sort((a, b) => a.item.PK.S.localeCompare(b.item.PK.S));
      expect(byCount).toEqual([
        ...items.map((item) => ({ table, item })),
        { table: tables.log, item: other },
      ]);
      await client.batchWriteItem([{ table, delete: keyOf(items[0]!.PK.S, "a") }]);
      expect(await stored(items[0]!)).toBeUndefined();
    });

    test("a batch refuses too many requests, and two of one item", async () => {
      const many = Array.from({ length: 26 }, () => ({ table, put: row() }));
      expect((await failure(client.batchWriteItem(many))).kind).toBe("invalid");
      expect((await failure(client.batchWriteItem([many[0]!, many[0]!]))).kind).toBe("invalid");
      const keys = Array.from({ length: 101 }, () => ({ table, key: newKey() }));
      expect((await failure(client.batchGetItem(keys))).kind).toBe("invalid");
      expect((await failure(client.batchGetItem([keys[0]!, keys[0]!]))).kind).toBe("invalid");
    });

    test("a transaction writes all or nothing, and says which conditions failed on what", async () => {
      const [kept, changed, gone, added] = [row({ v: n(1) }), row({ v: n(1) }), row({ v: n(1) }), row()];
      for (const item of [kept, changed, gone]) await client.putItem({ table, item });
      const writes = (version: number) => [
        { check: { table, key: keyOf(kept.PK.S, "a"), conditions: [{ attribute: "v", equals: n(1) }] } },
        {
          update: {
            table,
            key: keyOf(changed.PK.S, "a"),
            set: { v: n(2) },
            conditions: [{ attribute: "v", equals: n(version) }],
          },
        },
        { delete: { table, key: keyOf(gone.PK.S, "a") } },
        { put: { table: tables.log, item: added, conditions: [{ absent: "PK" }] } },
      ];
      const error = await failure(client.transactWriteItems(writes(9)));
      expect(error.kind).toBe("transaction-cancelled");
      expect(error.reasons.map(({ kind }) => kind)).toEqual(["none", "condition-failed", "none", "none"]);
      expect(error.reasons[1]!.item).toEqual(changed);
      expect(await stored(gone)).toEqual(gone);
      await client.transactWriteItems(writes(1));
      expect(await stored(changed)).toEqual({ ...changed, v: n(2) });
      expect(await stored(gone)).toBeUndefined();
      expect((await client.getItem({ table: tables.log, key: added })).item).toEqual(added);
    });

    test("a transaction with the token of an earlier one writes nothing again", async () => {
      const key = newKey();
      const token = `token-${Math.random()}`;
      const add = (by: number) => [{ update: { table, key, add: { count: by } } }];
      await client.transactWriteItems(add(1), { token });
      await client.transactWriteItems(add(1), { token });
      expect((await stored(key))!.count).toEqual(n(1));
      expect((await failure(client.transactWriteItems(add(2), { token }))).kind).toBe("invalid");
    });

    test("a transaction takes 100 items, not more, and each of them once", async () => {
      const puts = Array.from({ length: 101 }, () => ({ put: { table, item: row() } }));
      expect((await failure(client.transactWriteItems(puts))).kind).toBe("invalid");
      await client.transactWriteItems(puts.slice(1));
      expect((await failure(client.transactWriteItems([puts[0]!, puts[0]!]))).kind).toBe("invalid");
    });

    test("an item of more than 400 KB is refused, and so are 4 MB in a transaction", async () => {
      const key = newKey();
      const room = 400 * 1024 - 2 - key.PK.S.length - 2 - 1 - 4;
      await client.putItem({ table, item: row({ text: s("x".repeat(room)) }, key) });
      const large = row({ text: s("x".repeat(room + 1)) }, key);
      expect((await failure(client.putItem({ table, item: large }))).kind).toBe("too-large");
      expect((await failure(client.batchWriteItem([{ table, put: large }]))).kind).toBe("too-large");
      const update = { table, key, set: { more: s("x") } };
      expect((await failure(client.updateItem(update))).kind).toBe("too-large");
      const puts = Array.from({ length: 11 }, () => ({
        put: { table, item: row({ text: s("x".repeat(390_000)) }) },
      }));
      expect((await failure(client.transactWriteItems(puts))).kind).toBe("too-large");
      expect(await stored(puts[0]!.put.item)).toBeUndefined();
    });

    test("a table that is missing is reported as missing by every call", async () => {
      const absent = "no-such-table";
      const key = newKey();
      const calls = [
        () => client.getItem({ table: absent, key }),
        () => client.batchGetItem([{ table: absent, key }]),
        () => client.query({ table: absent, partition: "P" }),
        () => client.putItem({ table: absent, item: key, once: true }),
        () => client.updateItem({ table: absent, key, add: { count: 1 } }),
        () => client.deleteItem({ table: absent, key }),
        () => client.transactWriteItems([{ put: { table: absent, item: key } }]),
        () => client.batchWriteItem([{ table: absent, put: key }]),
      ];
      for (const call of calls) expect((await failure(call())).kind).toBe("missing-table");
      expect((await client.describeTable(absent)).status).toBeNull();
      expect((await failure(client.createTable({ table }))).kind).toBe("table-exists");
    });

    test("values that the service does not take are a defect of the caller", async () => {
      for (const item of [keyOf("", "a"), keyOf("P", ""), row({ count: { N: "many" } })]) {
        expect((await failure(client.putItem({ table, item }))).kind).toBe("invalid");
      }
      const update = { table, key: newKey(), set: { PK: s("other") } };
      expect((await failure(client.updateItem(update))).kind).toBe("invalid");
    });

    test("a client that was closed says so", async () => {
      const own = await connect();
      own.close();
      expect((await failure(own.getItem({ table, key: newKey() }))).kind).toBe("closed");
    });
  });
});

test("a server that is not there is a lost answer", async () => {
  const client = await connectSdk(settingsFrom("dynamodb://eu-west-1/dibs?endpoint=http://127.0.0.1:9"));
  const item = keyOf("P", "a");
  expect((await failure(client.putItem({ table: "any", item, once: true }))).kind).toBe("lost");
  client.close();
});

test.skipIf(hasNoLocal)(
  "tables have their recovery turned on, also if the service is not ready for it at first",
  async () => {
    const turnedOn: string[] = [];
    const refused = new Set<string>();
    const address = await proxied(newAddress(), async ({ name, input }, pass) => {
      if (name !== "UpdateContinuousBackups") return pass();
      const { TableName, PointInTimeRecoverySpecification } = input;
      if (!refused.has(TableName)) {
        refused.add(TableName);
        return errorReply("ContinuousBackupsUnavailableException");
      }
      if (PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled) turnedOn.push(TableName);
      return emptyReply;
    });
    const { prefix } = settingsFrom(address);
    const client = await connectTo(address);
    expect(await createTables(client, prefix)).toBe(true);
    client.close();
    expect(turnedOn.sort()).toEqual(Object.values(tableNames(prefix)).sort());
  },
);
