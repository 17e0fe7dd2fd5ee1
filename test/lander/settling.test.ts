// A recorded intent is settled by looking at the target: what was tried may have happened, whatever was said about it.

import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { examineLandings } from "../../src/lander/index.js";
import {
  check,
  clone,
  crashBefore,
  git,
  handInElsewhere,
  onceBefore,
  push,
  Stage,
  withRemote,
  write,
} from "./support.js";

test("a remote that is gone after the push: the task is held as landing, cannot be cancelled, and is landed when it is back", async () => {
  const { stage, remote } = await withRemote();
  const one = await stage.handIn({ "b.txt": "b\n" });
  const end = await stage.land(onceBefore("verify", () => renameSync(remote, `${remote}.away`)));
  expect(end).toMatchObject({ landed: 0, held: [{ reason: "REMOTE_UNREACHABLE" }] });
  expect(await stage.submission(one)).toMatchObject({ stage: "landing" });
  await expect(stage.dibs.tasks.cancel({ taskId: one.taskId })).rejects.toMatchObject({
    code: "LANDING_NOW",
  });
  expect(await stage.holds()).toHaveLength(1);
  renameSync(`${remote}.away`, remote);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
  expect(git(remote, "rev-list", "--count", "main")).toBe("2");
  expect((await examineLandings(stage.dibs, stage.root))!.problems).toEqual([]);
});

test("a push that was said to have failed, and had not, has landed", async () => {
  const { stage, remote } = await withRemote();
  const one = await stage.handIn({ "b.txt": "b\n" });
  // The remote takes it, and the connection is lost before it answers.
  const hook = join(remote, "hooks", "post-receive");
  mkdirSync(join(remote, "hooks"), { recursive: true });
  writeFileSync(hook, "#!/bin/sh\nif grep -q refs/heads/main; then kill -KILL $PPID; fi\n");
  chmodSync(hook, 0o755);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
  expect(git(remote, "rev-list", "--count", "main")).toBe("2");
});

test("a successor on another machine gets the submission from the remote before it says what landed", async () => {
  const { stage, remote } = await withRemote();
  const taskId = await handInElsewhere(stage, remote, { "a.txt": "agent\n" });
  await expect(stage.land(crashBefore("report landed"))).rejects.toThrow("crashed");
  // Only the ref of the submission keeps it there, which no clone fetches by itself.
  git(remote, "branch", "-D", `dibs/${taskId}`);
  // A person goes on with the same line: landing it again would be a conflict.
  push(clone(remote), { "a.txt": "person\n" });
  expect(await stage.land({ directory: clone(remote) })).toMatchObject({ landed: 1, returned: 0, held: [] });
  expect(await stage.task(taskId)).toMatchObject({ state: "completed", returnCount: 0 });
  expect(git(remote, "rev-list", "--count", "main")).toBe("3");
});

test("a submission that cannot be had leaves the landing unsettled and held, not dropped", async () => {
  const { stage, remote } = await withRemote();
  const taskId = await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  await expect(stage.land(crashBefore("report landed"))).rejects.toThrow("crashed");
  const refs = git(remote, "for-each-ref", "--format=%(refname)", "refs/dibs/submissions", "refs/heads/dibs");
  for (const ref of refs.split("\n")) git(remote, "update-ref", "-d", ref);
  const end = await stage.land({ directory: clone(remote) });
  expect(end).toMatchObject({ landed: 0, held: [{ reason: "LANDING_UNKNOWN" }] });
  expect(await stage.submission({ taskId })).toMatchObject({ stage: "landing" });
  // The machine that has it settles it.
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(git(remote, "rev-list", "--count", "main")).toBe("2");
});

test.each(["withdraw", "cancel"] as const)(
  "%s while checks run: the lander begins again with the others",
  async (operation) => {
    const stage = await Stage.open({ land: { checks: [check("green", "0")] } });
    const gone = await stage.handIn({ "b.txt": "b\n" });
    const other = await stage.handIn({ "c.txt": "c\n" });
    const act = () => stage.dibs.tasks[operation]({ taskId: gone.taskId });
    expect(await stage.land(onceBefore("open", act))).toMatchObject({ landed: 1, held: [] });
    expect(await stage.stateOf(other)).toBe("completed");
    expect(await stage.stateOf(gone)).toBe(operation === "cancel" ? "cancelled" : "queued");
    expect(stage.has("main", "b.txt")).toBe(false);
  },
);

test.each(["open", "intent", "return"])(
  "pause before %s: nothing lands, and the lander goes on",
  async (effect) => {
    const script = `process.exit(require("fs").existsSync("bad.txt") ? 1 : 0)`;
    const stage = await Stage.open({ land: { checks: [check("no-bad", script)], batchMax: 1 } });
    if (effect === "return") await stage.handIn({ "bad.txt": "b\n" });
    const one = await stage.handIn({ "b.txt": "b\n" });
    const before = stage.tip;
    const end = await stage.land(onceBefore(effect, () => stage.dibs.projects.pause({})));
    expect(end).toMatchObject({ landed: 0, held: [] });
    expect(stage.tip).toBe(before);
    await stage.dibs.projects.resume({});
    expect(await stage.land()).toMatchObject({ landed: 1 });
    expect(await stage.stateOf(one)).toBe("completed");
  },
);

test("a commit that is amended while checks run was never landed: the target is not rewound", async () => {
  const stage = await Stage.open({ land: { checks: [check("green", "0")] } });
  write(stage.root, { "m.txt": "m\n" });
  git(stage.root, "add", "m.txt");
  git(stage.root, "commit", "--quiet", "-m", "mine");
  const one = await stage.handIn({ "b.txt": "b\n" }, { from: "main^" });
  const amend = () => git(stage.root, "commit", "--quiet", "--amend", "-m", "mine, better");
  expect(await stage.land(onceBefore("record checks", amend))).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
});

test("after a submission without a change, a person amends the tip: nothing is rewound", async () => {
  const stage = await Stage.open();
  await stage.handIn(null);
  expect(await stage.land()).toMatchObject({ landed: 1 });
  git(stage.root, "commit", "--quiet", "--amend", "-m", "better");
  const one = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
});
