// Workers, readers and servers that are killed and stopped at random moments. What all processes have seen together must be the
// history of one correct store (history.ts).

import { expect, test } from "vitest";
import type { Dibs } from "../../src/index.js";
import { checkStore, open, tempFile } from "../faults/support.js";
import { seeded } from "../postgres/support.js";
import { amount, report } from "./figures.js";
import { impossible } from "./history.js";
import { Storm, type StormOptions, withShortLeases } from "./storm.js";

const kills = amount("KILLS", 3);
const workers = amount("WORKERS", 2);
const stops = amount("STOPS", 1);
/** Short, so that leases expire during the test; a machine with other work to do makes more of them expire. */
const ttlMs = 500;

async function expectPossible(part: string, storm: Storm, dibs: Dibs): Promise<void> {
  const history = await storm.end(dibs);
  expect(impossible(history)).toEqual([]);
  expect(
    history.calls.filter(({ call, answer }) => call === "tasks.complete" && answer).length,
  ).toBeGreaterThan(0);
  report(part, storm.figures);
}

async function fileStorm(part: string, options: Pick<StormOptions, "clockSteps"> = {}) {
  const random = seeded(`storm.test.ts, ${part}`);
  const path = tempFile();
  const dibs = await open({ path });
  await withShortLeases(dibs);
  const storm = new Storm({ place: () => ({ path }), random, workers, ttlMs, ...options });
  await storm.start();
  return { storm, dibs, path };
}

test("workers and readers that are killed and stopped lose nothing that was acknowledged, and do nothing twice", async () => {
  const { storm, dibs, path } = await fileStorm("kills and stops");
  const stopEvery = Math.ceil(kills / stops);
  for (let kill = 1; kill <= kills; kill++) {
    if (kill % 3 === 0) await storm.killReader();
    else await storm.killWorker();
    // For longer than its leases: what it does when it is back must change nothing.
    if (kill % stopEvery === 0) await storm.stopWorker();
  }
  await expectPossible("kills and stops", storm, dibs);
  await checkStore(path);
});

test("clocks that step by seconds and hours, in each process by itself, break no rule", async () => {
  const { storm, dibs } = await fileStorm("clock steps", { clockSteps: true });
  for (let kill = 0; kill < Math.ceil(kills / 3); kill++) await storm.killWorker();
  await storm.progress(kills * 30);
  await expectPossible("clock steps", storm, dibs);
});
