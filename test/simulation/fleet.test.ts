// A whole fleet in one process, on a clock and a network of its own: thousands of schedules, each repeatable from its number. Again
// with one schedule: DIBS_SEED=<its number> DIBS_RUNS=1. One that fails is shortened before it is printed.

import { expect, test } from "vitest";
import { report } from "../proof/figures.js";
import { firstFailing, shrink, textOf } from "./fleet/find.js";
import { runSchedule } from "./fleet/run.js";
import { scheduleOf } from "./fleet/schedule.js";

const first = Number(process.env.DIBS_SEED ?? 1);
const count = Number(process.env.DIBS_RUNS ?? 250);

test(
  "a fleet under random faults breaks no guarantee, and everything ends when the faults do",
  async () => {
    const figures: Record<string, number> = { schedules: 0 };
    const startedAt = performance.now();
    const failing = await firstFailing({
      first,
      count,
      onOutcome: (outcome) => {
        figures.schedules!++;
        for (const [name, value] of Object.entries(outcome.figures))
          figures[name] = (figures[name] ?? 0) + value;
      },
    });
    const minutes = (performance.now() - startedAt) / 60_000;
    report("fleet", figures);
    console.info(`fleet: ${Math.round(figures.schedules! / minutes)} schedules per minute`);
    if (!failing) return;
    const shrunk = await shrink(failing);
    const again = `DIBS_SEED=${failing.schedule.number} DIBS_RUNS=1 npx vitest run test/simulation/fleet.test.ts`;
    expect.fail(
      `${textOf(failing)}\n\nshortened, ${shrunk.tries} tries:\n${textOf(shrunk)}\n\nagain: ${again}`,
    );
  },
  24 * 60 * 60_000,
);

test("the same number gives the same schedule and the same history, byte for byte", async () => {
  const numbers = [11, 12, 13, 14, 15];
  const digests = async () => {
    const found: string[] = [];
    for (const number of numbers) found.push((await runSchedule(scheduleOf(number))).digest);
    return found;
  };
  const before = await digests();
  expect(await digests()).toEqual(before);
  expect(new Set(before).size).toBe(numbers.length);
});
