// Several servers on one database, all at work on the same tasks. Every call is on record with its answer; afterwards the records
// of all processes and the store must tell the same story.

import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Everything } from "../../src/core/invariants.js";
import { Child } from "../faults/support.js";
import { testDatabase } from "./database.js";
import { seeded, stored } from "./support.js";

const processes = 3;
const script = join(import.meta.dirname, "children", "random-work.mjs");
const database = await testDatabase();

interface Entry {
  by: string;
  operation: string;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  input: any;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  answer?: any;
  error?: { code: string; message: string };
  began: number;
  ended: number;
}

/** What a caller may cause by being too late, or second. */
const expected = new Set([
  "TASK_ALREADY_CLAIMED",
  "TASK_NOT_CLAIMABLE",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "TASK_CANCELLED",
  "INVALID_STATE",
  "TASK_NOT_AWAITING",
  "TASK_NOT_CANCELLABLE",
]);

let history: Entry[];
let all: Everything;
const acknowledged = (...operations: string[]) =>
  history.filter((entry) => entry.answer && operations.includes(entry.operation));
const attemptKey = ({ taskId, epoch }: { taskId: string | null; epoch: number | null }) =>
  `${taskId} epoch ${epoch}`;
/** Claims that were won or renewed. */
const claims = () => acknowledged("tasks.claim", "tasks.claimNext").filter(({ answer }) => answer.claim);

beforeAll(async () => {
  const random = seeded("servers.test.ts");
  const work = { url: `${database.url}?pool=2`, clients: 8, loops: 2, steps: 12 };
  const children = Array.from({ length: processes }, (_, process) => {
    return new Child(script, { ...work, process, seed: Math.floor(random() * 2 ** 31) });
  });
  await Promise.all(children.map((child) => child.said("ready")));
  for (const child of children) child.send("go");
  const reports = await Promise.all(children.map((child) => child.said("done")));
  history = reports.flatMap((report) => report.history);
  all = await stored(database.url);
});

describe("three processes with eight clients each", () => {
  test("are refused only what another was first to do", () => {
    const odd = history.filter(({ error }) => error && !expected.has(error.code));
    expect(odd).toEqual([]);
    // Enough has happened to mean something.
    for (const operation of ["create", "claim", "claimNext", "start", "complete", "fail", "release", "ask"]) {
      expect(acknowledged(`tasks.${operation}`).length, operation).toBeGreaterThan(0);
    }
    expect(history.filter(({ error }) => error).length).toBeGreaterThan(0);
  });

  test("lose no task and make none twice", () => {
    const created = acknowledged("tasks.create").map(({ answer }) => answer.task);
    const pairs = (tasks: { id: string; title: string }[]) =>
      tasks.map(({ id, title }) => `${id} ${title}`).sort();
    expect(pairs(all.tasks)).toEqual(pairs(created));
    expect(new Set(all.tasks.map(({ title }) => title)).size).toBe(created.length);
  });

  test("have one winner per epoch, and the store knows whom", () => {
    const winners = new Map<string, string>();
    for (const { taskId, epoch, sessionId } of [...all.attempts, ...all.claims]) {
      expect(winners.has(attemptKey({ taskId, epoch }))).toBe(false);
      winners.set(attemptKey({ taskId, epoch }), sessionId);
    }
    for (const { answer } of claims())
      expect(winners.get(attemptKey(answer.claim))).toBe(answer.claim.sessionId);
    const claimed = all.events.filter(({ type }) => type === "task:claimed");
    expect(claimed.map(attemptKey).sort()).toEqual([...winners.keys()].sort());
  });

  test("see epochs rise by one, in the log and by the clock", () => {
    const last = new Map<string, number>();
    for (const { type, taskId, epoch } of all.events) {
      if (type !== "task:claimed") continue;
      expect(epoch).toBe((last.get(taskId!) ?? 0) + 1);
      last.set(taskId!, epoch!);
    }
    const backwards = claims().flatMap((earlier) =>
      claims().filter(({ began, answer: { claim } }) => {
        const before = earlier.answer.claim;
        return claim.taskId === before.taskId && began > earlier.ended && claim.epoch < before.epoch;
      }),
    );
    expect(backwards).toEqual([]);
  });

  test("find every acknowledged end of an attempt in the store, and no other", () => {
    const ends = new Map(all.attempts.map((attempt) => [attemptKey(attempt), attempt]));
    const tasks = new Map(all.tasks.map((task) => [task.id, task]));
    const count = (type: string) => all.events.filter((event) => event.type === type).length;
    for (const { input } of acknowledged("tasks.complete")) {
      expect(ends.get(attemptKey(input))).toMatchObject({ end: "complete", result: input.result });
      expect(tasks.get(input.taskId)?.state).toBe("completed");
    }
    expect(count("task:completed")).toBe(acknowledged("tasks.complete").length);
    for (const { input } of acknowledged("tasks.fail")) {
      expect(ends.get(attemptKey(input))).toMatchObject({ end: "fail", error: input.error });
    }
    for (const { input } of acknowledged("tasks.release")) {
      expect(ends.get(attemptKey(input))).toMatchObject({ end: "release" });
    }
    for (const { input } of acknowledged("tasks.cancel")) {
      expect(tasks.get(input.taskId)?.state).toBe("cancelled");
    }
    expect(count("task:cancelled")).toBe(acknowledged("tasks.cancel").length);
    expect(count("task:awaiting-response")).toBe(acknowledged("tasks.ask").length);
    expect(count("task:response-received")).toBe(acknowledged("tasks.respond").length);
  });

  test("leave a log without a gap", () => {
    expect(all.events.map(({ seq }) => seq)).toEqual(all.events.map((_, at) => at + 1));
    expect(all.org.eventSeq).toBe(all.events.length);
  });
});
