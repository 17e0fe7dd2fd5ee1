// How figures are added up and said.

import { expect, test } from "vitest";
import {
  agentsOf,
  columnsMax,
  columnsOf,
  exactly,
  type History,
  meanOf,
  type Point,
  roundUpMs,
} from "../../web/src/views/metrics/series.js";

const nothing = {
  claimed: 0,
  completed: 0,
  failed: 0,
  lost: 0,
  avgClaimWaitMs: null,
  avgDurationMs: null,
  avgQuestionWaitMs: null,
  answered: 0,
};

function historyOf(parts: Partial<Point>[]): History {
  const points = parts.map((part, index) => ({
    at: new Date(index * 60_000).toISOString(),
    created: 0,
    submitted: 0,
    landed: 0,
    returned: 0,
    usage: { usd: 0, inputTokens: 0, outputTokens: 0 },
    queued: 0,
    oldestReadyMs: null,
    byAgent: {},
    ...nothing,
    ...part,
  }));
  return { step: "minute", from: "", to: "", oldestReadyMs: null, points };
}

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

test("a column of several minutes has the greatest age that the queue had in them", () => {
  const minutes = Array.from({ length: 2 * columnsMax }, () => ({}) as Partial<Point>);
  Object.assign(minutes[0]!, { oldestReadyMs: 300 });
  Object.assign(minutes[1]!, { oldestReadyMs: 100 });
  Object.assign(minutes[3]!, { oldestReadyMs: 0 });
  const ages = columnsOf(historyOf(minutes)).map(({ oldestReadyMs }) => oldestReadyMs);
  expect(ages.slice(0, 3)).toEqual([300, 0, null]);
  expect(ages).toHaveLength(columnsMax);
});

test("columns of one agent have its work only, and an agent's row adds them up", () => {
  const ada = { ...nothing, claimed: 3, completed: 1, avgClaimWaitMs: 100, avgDurationMs: 50 };
  const later = { ...nothing, claimed: 1, avgClaimWaitMs: 500, answered: 2, avgQuestionWaitMs: 70 };
  const history = historyOf([
    { ...nothing, claimed: 5, completed: 4, byAgent: { ada, bo: { ...nothing, claimed: 2, completed: 3 } } },
    { byAgent: {} },
    { claimed: 1, byAgent: { ada: later } },
  ]);
  const mine = columnsOf(history, "ada");
  expect(mine.map(({ claimed, completed }) => [claimed, completed])).toEqual([
    [3, 1],
    [0, 0],
    [1, 0],
  ]);
  expect(mine.map(({ claimWait }) => claimWait.ms)).toEqual([100, null, 500]);
  expect(columnsOf(history)[0]).toMatchObject({ claimed: 5, completed: 4 });
  expect(columnsOf(history, "constructor").every(({ claimed }) => claimed === 0)).toBe(true);
  const rows = agentsOf(history);
  expect(rows.map(({ name }) => name)).toEqual(["bo", "ada"]);
  expect(rows[1]).toMatchObject({
    claimed: 4,
    claimWait: { ms: 200, count: 4 },
    duration: { ms: 50, count: 1 },
    questionWait: { ms: 70, count: 2 },
  });
});
