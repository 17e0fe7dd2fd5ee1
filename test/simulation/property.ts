// One random test, for any store: scripts on the reference model and on it, side by side. `npm test` judges every change by the
// same scripts; new ones are looked for by `npm run simulate` (DIBS_RUNS=20000). Again with the same numbers: DIBS_SEED=…, and
// DIBS_PATH=… to go straight to the failing script. DIBS_COVERAGE=1 prints what was reached.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { report } from "../proof/figures.js";
import { commandTypes } from "./commands.js";
import { Coverage } from "./coverage.js";
import type { Rig } from "./rig.js";
import { script } from "./script.js";

const usualSeed = 20_261_115;
const anySeed = () => Math.floor(Math.random() * 2 ** 31);
const seed = Number(process.env.DIBS_SEED ?? (process.env.DIBS_RUNS ? anySeed() : usualSeed));
const path = process.env.DIBS_PATH;
/** After a failure, this long is spent on making it smaller. */
const shrinkMs = Number(process.env.DIBS_SHRINK_MS ?? 60_000);

export function staysAlike(
  name: string,
  runsUsually: number,
  runScript: (steps: Parameters<Rig["run"]>[0], coverage: Coverage) => Promise<void>,
): void {
  const numRuns = Number(process.env.DIBS_RUNS ?? runsUsually);
  const coverage = new Coverage();

  describe(`memory and ${name}`, () => {
    test(
      "answer alike and stay alike, whatever happens",
      async () => {
        console.log(`simulation: DIBS_SEED=${seed} DIBS_RUNS=${numRuns}`);
        let failedAt: number | null = null;
        const property = fc.asyncProperty(script, async (steps) => {
          if (failedAt !== null && performance.now() - failedAt > shrinkMs) return;
          try {
            await runScript(steps, coverage);
          } catch (error) {
            failedAt ??= performance.now();
            throw error;
          }
        });
        const details = await fc.check(property, { seed, numRuns, ...(path ? { path } : {}) });
        if (process.env.DIBS_COVERAGE) console.log(String(coverage));
        report("simulation", { schedules: details.numRuns });
        if (!details.failed) return;
        const error = details.errorInstance;
        const again = `DIBS_SEED=${details.seed} DIBS_PATH=${details.counterexamplePath} npx vitest run test/simulation`;
        expect.fail(
          `after ${details.numRuns} scripts and ${details.numShrinks} shrinks; again: ${again}\n\n${
            error instanceof Error ? error.message : String(error)
          }`,
        );
      },
      24 * 60 * 60 * 1000,
    );

    test("were asked everything", () => {
      if (numRuns < 200 || path) return;
      const never = [...commandTypes, "documents", "archive", "archive-some"].filter(
        (type) => coverage.of(type, "ok") === 0,
      );
      expect(never).toEqual([]);
      expect(coverage.codes().size).toBeGreaterThan(20);
    });
  });
}
