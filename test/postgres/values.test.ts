// How values travel to PostgreSQL, and rows that earlier programs wrote.

import fc from "fast-check";
import { expect, test } from "vitest";
import { arrayOf } from "../../src/store/postgres/statement.js";
import { decode as toRecord } from "../../src/store/postgres/tables/record.js";
import { testDatabase } from "./database.js";

const { admin } = await testDatabase({ migrated: false });

async function through(type: string, values: (string | number | boolean | null)[]): Promise<unknown[]> {
  const rows = await admin.query(`SELECT unnest($1::text::${type}[]) AS value`, [arrayOf(values)]);
  return rows.map(({ value }) => value);
}

test("texts arrive as they are, whatever is in them", async () => {
  const odd = [
    '"',
    "\\",
    "\\n",
    "\n",
    "\u001f",
    "{",
    "}",
    ",",
    "null",
    "NULL",
    "",
    " ",
    "\u{1f600}",
    "é",
    "\\\\\"'",
  ];
  const text = fc.string({ unit: fc.constantFrom(...odd, "a", "n", "u") });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { minLength: 1 }), async (values) => {
      expect(await through("text", values)).toEqual(values);
    }),
  );
});

test("numbers, truth and JSON arrive as they are", async () => {
  expect(await through("float8", [1, -2, 2 ** 53 - 1, 0.5, null])).toEqual([1, -2, 2 ** 53 - 1, 0.5, null]);
  expect(await through("boolean", [true, false, null])).toEqual([true, false, null]);
  const bodies = [{ note: 'a "quoted"\nline \\ \u0007' }, { of: [1, null] }];
  expect(
    await through(
      "json",
      bodies.map((body) => JSON.stringify(body)),
    ),
  ).toEqual(bodies);
});

test("the history of a session is read as it is written, and as it was written once", () => {
  const past = { taskId: "0001", claimedAt: 5, releasedAt: 9, releaseReason: "completed" };
  expect(toRecord(["p", "s", 2, [["0001", 5, 9, "completed"], past]])).toEqual({
    project: "p",
    id: "s",
    completed: 2,
    history: [past, past],
  });
});
