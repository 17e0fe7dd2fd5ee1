// A lander killed, or stopped beyond its lease, before every single effect: the next one finishes, and nothing is lost, landed
// twice or moved by a lander that has lost its lease.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { isAlive } from "../../src/runtime/liveness.js";
import { effectsOf, killedBefore, reportFigures, start, stoppedBefore } from "./crashes.js";
import { check, crashBefore, Stage, tempDir, until } from "./support.js";

const place = "checked out";

afterAll(() => reportFigures(place));

test.each(effectsOf(place))("killed before: %s", (effect) => killedBefore(effect, place));

test.each(effectsOf(place))("stopped beyond its lease before: %s", (effect) => stoppedBefore(effect, place));

test("a lander that is killed in the middle of a check takes the check with it", async () => {
  const notes = join(tempDir(), "pid");
  const script = `require("fs").writeFileSync(${JSON.stringify(notes)}, String(process.pid)); setInterval(() => {}, 1000)`;
  const stage = await Stage.open({ land: { checks: [check("waits", script)] } });
  await stage.handIn({ "b.txt": "b\n" });
  const child = start(stage, "kill", "never");
  await until("the check runs", () => existsSync(notes) && readFileSync(notes, "utf8") !== "");
  child.process.kill("SIGKILL");
  await child.ended();
  const pid = Number(readFileSync(notes, "utf8"));
  await until("the check is gone", () => !isAlive(pid, null));
});

test("a lander that dies while it drops an intent leaves it to the next one", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  await expect(stage.land(crashBefore("move"))).rejects.toThrow("crashed");
  // It finds that the target does not have it.
  await expect(stage.land(crashBefore("drop"))).rejects.toThrow("crashed");
  expect(await stage.submission(one)).toMatchObject({ stage: "landing" });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(stage.steps).toContainEqual({ step: "settled", landing: "L1", as: "dropped" });
});
