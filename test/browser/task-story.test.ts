// The logic behind the task page that needs no browser: pages of events from either end, the story told from them, what an edit
// sends, and lists that keep still.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Attempt, DibsEvent, Task } from "../../src/index.js";
import { mergeList } from "../../web/src/components/merge-list.js";
import { fieldsOf, patchOf } from "../../web/src/views/task/edit-patch.js";
import { entriesOf } from "../../web/src/views/task/entries.js";
import { pageAfter, pageBefore, type ReadEvents } from "../../web/src/views/task/history.js";
import { linesOf } from "../../web/src/views/task/log-text.js";

const event = (
  seq: number,
  type: DibsEvent["type"] = "task:progress",
  more: Partial<DibsEvent> = {},
): DibsEvent => ({
  seq,
  type,
  at: new Date(Date.UTC(2026, 0, 1) + seq).toISOString(),
  org: "default",
  project: "demo",
  taskId: "0001",
  sessionId: "a7",
  epoch: 1,
  actor: "agent:a7",
  data: {},
  ...more,
});

/** Reads as the server does, and counts. */
function readerOf(events: DibsEvent[]) {
  const calls: number[] = [];
  const read: ReadEvents = async (after, limit) => {
    const found = events.filter(({ seq }) => seq > after).slice(0, limit);
    calls.push(found.length);
    return found;
  };
  return { read, calls };
}

describe("pages of events", () => {
  test("from the newest back, every event comes once and in order, however they lie among those of others", async () => {
    const gaps = fc.array(
      fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9_000 })),
      {
        minLength: 1,
        maxLength: 300,
      },
    );
    const judged = fc.asyncProperty(gaps, fc.integer({ min: 2, max: 60 }), async (steps, size) => {
      let seq = 0;
      const events: DibsEvent[] = [];
      for (const step of steps) {
        seq += step;
        events.push(event(seq));
      }
      const { read, calls } = readerOf(events);
      let told: DibsEvent[] = [];
      for (let isLast = false, before = seq + 1; !isLast; before = told[0]?.seq ?? before) {
        const page = await pageBefore(read, before, size);
        expect(page.events.length).toBeLessThanOrEqual(size);
        expect(page.isLast || page.events.length > 0).toBe(true);
        told = [...page.events, ...told];
        isLast = page.isLast;
      }
      expect(told).toEqual(events);
      expect(Math.max(...calls)).toBeLessThanOrEqual(size);
    });
    await fc.assert(judged, { numRuns: 150, seed: 7 });
  });

  test("the newest of ten thousand take a few small calls", async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => event(40 * at + (at % 7)));
    const { read, calls } = readerOf(many);
    const page = await pageBefore(read, 40 * 10_000, 60);
    expect(page.events.at(-1)).toBe(many.at(-1));
    expect(page.events.length).toBeGreaterThanOrEqual(30);
    expect(calls.length).toBeLessThan(8);
    expect((await pageAfter(read, 0, 60)).isLast).toBe(false);
  });
});

const attempt = (epoch: number, more: Partial<Attempt> = {}) =>
  ({ epoch, sessionId: "a7", lateResult: null, ...more }) as Attempt;

describe("the story", () => {
  const whole = { hasOlder: false, hasNewer: false };

  test("says a claim that was started at once in one entry, and leaves out what others say better", () => {
    const at = "2026-01-01T00:00:00.000Z";
    const events = [
      event(1, "task:created", { at, epoch: null }),
      event(2, "task:queued", { at, epoch: null }),
      event(3, "task:claimed", { at }),
      event(4, "task:started", { at }),
      event(5, "notification:created"),
    ];
    const entries = entriesOf({ ...whole, events, attempts: [] });
    expect(entries.map(({ what }) => what)).toEqual(["created", "claimed and started"]);
  });

  test("puts an attempt, with its log, where it ended, and a late result where its time is", () => {
    const late = { at: new Date(Date.UTC(2026, 0, 1) + 6).toISOString(), result: null, error: "sorry" };
    const events = [
      event(3, "task:claimed"),
      event(5, "task:claim-expired", { data: { reason: "ttl" } }),
      event(7, "task:claimed", { epoch: 2 }),
      event(8, "task:released", { epoch: 2, data: { reason: "completed" } }),
      event(9, "task:completed", { epoch: 2 }),
    ];
    const entries = entriesOf({ ...whole, events, attempts: [attempt(2), attempt(1, { lateResult: late })] });
    expect(entries.map(({ key, attempt: ended }) => [key, ended?.epoch])).toEqual([
      ["e3", undefined],
      ["e5", 1],
      ["l1", undefined],
      ["e7", undefined],
      ["e8", undefined],
      ["e9", 2],
    ]);
    const partly = { events: events.slice(3), hasOlder: true, hasNewer: false };
    const known = entriesOf({ ...partly, attempts: [attempt(1, { lateResult: late })] });
    expect(known.map(({ key }) => key)).toEqual(["e8", "e9"]);
  });
});

test("an edit sends what was changed and nothing else", () => {
  const task = {
    title: "Old",
    prompt: "p",
    description: null,
    priority: 50,
    phase: null,
    labels: ["a", "b"],
    dependsOn: ["0001"],
    assignee: "a7",
    agentType: null,
    requires: [],
    notBefore: "2026-03-01T10:00:00.000Z",
    timeoutMs: 90_000,
    maxRetries: 3,
    files: [],
    metadata: null,
  } as unknown as Task;
  const before = fieldsOf(task);
  expect(patchOf(before, before)).toEqual({});
  expect(
    patchOf(before, {
      ...before,
      labels: "a\n c\n",
      dependsOn: "",
      assignee: " ",
      timeout: "2",
      notBefore: "",
    }),
  ).toEqual({ labels: ["a", "c"], dependsOn: [], assignee: null, timeoutMs: 120_000, notBefore: null });
  expect(patchOf({ ...before, notBefore: "" }, before)).toEqual({ notBefore: task.notBefore });
  expect(() => patchOf(before, { ...before, metadata: "{" })).toThrow("Metadata must be JSON");
  expect(() => patchOf(before, { ...before, priority: "" })).toThrow("Priority must be a number.");
});

test("a list that somebody uses keeps its places: what is gone stays, what is new waits or comes last", () => {
  const own = (item: string) => item;
  const kept = (before: string, now: string, newcomers: "before" | "after") => {
    const { shown, gone, waiting } = mergeList([...before], [...now], own, newcomers);
    return [shown.join(""), [...gone].join(""), waiting];
  };
  expect(kept("abc", "acd", "after")).toEqual(["abcd", "b", 0]);
  expect(kept("abc", "xyabc", "before")).toEqual(["abc", "", 2]);
  expect(kept("abc", "xacde", "before")).toEqual(["abcde", "b", 1]);
  expect(kept("", "ab", "before")).toEqual(["ab", "", 0]);
});

test("logs are lines without colours, titles, and what was written over", () => {
  const log = "\u001b[32mgreen\u001b[0m\r\n10%\r50%\r100%\n\u001b]0;title\u0007plain\u0008\n";
  expect(linesOf(log)).toEqual(["green", "100%", "plain"]);
  expect(linesOf("")).toEqual([]);
});
