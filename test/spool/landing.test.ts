// A spool cannot name a commit: where work lands, a completed file is a submission without a change.

import { expect, test } from "vitest";
import { openRig } from "./support.js";

test("with landing on, a completed file submits the task, and its claim ends", async () => {
  const rig = await openRig();
  await rig.dibs.projects.update({ settings: { land: { target: "main" } } });
  await rig.add("one");
  const spool = await rig.proxy();
  await spool.poll();
  const taken = rig.take("0001");
  await spool.poll();
  rig.write("completed/0001/result.md", "did it");
  rig.mv(taken, "completed/0001/0001.md");
  await rig.settle(spool);
  expect(await rig.task("0001")).toMatchObject({
    state: "submitted",
    claim: null,
    submission: { number: 1, commit: null },
    result: { output: "did it" },
  });
  // What it laid out is not laid out again.
  await rig.settle(spool);
  expect([rig.ls("to_execute"), rig.ls("in_progress")]).toEqual([[], []]);
});
