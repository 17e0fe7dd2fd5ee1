import fc from "fast-check";
import { expect, test } from "vitest";
import { periodAt } from "./resource.js";

const day = 86_400_000;

test("periods of budgets are those of the calendar in UTC, weeks from Monday", () => {
  const instants = fc.integer({ min: Date.UTC(1999, 0, 1), max: Date.UTC(2101, 0, 1) });
  fc.assert(
    fc.property(instants, (at) => {
      const now = new Date(at);
      const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
      const midnight = Date.UTC(year, month, date);
      const hour = Date.UTC(year, month, date, now.getUTCHours());
      const monday = midnight - ((now.getUTCDay() + 6) % 7) * day;
      expect(periodAt("hour", at)).toEqual({ start: hour, end: hour + day / 24 });
      expect(periodAt("day", at)).toEqual({ start: midnight, end: midnight + day });
      expect(periodAt("week", at)).toEqual({ start: monday, end: monday + 7 * day });
      expect(periodAt("month", at)).toEqual({
        start: Date.UTC(year, month, 1),
        end: Date.UTC(year, month + 1, 1),
      });
      expect(periodAt("total", at)).toEqual({ start: 0, end: null });
    }),
  );
});
