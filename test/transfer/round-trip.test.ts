// Random histories, moved between stores. Again with the same numbers: DIBS_SEED=…; longer: DIBS_RUNS=1000.

import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { brokenInvariants, everythingIn } from "../../src/core/invariants.js";
import { type Counts, kinds, noRows } from "../../src/transfer/format.js";
import { importOrg } from "../../src/transfer/import.js";
import { firstDifference } from "../simulation/difference.js";
import { snapshot } from "../simulation/looking.js";
import { script } from "../simulation/script.js";
import { pairs, withStores } from "./drivers.js";
import { carryDocuments, forgetIntents, goOn, live, org } from "./history.js";
import { again, exported, smallBatches, smallPages } from "./lines.js";

const numRuns = Number(process.env.DIBS_RUNS ?? 60);
/** `npm test` judges by the same histories each time; with DIBS_RUNS new ones are looked for. */
const anySeed = () => Math.floor(Math.random() * 2 ** 31);
const seed = Number(process.env.DIBS_SEED ?? (process.env.DIBS_RUNS ? anySeed() : 2_026));
/** On PostgreSQL each history costs databases of its own; on DynamoDB each fetch costs turns of the event loop. */
const slower: Record<string, number> = { PostgreSQL: 8, DynamoDB: 20 };

const moved: Counts = noRows();
/** What only some rows of a kind have, and must have been among them. */
const rare = {
  "a late result": 0,
  "an answer": 0,
  "an ended session": 0,
  "a question": 0,
  "something read": 0,
  "an owner": 0,
  "a log without its beginning": 0,
};

function note(lines: string[]): void {
  for (const line of lines) {
    const { kind, row } = JSON.parse(line);
    if (kind === "attempt" && row.lateResult) rare["a late result"]++;
    if (kind === "attempt" && row.answer) rare["an answer"]++;
    if (kind === "session" && row.endedAt !== null) rare["an ended session"]++;
    if (kind === "task" && row.question) rare["a question"]++;
    if (kind === "session" && row.owner !== undefined) rare["an owner"]++;
    if (kind === "org" && row.eventMin > 1) rare["a log without its beginning"]++;
    if (kind === "notification" && row.readAt !== null) rare["something read"]++;
  }
}

describe.each(pairs)("from $from.name to $to.name", ({ from, to }) => {
  test("and back: all lines are the same, the stores look the same, and go on the same", async () => {
    const property = fc.asyncProperty(script, script, (before, after) =>
      withStores([from, to, from], async ([original, copy, back], clock) => {
        await live(original!, clock, before);
        await forgetIntents(original!);
        const lines = await exported(original!);
        note(lines);
        const counts = await importOrg(copy!, org, again(lines), smallBatches);
        for (const kind of kinds) moved[kind] += counts[kind];
        expect(await exported(copy!, smallPages)).toEqual(lines);
        await importOrg(back!, org, again(lines));
        expect(await exported(back!)).toEqual(lines);

        expect(await copy!.read(org, (view) => brokenInvariants(everythingIn(view)))).toEqual([]);
        const compare = async () => {
          const [expected, actual] = [await original!.read(org, snapshot), await copy!.read(org, snapshot)];
          expect(firstDifference(expected, actual, ["original", "copy"])).toBeNull();
        };
        await carryDocuments(original!, copy!);
        await compare();
        await goOn([original!, copy!], clock, after.steps);
        await compare();
        expect(await exported(copy!)).toEqual(await exported(original!));
      }),
    );
    const factor = Math.max(...[from, to].map(({ name }) => slower[name] ?? 1));
    const isSlow = factor > 1;
    const runs = Math.ceil(numRuns / factor);
    await fc.assert(property, { seed, numRuns: runs, endOnFailure: isSlow || !process.env.DIBS_RUNS });
  }, 600_000);
});

test("something of every kind was moved", () => {
  for (const kind of kinds) expect(moved[kind], kind).toBeGreaterThan(0);
  for (const [what, count] of Object.entries(rare)) expect(count, what).toBeGreaterThan(0);
});

afterAll(() => {
  if (process.env.DIBS_COVERAGE) console.log(moved, rare);
});
