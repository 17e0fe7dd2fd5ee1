// A whole fleet in one process, on a clock and a network of its own: thousands of schedules, each repeatable from its number. Again
// with one schedule: DIBS_SEED=<its number> DIBS_RUNS=1. One that fails is shortened before it is printed.

import { expect, test } from "vitest";
import { report } from "../proof/figures.js";
import { type Outcome, type Plants, runSchedule } from "./fleet/run.js";
import { linesOf, type Schedule, scheduleOf } from "./fleet/schedule.js";
import type { Plant, Request } from "./fleet/server.js";
import { type Shrunk, shrink } from "./fleet/shrink.js";

const first = Number(process.env.DIBS_SEED ?? 1);
const count = Number(process.env.DIBS_RUNS ?? 500);

/** The first of so many schedules that fails. */
async function firstFailing(
  from: number,
  count: number,
  plants: Plants,
  onOutcome: (outcome: Outcome) => void = () => undefined,
): Promise<{ schedule: Schedule; outcome: Outcome } | null> {
  for (let number = from; number < from + count; number++) {
    const schedule = scheduleOf(number);
    const outcome = await runSchedule(schedule, plants);
    onOutcome(outcome);
    if (outcome.broken.length > 0) return { schedule, outcome };
  }
  return null;
}

const textOf = ({ schedule, outcome: { broken } }: Pick<Shrunk, "schedule" | "outcome">) =>
  [...linesOf(schedule), ...broken.map((each) => `broken: ${each}`)].join("\n");

test(
  "a fleet under random faults breaks no guarantee, and everything ends when the faults do",
  async () => {
    const figures: Record<string, number> = { schedules: 0 };
    const startedAt = performance.now();
    const failing = await firstFailing(first, count, {}, (outcome) => {
      figures.schedules!++;
      for (const [name, value] of Object.entries(outcome.figures)) figures[name] = (figures[name] ?? 0) + value;
    });
    const minutes = (performance.now() - startedAt) / 60_000;
    report("fleet", figures);
    console.info(`fleet: ${Math.round(figures.schedules! / minutes)} schedules per minute`);
    if (!failing) return;
    const shrunk = await shrink(failing.schedule, failing.outcome, {});
    const again = `DIBS_SEED=${failing.schedule.number} DIBS_RUNS=1 npx vitest run test/simulation/fleet.test.ts`;
    expect.fail(`${textOf(failing)}\n\nshortened, ${shrunk.tries} tries:\n${textOf(shrunk)}\n\nagain: ${again}`);
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

/** In each call, also in one of many that share a request. */
const inEach =
  (change: (part: { operation: string; input: Record<string, unknown>; idempotencyKey?: string }) => void): Plant =>
  ({ operation, input, key }: Request) => {
    const copy = structuredClone(input);
    const parts = Array.isArray(copy.calls) ? copy.calls : [];
    const whole = { operation: operation!.name, input: copy, ...(key === undefined ? {} : { idempotencyKey: key }) };
    for (const part of [...parts, whole]) change(part);
    return { operation, input: copy, key: whole.idempotencyKey };
  };

const plants: [what: string, plants: Plants, said: RegExp][] = [
  [
    "a server that does not look at epochs",
    {
      server: inEach(({ operation, input }) => {
        if (/^tasks\.(complete|fail|release)$/.test(operation)) delete input.epoch;
      }),
    },
    /accepted, and is lost/,
  ],
  [
    "a server that forgets idempotency keys",
    {
      server: inEach((part) => {
        delete part.idempotencyKey;
      }),
    },
    /has acted twice|was never given/,
  ],
  ["a lander that ignores its lease", { lander: "ignores its lease" }, /^L/],
];

test.each(plants)("%s is found, and its schedule is shortened to a few lines", async (_what, plants, said) => {
  const failing = await firstFailing(1, 1_000, plants);
  expect(failing?.outcome.broken.join("\n")).toMatch(said);
  const shrunk = await shrink(failing!.schedule, failing!.outcome, plants);
  expect(shrunk.outcome.broken.join("\n")).toMatch(said);
  console.info(`${textOf(shrunk)}\nfrom ${failing!.schedule.decisions.length} decisions, ${shrunk.tries} tries`);
  expect(shrunk.schedule.decisions.length).toBeLessThan(12);
});
