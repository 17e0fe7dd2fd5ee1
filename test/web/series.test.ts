// How figures are added up and said.

import { expect, test } from "vitest";
import { exactly, meanOf, roundUpMs } from "../../web/src/views/metrics/series.js";

test("an average is of all that was measured, not of the columns", () => {
  const means = [
    { ms: 100, count: 9 },
    { ms: 1_100, count: 1 },
    { ms: null, count: 4 },
  ];
  expect(meanOf(means)).toEqual({ ms: 200, count: 10 });
  expect(meanOf([])).toEqual({ ms: null, count: 0 });
});

test("times are said in two units, and axes end at times that need one", () => {
  const times = [350, 4_240, 60_000, 100_000, 3_599_900, 7_500_000, 93_600_000];
  expect(times.map(exactly)).toEqual(["350 ms", "4.2 s", "1m", "1m 40s", "1h", "2h 5m", "1d 2h"]);
  expect([350, 4_240, 100_000, 3_599_900, 7_500_000, 93_600_000].map((ms) => exactly(roundUpMs(ms)))).toEqual(
    ["500 ms", "5 s", "2m", "1h", "3h", "2d"],
  );
});
