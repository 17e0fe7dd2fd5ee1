// `dibs work` that has nothing to run says why, and stops without promises about what runs.

import { expect, test } from "vitest";
import { openPlace, placeWithStore, sh } from "./run-place.js";

const work = ["work", "--", ...sh("true")];

test("an idle dibs work prints once why it waits, again after it has worked, and how it stops", async () => {
  const place = await placeWithStore();
  const runner = place.begin(work);
  await runner.says('Waiting for tasks: no open tasks. Run: dibs add "Write the docs"');
  await place.add(
    { title: "One", prompt: "x" },
    { title: "Two", prompt: "x", assignee: "somebody" },
    { title: "Three", prompt: "x", dependsOn: ["k1"] },
    { title: "Later", prompt: "x", notBefore: "2099-01-01T00:00:00.000Z" },
  );
  await runner.says("Waiting for tasks: 1 blocked, 1 scheduled, 1 assigned to others. Run: dibs ready");
  expect((await place.task("0001")).state).toBe("completed");
  runner.signal("SIGINT");
  const { code, err } = await runner.ended;
  expect(code).toBe(0);
  expect(err).toContain("stopping: nothing is running\n");
  expect(err).not.toContain("may finish");
  expect(err.match(/Waiting for tasks/g)).toHaveLength(2);
});

test("an idle dibs work names a paused project and the command that resumes it", async () => {
  const place = await openPlace();
  await place.add({ title: "One", prompt: "x" });
  await place.says(["project", "pause"]);
  const runner = place.begin(work);
  await runner.says("Waiting for tasks: project paused. Run: dibs project resume shop");
  await place.says(["project", "resume", "shop"]);
  await place.becomes("0001", "completed");
});

test("dibs work --until-empty and --once do not wait, and print nothing of the kind", async () => {
  const place = await openPlace();
  for (const flag of ["--until-empty", "--once"]) {
    const { err } = await place.dibs(["work", flag, "--", ...sh("true")]);
    expect(err).not.toContain("Waiting");
  }
});
