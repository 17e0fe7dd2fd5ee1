import { beforeAll, describe, expect, test } from "vitest";
import { TestClock, World } from "../../src/store/conformance/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { importOrg } from "../../src/transfer/import.js";
import { org } from "./history.js";
import { again, exported } from "./lines.js";

let good: string[] = [];

beforeAll(async () => {
  const store = openMemoryStore(new TestClock());
  await store.open(org, "demo");
  const world = new World(store, new TestClock());
  const hold = await world.hold("a");
  await world.ok({ type: "release", ...hold, spread: 0 });
  await world.claim(hold.taskId, "b");
  await world.ok({ type: "fail", ...(await world.hold("c", { maxRetries: 0 })), error: "x", spread: 0 });
  await world.task({ dependsOn: [hold.taskId] });
  await world.finish(await world.task({ id: "gone" }));
  const tasks = [{ project: "demo", id: "gone" }];
  await world.ok({ type: "archive-tasks", tasks, before: Number.MAX_SAFE_INTEGER });
  await world.ok({
    type: "load-plan",
    plan: "docs/plan.md",
    tasks: [{ key: "a", prompt: "x" }],
    mayEdit: true,
    correlationId: "c",
  });
  good = await exported(store);
});

/** What an import says; whatever it is, nothing may have been made. */
async function refusalOf(lines: string[]): Promise<{ message: string; line: unknown; code: string }> {
  const store = openMemoryStore(new TestClock());
  const error = await importOrg(store, org, again(lines)).then(
    () => expect.fail("the import was accepted"),
    (error) => error,
  );
  await expect(store.read(org, () => null)).rejects.toThrow();
  return { message: error.message, line: error.details?.line, code: error.code };
}

/** The good file with one line changed, found by its kind. */
function changed(kind: string, change: (row: Record<string, unknown>) => unknown, at = 0) {
  const index = linesOf(kind)[at]!;
  const lines = [...good];
  const value = JSON.parse(lines[index]!);
  lines[index] = JSON.stringify({ kind, row: change(value.row) });
  return { lines, line: index + 1 };
}

const linesOf = (kind: string) =>
  good.flatMap((line, index) => (JSON.parse(line).kind === kind ? [index] : []));

const without = (index: number) => good.filter((_, at) => at !== index);

describe("an import is refused, with the number of the line, and changes nothing", () => {
  test("when the file is empty", async () => {
    expect(await refusalOf([])).toMatchObject({ code: "VALIDATION_FAILED", message: /empty/ });
    expect((await refusalOf(["", " "])).message).toMatch(/empty/);
  });

  test("when the file is something else", async () => {
    expect(await refusalOf(['{"tasks":[]}'])).toMatchObject({ line: 1 });
    expect((await refusalOf(good.slice(1))).message).toBe("Line 1: this is not the header of a Dibs export.");
  });

  test("when another version wrote it", async () => {
    const lines = ['{"dibs":"export","version":2,"org":"default"}', ...good.slice(1)];
    expect((await refusalOf(lines)).message).toBe(
      "Line 1: the export has version 2; this program reads version 1.",
    );
  });

  test("when it is cut off, wherever", async () => {
    for (let length = 1; length < good.length; length++) {
      expect((await refusalOf(good.slice(0, length))).message).toMatch(/is cut off after line/);
    }
  });

  test("when it is cut off within a line", async () => {
    const lines = [...good.slice(0, 5), good[5]!.slice(0, -3)];
    expect(await refusalOf(lines)).toMatchObject({
      line: 6,
      message: "Line 6: this is not valid JSON, or not the whole line.",
    });
  });

  test("when a line is missing or stands twice, whichever", async () => {
    for (let index = 1; index < good.length - 1; index++) {
      expect((await refusalOf(without(index))).code).toBe("VALIDATION_FAILED");
      const twice = [...good.slice(0, index + 1), ...good.slice(index)];
      expect((await refusalOf(twice)).line).toBe(index + 2);
    }
  });

  test("when two lines have changed places, whichever", async () => {
    for (let index = 1; index < good.length - 2; index++) {
      const lines = [...good.slice(0, index), good[index + 1]!, good[index]!, ...good.slice(index + 2)];
      expect((await refusalOf(lines)).line).toBeGreaterThan(1);
    }
  });

  test("when it goes on after its end", async () => {
    expect(await refusalOf([...good, good[1]!])).toMatchObject({
      line: good.length + 1,
      message: expect.stringMatching(/more after the end/),
    });
  });

  test("when a kind is not known", async () => {
    const lines = [...good.slice(0, 3), '{"kind":"wish","row":{}}', ...good.slice(3)];
    expect((await refusalOf(lines)).message).toBe("Line 4: kind 'wish' is not known.");
  });

  test.each([
    ["[]", /not an object/],
    ["null", /not an object/],
    ['"task"', /not an object/],
    ["{", /not valid JSON/],
    ['{"kind":"task"}', /row must be an object/],
    ['{"kind":"task","row":[]}', /row must be an object/],
    ['{"kind":"task","row":"x"}', /row must be an object/],
    ['{"kind":"toString","row":{}}', /kind 'toString' is not known/],
    ['{"kind":"__proto__","row":{}}', /kind '__proto__' is not known/],
  ])("when a line is %s", async (line, message) => {
    const lines = [...good.slice(0, 3), line, ...good.slice(3)];
    expect(await refusalOf(lines)).toMatchObject({ line: 4, message: expect.stringMatching(message) });
  });

  test.each<[string, string, (row: Record<string, unknown>) => unknown, RegExp]>([
    ["a field is missing", "task", ({ title, ...row }) => row, /row.title must be a text/],
    ["a field is not known", "task", (row) => ({ ...row, colour: "red" }), /row.colour is not known/],
    [
      "a number is a text",
      "task",
      (row) => ({ ...row, priority: "50" }),
      /row.priority must be a whole number/,
    ],
    [
      "a word is not known",
      "task",
      (row) => ({ ...row, state: "running" }),
      /row.state must be one of queued/,
    ],
    ["a list is none", "task", (row) => ({ ...row, labels: "ui" }), /row.labels must be a list/],
    [
      "a list holds a number",
      "task",
      (row) => ({ ...row, labels: ["a", 1] }),
      /row.labels\[1\] must be a text/,
    ],
    ["an id has a slash", "task", (row) => ({ ...row, id: "a/b" }), /row.id must be an id/],
    ["a text has NUL", "text", (row) => ({ ...row, prompt: "\u0000" }), /row.prompt must be a text/],
    ["a setting is null", "project", (row) => ({ ...row, settings: null }), /row.settings must be an object/],
    ["a project is not there", "task", (row) => ({ ...row, project: "lost" }), /project lost is missing/],
    ["a text has another task", "text", (row) => ({ ...row, taskId: "x" }), /task x is not the one before/],
    ["an epoch is too high", "claim", (row) => ({ ...row, epoch: 9 }), /not the next of its task/],
    ["an attempt is ahead", "attempt", (row) => ({ ...row, epoch: 9 }), /beyond that of its task/],
    ["an ordinal is too high", "task", (row) => ({ ...row, ordinal: 99 }), /the org's ordinal/],
    [
      "a notification is ahead",
      "notification",
      (row) => ({ ...row, id: "n99" }),
      /the org's notificationSeq/,
    ],
    ["a notification is odd", "notification", (row) => ({ ...row, id: "note" }), /the org's notificationSeq/],
    ["an event is left out", "event", (row) => ({ ...row, seq: 2 }), /event 2 follows event 0/],
    ["a record is another's", "record", (row) => ({ ...row, id: "x" }), /not that of the session before/],
    ["the org is elsewhere", "org", (row) => ({ ...row, defaultProject: "lost" }), /project lost is missing/],
    ["events are missing", "org", (row) => ({ ...row, eventSeq: 99 }), /events \d+ to 99 are missing/],
  ])("when %s", async (_what, kind, change, message) => {
    const { lines, line } = changed(kind, change);
    const refusal = await refusalOf(lines);
    expect(refusal.message).toMatch(message);
    if (kind !== "org") expect(refusal.line).toBe(line);
  });

  test("when the file is another one the second time", async () => {
    const store = openMemoryStore(new TestClock());
    let reads = 0;
    const source = () => again(reads++ === 0 ? good : good.slice(0, -1))();
    await expect(importOrg(store, org, source)).rejects.toMatchObject({ message: /cut off/ });
  });
});

test("two tasks of one id are refused", async () => {
  const { lines, line } = changed("task", (row) => ({ ...row, id: "0001" }), 1);
  for (let at = line; JSON.parse(lines[at]!).kind !== "task"; at++) {
    const { kind, row } = JSON.parse(lines[at]!);
    lines[at] = JSON.stringify({ kind, row: { ...row, taskId: "0001" } });
  }
  const store = openMemoryStore(new TestClock());
  await expect(importOrg(store, org, again(lines))).rejects.toMatchObject({
    message: `Line ${line}: there are two tasks 0001.`,
  });
  expect(await store.read(org, (view) => view.tasks({ project: null, afterOrdinal: 0, limit: 1 }))).toEqual(
    [],
  );
});

test("a task that is archived and there is refused", async () => {
  const { lines, line } = changed("archived", (row) => ({ ...row, taskId: "0001" }));
  const store = openMemoryStore(new TestClock());
  await expect(importOrg(store, org, again(lines))).rejects.toMatchObject({
    message: `Line ${line}: task 0001 is said to be archived, and is there.`,
  });
});

test("an export of a program that left the ids of archived tasks behind is read", async () => {
  const lines = without(linesOf("archived")[0]!).map((line) => line.replace('"archived":1,', ""));
  expect(lines.join()).not.toMatch(/"kind":"archived"|"archived":1/);
  const store = openMemoryStore(new TestClock());
  expect(await importOrg(store, org, again(lines))).toMatchObject({ archived: 0 });
});

test("an export of a program that knew no plans is read", async () => {
  const lines = without(linesOf("plan")[0]!).map((line) => line.replace('"plan":1,', ""));
  expect(lines.join()).not.toMatch(/"kind":"plan"|"plan":1/);
  const store = openMemoryStore(new TestClock());
  expect(await importOrg(store, org, again(lines))).toMatchObject({ plan: 0 });
});

test("blank lines do not matter", async () => {
  const store = openMemoryStore(new TestClock());
  await importOrg(store, org, again(["", ...good, "", ""]));
  expect(await exported(store)).toEqual(good);
});
