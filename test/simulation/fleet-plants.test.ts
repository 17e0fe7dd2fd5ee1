// The simulation finds bugs: each of these is planted, found within a bounded number of schedules, and its schedule is shortened.

import { expect, test } from "vitest";
import { firstFailing, shrink, textOf } from "./fleet/find.js";
import type { Plants } from "./fleet/run.js";
import type { Decision, Schedule } from "./fleet/schedule.js";
import type { Plant, Request } from "./fleet/server.js";

/** In each call, also in one of many that share a request. */
const inEach =
  (
    change: (part: { operation: string; input: Record<string, unknown>; idempotencyKey?: string }) => void,
  ): Plant =>
  ({ operation, input, key }: Request) => {
    const copy = structuredClone(input);
    const parts = Array.isArray(copy.calls) ? copy.calls : [];
    const whole = {
      operation: operation!.name,
      input: copy,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    };
    for (const part of [...parts, whole]) change(part);
    return { operation, input: copy, key: whole.idempotencyKey };
  };

const all = () => true;

/** For longer than its lease, while another one works. */
function stopsLander({ decisions }: Schedule): boolean {
  const landers = decisions.flatMap((each) =>
    each.what === "join" && each.role === "lander" ? [each.name] : [],
  );
  const isLong = (each: Decision) =>
    each.what === "stop" && landers.includes(each.name) && each.until - each.from > 4_000;
  return landers.length > 1 && decisions.some(isLong);
}

const plants: [what: string, plants: Plants, among: (schedule: Schedule) => boolean, said: RegExp][] = [
  [
    "a server that does not look at epochs",
    {
      server: inEach(({ operation, input }) => {
        if (/^tasks\.(complete|fail|release)$/.test(operation)) delete input.epoch;
      }),
    },
    all,
    /accepted, and is lost/,
  ],
  [
    "a server that forgets idempotency keys",
    {
      server: inEach((part) => {
        delete part.idempotencyKey;
      }),
    },
    all,
    /has acted twice|was never given/,
  ],
  ["a lander that ignores its lease", { lander: "ignores its lease" }, stopsLander, /L[158]: /],
];

test.each(plants)(
  "%s is found, and its schedule is shortened to a few lines",
  async (_what, plants, among, said) => {
    const failing = await firstFailing({ first: 1, count: 3_000, plants, among });
    expect(failing?.outcome.broken.join("\n")).toMatch(said);
    const shrunk = await shrink(failing!, plants, 150);
    expect(shrunk.outcome.broken.join("\n")).toMatch(said);
    console.info(
      `${textOf(shrunk)}\nfrom ${failing!.schedule.decisions.length} decisions, ${shrunk.tries} tries`,
    );
    expect(shrunk.schedule.decisions.length).toBeLessThan(18);
  },
);
