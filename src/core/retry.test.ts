import { describe, expect, test } from "vitest";
import { defaultSettings } from "./project.js";
import { retryDelayMs } from "./retry.js";

const { retry } = defaultSettings;

describe("exponential", () => {
  test.each([
    [1, 30_000],
    [2, 60_000],
    [3, 120_000],
    [4, 240_000],
    [7, 1_920_000],
    [8, 3_600_000],
    [60, 3_600_000],
    [5000, 3_600_000],
  ])("retry %i waits %i ms", (n, delayMs) => {
    expect(retryDelayMs(retry, n, 0)).toBe(delayMs);
  });
});

test("fixed is always the same", () => {
  for (const n of [1, 2, 30]) expect(retryDelayMs({ ...retry, backoff: "fixed" }, n, 0)).toBe(30_000);
});

test("the spread is ten percent to either side", () => {
  expect(retryDelayMs(retry, 1, 1)).toBe(33_000);
  expect(retryDelayMs(retry, 1, -1)).toBe(27_000);
  expect(retryDelayMs(retry, 1, 0.5)).toBe(31_500);
  expect(retryDelayMs({ ...retry, jitter: 0 }, 1, 1)).toBe(30_000);
});

test("nothing waits longer than the cap, whatever the spread", () => {
  expect(retryDelayMs(retry, 8, 1)).toBe(3_600_000);
  expect(retryDelayMs(retry, 8, -1)).toBe(3_240_000);
  expect(retryDelayMs({ ...retry, maxDelayMs: 1000 }, 1, 0)).toBe(1000);
});

test("no delay means at once", () => {
  expect(retryDelayMs({ ...retry, delayMs: 0 }, 5, 1)).toBe(0);
});
