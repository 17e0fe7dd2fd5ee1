import { expect, test } from "vitest";
import { dateOf, dayMs, daysOf, minuteText } from "./calendar.js";

test("dates are those of the host's calendar, for every day from 1970 to 2420", () => {
  for (let days = 0; days < 450 * 365.2425; days++) {
    const date = new Date(days * dayMs);
    const expected = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
    if (JSON.stringify(dateOf(days)) !== JSON.stringify(expected)) expect(dateOf(days)).toEqual(expected);
    if (daysOf(expected) !== days) expect(daysOf(expected)).toBe(days);
  }
});

test("an instant is written to the minute", () => {
  expect(minuteText(Date.UTC(2026, 1, 3, 4, 5, 59))).toBe("2026-02-03T04:05Z");
});
