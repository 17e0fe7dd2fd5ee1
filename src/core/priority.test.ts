import { describe, expect, test } from "vitest";
import { effectivePriority, priorityDefault, priorityLabel, priorityWords } from "./priority.js";
import { defaultSettings } from "./project.js";

const { ageing } = defaultSettings;
const minute = 60_000;
const aged = (priority: number, waitedMs: number, settings = ageing) =>
  effectivePriority({ priority, readyAt: 1000 }, settings, 1000 + waitedMs);

test("the default is 50", () => {
  expect(priorityDefault).toBe(50);
});

test("every seed's words have their number", () => {
  expect(priorityWords).toEqual({
    p1: 100,
    p2: 80,
    p3: 60,
    p4: 40,
    p5: 20,
    critical: 100,
    high: 80,
    medium: 50,
    normal: 50,
    low: 20,
  });
});

test.each([
  [0, "low"],
  [30, "low"],
  [31, "medium"],
  [60, "medium"],
  [61, "high"],
  [99, "high"],
  [100, "critical"],
] as const)("%i is %s", (priority, label) => {
  expect(priorityLabel(priority)).toBe(label);
});

describe("ageing", () => {
  test.each([
    [50, 0, 50],
    [50, 5 * minute - 1, 50],
    [50, 5 * minute, 70],
    [50, 10 * minute - 1, 70],
    [50, 10 * minute, 90],
    [50, 1000 * minute, 90],
    [0, 1000 * minute, 40],
    [70, 10 * minute, 100],
    [95, 5 * minute, 100],
    [100, 1000 * minute, 100],
  ])("%i after %i ms counts as %i", (priority, waitedMs, effective) => {
    expect(aged(priority, waitedMs)).toBe(effective);
  });

  test("can be off", () => {
    expect(aged(50, 1000 * minute, { ...ageing, enabled: false })).toBe(50);
  });

  test("a clock that went back takes nothing away", () => {
    expect(aged(50, -minute)).toBe(50);
  });
});
