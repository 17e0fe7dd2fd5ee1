import { expect, test } from "vitest";
import { backoffMs, retry } from "./retry.js";

const failing = (times: number) => {
  let left = times;
  return async () => {
    if (left-- > 0) throw new Error(`failure ${left}`);
    return "answer";
  };
};
const always = { isTransient: () => true, pauseMs: () => 0 };

test("repeats a call until it succeeds", async () => {
  expect(await retry(failing(3), always)).toBe("answer");
});

test("throws what does not pass, at once", async () => {
  await expect(retry(failing(3), { ...always, isTransient: () => false })).rejects.toThrow("failure 2");
});

test("throws the last error after so many attempts, or when it is stopped", async () => {
  await expect(retry(failing(3), { ...always, triesMax: 2 })).rejects.toThrow("failure 1");
  await expect(retry(failing(3), { ...always, isStopped: () => true })).rejects.toThrow("failure 2");
});

test("a signal cuts the pause short", async () => {
  const stop = new AbortController();
  const long = { ...always, pauseMs: () => 1e9, signal: stop.signal, onRetry: () => stop.abort() };
  expect(await retry(failing(1), long)).toBe("answer");
});

test("the backoff doubles up to its maximum, with up to half of it as jitter", () => {
  for (const [failures, least] of [
    [0, 100],
    [1, 200],
    [3, 800],
    [40, 1_000],
  ] as const) {
    const ms = backoffMs(100, failures, 1_000);
    expect(ms).toBeGreaterThanOrEqual(least);
    expect(ms).toBeLessThanOrEqual(least * 1.5);
  }
});
