import { describe, expect, test } from "vitest";
import { landingOrder } from "./landing.js";
import type { Task } from "./task.js";

const minute = 60_000;

function submitted(id: string, priority: number, submittedAt: number, firstSubmittedAt = submittedAt): Task {
  const submission = { number: 1, commit: "c", submittedAt, firstSubmittedAt, landing: null };
  return { id, priority, submission, ordinal: Number(id) } as unknown as Task;
}

const order = (now: number, ...tasks: Task[]) => tasks.sort(landingOrder(now)).map(({ id }) => id);

describe("the order of landing", () => {
  test("the higher priority first, then what was submitted first", () => {
    expect(order(0, submitted("1", 50, 0), submitted("2", 90, 0))).toEqual(["2", "1"]);
    expect(order(minute, submitted("1", 50, minute), submitted("2", 50, 0))).toEqual(["2", "1"]);
  });

  test("finished work does not starve behind newer work: after 25 minutes nothing newer is ahead", () => {
    const old = submitted("1", 0, 0);
    const newer = (now: number) => submitted("2", 100, now);
    expect(order(24 * minute, old, newer(24 * minute))).toEqual(["2", "1"]);
    expect(order(25 * minute, old, newer(25 * minute))).toEqual(["1", "2"]);
    expect(order(44 * 60 * minute, old, newer(0.5 * minute))).toEqual(["1", "2"]);
  });

  test("a task that was returned keeps the place of its first submission", () => {
    const returned = submitted("2", 50, 10 * minute, 0);
    expect(order(10 * minute, submitted("1", 50, 9.9 * minute), returned)).toEqual(["2", "1"]);
  });
});
