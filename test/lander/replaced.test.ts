// A lander that was killed on this machine is replaced at once. One that was moving the target can have left a git command behind,
// so its lease ends first; one that is alive, or on another machine, is waited for.

import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { machine } from "../runner/support.js";
import { git, Stage, until } from "./support.js";

const leaseMs = 600_000;
const deadPid = () => spawnSync(process.execPath, ["-e", ""]).pid;

async function leased(stage: Stage, { pid = deadPid(), host = machine.hostId } = {}) {
  const repository = git(stage.root, "rev-list", "--max-parents=0", "main");
  const place = { repository, target: "main" };
  const { lease } = await stage.dibs.landings.lease({
    ...place,
    holder: `lander-somewhere-${pid}-00ff00`,
    host,
    ttlMs: leaseMs,
  });
  return { ...place, epoch: lease.epoch };
}

test("a killed lander is replaced at once", async () => {
  const stage = await Stage.open();
  const { taskId, commit } = await stage.handIn({ "b.txt": "b\n" });
  const lander = await leased(stage);
  await stage.dibs.landings.open({ ...lander, tasks: [{ taskId, submission: 1, commit }] });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});

test("a lander that was killed while it moved the target is replaced when its lease ends, and --once waits for that", async () => {
  let aheadMs = 0;
  const stage = await Stage.open({ clock: () => Date.now() + aheadMs });
  const { taskId, commit } = await stage.handIn({ "b.txt": "b\n" });
  const lander = await leased(stage);
  const tasks = [{ taskId, submission: 1, commit }];
  await stage.dibs.landings.open({ ...lander, base: stage.tip, commit: commit!, tasks });
  const landing = stage.land();
  await until("it waits", () => stage.steps.length > 0);
  expect(stage.steps).toMatchObject([{ step: "waiting", for: "lease" }]);
  aheadMs = leaseMs;
  expect(await landing).toMatchObject({ landed: 1, held: [] });
});

test.each([
  ["is alive", { pid: process.pid }],
  ["is on another machine", { host: "another/machine" }],
])("a lander that %s keeps its lease", async (_, holder) => {
  const stage = await Stage.open();
  await leased(stage, holder);
  await stage.handIn({ "b.txt": "b\n" }, {});
  await expect(stage.land()).rejects.toMatchObject({ code: "SESSION_BUSY" });
});
