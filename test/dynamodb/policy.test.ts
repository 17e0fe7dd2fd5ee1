// The IAM policy of the documentation, held against the calls that the program sends.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

const sent = [...read("src/store/dynamodb/sdk-client.ts").matchAll(/dk\.(\w+)Command\(/g)].map(
  ([, name]) => name!,
);
const isForTables = (name: string) => /^(CreateTable|UpdateTimeToLive|UpdateContinuousBackups)$/.test(name);
const page = read("docs/guides/dynamodb.md");

test("a server is allowed each call that it sends, and no other", () => {
  const policy = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!);
  const allowed: string[] = policy.Statement.flatMap(({ Action }: { Action: string[] }) => Action);
  // A transaction needs the permissions of its parts.
  const needed = sent.filter((name) => name !== "TransactWriteItems" && !isForTables(name));
  const wanted = [...needed, "ConditionCheckItem"].map((name) => `dynamodb:${name}`);
  expect(sent).toContain("TransactWriteItems");
  expect(allowed.sort()).toEqual(wanted.sort());
  expect(allowed).not.toContain("dynamodb:Scan");
});

test("what creating tables needs is named", () => {
  const more = sent.filter(isForTables);
  expect(more).toHaveLength(3);
  for (const name of more) expect(page).toContain(`\`dynamodb:${name}\``);
});
