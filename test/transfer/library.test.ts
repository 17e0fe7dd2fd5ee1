import { createReadStream, createWriteStream, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exportDibs, importDibs, openDibs } from "../../src/index.js";
import { scratchDirectory } from "./drivers.js";

let place: ReturnType<typeof scratchDirectory>;
const at = (name: string) => join(place.directory, name);

beforeEach(() => {
  place = scratchDirectory();
});
afterEach(() => place.dispose());

async function* withEnds(lines: AsyncIterable<string>) {
  for await (const line of lines) yield `${line}\n`;
}

/** As a user would. */
async function save(path: string, file: string): Promise<void> {
  await pipeline(Readable.from(withEnds(exportDibs({ path }))), createWriteStream(file));
}

const linesOf = (file: string) => () => createInterface({ input: createReadStream(file) });

test("a store is moved through a file, and a worker goes on with its task", async () => {
  const before = await openDibs({ path: at("before.db"), project: "demo" });
  const prompt = "any text:\u2028one\u2029two\r\nthree 🙂 ünï";
  const { task } = await before.tasks.create({ prompt, metadata: { z: 1, a: { 10: 1, 9: 2 } } });
  const ask = { sessionId: "worker", register: true };
  const { claim } = await before.tasks.claimNext(ask, { idempotencyKey: "once" });
  await save(at("before.db"), at("export.jsonl"));
  await before.close();

  const counts = await importDibs({ path: at("after.db") }, linesOf(at("export.jsonl")));
  expect(counts).toMatchObject({ org: 1, project: 1, task: 1, text: 1, claim: 1, session: 1, key: 1 });
  const after = await openDibs({ path: at("after.db") });
  const { epoch } = claim!;
  expect((await after.tasks.claimNext(ask, { idempotencyKey: "once" })).claim).toEqual(claim);
  await after.tasks.complete({ taskId: task.id, sessionId: "worker", epoch, result: "done" });
  const moved = await after.tasks.get({ taskId: task.id });
  expect(moved.task).toMatchObject({ prompt, state: "completed", metadata: { z: 1, a: { 10: 1, 9: 2 } } });
  await after.close();
});

test("the same store gives the same file, byte for byte, and so does its copy", async () => {
  const dibs = await openDibs({ path: at("a.db") });
  await dibs.tasks.batch({
    tasks: [
      { prompt: "x", key: "x" },
      { prompt: "y", dependsOn: ["x"] },
    ],
  });
  await dibs.close();
  await save(at("a.db"), at("1.jsonl"));
  await importDibs({ path: at("b.db") }, linesOf(at("1.jsonl")));
  await save(at("a.db"), at("2.jsonl"));
  await save(at("b.db"), at("3.jsonl"));
  const first = readFileSync(at("1.jsonl"), "utf8");
  expect(first.split("\n")[0]).toBe('{"dibs":"export","version":1,"org":"default"}');
  expect(readFileSync(at("2.jsonl"), "utf8")).toBe(first);
  expect(readFileSync(at("3.jsonl"), "utf8")).toBe(first);
});

test("a store that is not there is not made by exporting it", async () => {
  await expect(save(at("nowhere.db"), at("x.jsonl"))).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
  expect(existsSync(at("nowhere.db"))).toBe(false);
});

test("a broken file is refused with a code, a line and a hint, and a store in use stays as it is", async () => {
  writeFileSync(at("broken.jsonl"), '{"dibs":"export","version":1,"org":"default"}\n{"kind":');
  await expect(importDibs({ path: at("a.db") }, linesOf(at("broken.jsonl")))).rejects.toMatchObject({
    name: "DibsError",
    code: "VALIDATION_FAILED",
    message: "Line 2: this is not valid JSON, or not the whole line.",
    hint: "Nothing was imported. Export again, and copy the whole file.",
    details: { line: 2 },
  });
  const dibs = await openDibs({ path: at("a.db") });
  await dibs.tasks.create({ prompt: "x" });
  await save(at("a.db"), at("good.jsonl"));
  await expect(importDibs({ path: at("a.db") }, linesOf(at("good.jsonl")))).rejects.toMatchObject({
    code: "ID_TAKEN",
  });
  expect((await dibs.tasks.list()).tasks).toHaveLength(1);
  await dibs.close();
});
