// Target and task branches on a remote: everybody fetches first, and the target is pushed together with the fence.

import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { previewLandings } from "../../src/lander/index.js";
import { keepCommit, pushCommit } from "../../src/runner/submission-ref.js";
import { submissionRef } from "../../src/runner/target.js";
import {
  clone,
  git,
  handInElsewhere,
  newRepository,
  Stage,
  tempDir,
  until,
  withRemote,
  write,
} from "./support.js";

test("a commit from another machine lands on the remote's target; the local branch is left alone", async () => {
  const { stage, remote } = await withRemote();
  const local = stage.tip;
  const taskId = await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  const landed = (await stage.task(taskId)).landed!.commit;
  expect(git(remote, "rev-parse", "main")).toBe(landed);
  expect(git(remote, "show", "main:b.txt")).toBe("b");
  expect(stage.tip).toBe(local);
  expect(git(remote, "cat-file", "-t", "refs/dibs/land/main")).toBe("blob");
});

test("somebody pushes meanwhile: the landing begins again on the new target", async () => {
  const { stage, remote } = await withRemote();
  const other = clone(remote);
  const taskId = await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  let hasPushed = false;
  await stage.land({
    before: (effect) => {
      if (effect !== "move" || hasPushed) return;
      hasPushed = true;
      write(other, { "person.txt": "p\n" });
      git(other, "add", "-A");
      git(other, "commit", "--quiet", "-m", "person");
      git(other, "push", "--quiet", "origin", "main");
    },
  });
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect(git(remote, "log", "--format=%s", "main").split("\n")).toHaveLength(3);
  expect(git(remote, "show", "main:person.txt")).toBe("p");
});

test("a remote that cannot be reached holds everything, and lands when it is back", async () => {
  const { stage, remote } = await withRemote();
  const taskId = await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  renameSync(remote, `${remote}.away`);
  expect((await stage.land()).held).toMatchObject([{ reason: "REMOTE_UNREACHABLE" }]);
  expect(await stage.holds()).toHaveLength(1);
  renameSync(`${remote}.away`, remote);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf({ taskId })).toBe("completed");
});

test("a target that was deleted on the remote is missing, whatever was fetched before", async () => {
  const { stage, remote } = await withRemote();
  await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  git(remote, "branch", "-m", "main", "away");
  expect((await stage.land()).held).toMatchObject([
    { reason: "TARGET_MISSING", message: "There is no branch main on origin." },
  ]);
  git(remote, "branch", "-m", "away", "main");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});

test("a remote that rejects the push holds, and says what it said", async () => {
  const { stage, remote } = await withRemote();
  const taskId = await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  const hook = join(remote, "hooks", "pre-receive");
  mkdirSync(join(remote, "hooks"), { recursive: true });
  writeFileSync(
    hook,
    '#!/bin/sh\nif grep -q refs/heads/main; then echo "main is protected" >&2; exit 1; fi\n',
  );
  chmodSync(hook, 0o755);
  const end = await stage.land();
  expect(end.held).toMatchObject([
    { reason: "PUSH_REJECTED", message: expect.stringContaining("main is protected") },
  ]);
  expect(await stage.stateOf({ taskId })).toBe("submitted");
  rmSync(hook);
  expect(await stage.land()).toMatchObject({ landed: 1 });
});

test("a commit that nobody pushed holds its own task, and no other", async () => {
  const { stage, remote } = await withRemote();
  const { task } = await stage.dibs.tasks.create({ prompt: "x" });
  await stage.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
  const commit = "1".repeat(40);
  await stage.dibs.tasks.submit({
    taskId: task.id,
    sessionId: "agent",
    commit,
    result: { output: "" },
  } as never);
  const other = await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({
    landed: 1,
    held: [{ reason: "COMMIT_MISSING", tasks: [{ taskId: task.id }] }],
  });
  expect(await stage.stateOf({ taskId: other })).toBe("completed");
  expect(await stage.stateOf({ taskId: task.id })).toBe("submitted");
});

test("a remote that is set while a lander runs counts from the next landing on", async () => {
  const seed = newRepository();
  const remote = join(tempDir(), "remote.git");
  git(seed, "clone", "--quiet", "--bare", seed, remote);
  const stage = await Stage.open({ root: clone(remote) });
  const local = await stage.handIn({ "b.txt": "b\n" });
  const stopping = new AbortController();
  const running = stage.land({ once: false, signal: stopping.signal });
  await until("it has landed here", async () => (await stage.stateOf(local)) === "completed");
  git(stage.root, "push", "--quiet", "origin", "main");
  await stage.dibs.projects.update({ settings: { land: { remote: "origin" } } } as never);
  const taskId = await handInElsewhere(stage, remote, { "c.txt": "c\n" });
  await until("it has landed there", async () => (await stage.stateOf({ taskId })) === "completed");
  expect(git(remote, "show", "main:c.txt")).toBe("c");
  stopping.abort();
  await running;
});

test("a dry run gets submissions from the remote, and writes no ref", async () => {
  const { stage, remote } = await withRemote();
  await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  git(stage.root, "fetch", "--quiet", "origin", "main");
  const refs = git(stage.root, "for-each-ref");
  expect(await previewLandings(stage.options())).toMatchObject({ held: [] });
  expect(stage.steps.map(({ step }) => step)).toEqual(["merged"]);
  expect(git(stage.root, "for-each-ref")).toBe(refs);
});

test("a shallow clone holds what it cannot merge, returns nothing, and lands it when it has the history", async () => {
  const seed = newRepository();
  for (const n of [1, 2]) git(seed, "commit", "--quiet", "--allow-empty", "-m", `${n}`);
  git(seed, "switch", "--quiet", "-c", "side", "main~1");
  write(seed, { "b.txt": "b\n" });
  git(seed, "add", "-A");
  git(seed, "commit", "--quiet", "-m", "side");
  const root = join(tempDir(), "shallow");
  git(seed, "clone", "--quiet", "--depth=1", "--no-single-branch", `file://${seed}`, root);
  git(root, "switch", "--quiet", "main");
  git(root, "config", "user.name", "Person");
  git(root, "config", "user.email", "person@example.com");
  const stage = await Stage.open({ root });
  const taskId = await stage.submitCommit(git(seed, "rev-parse", "side"));
  expect(await stage.land()).toMatchObject({ landed: 0, returned: 0, held: [{ reason: "COMMIT_MISSING" }] });
  git(root, "fetch", "--quiet", "--unshallow");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf({ taskId })).toBe("completed");
});

const keptRefs = (root: string, ref: string) =>
  git(root, "for-each-ref", "--format=%(refname) %(objectname)", `${ref}*`).split("\n");

test("a ref that keeps a submission of an earlier store is not overwritten: here, by the lander, on the remote", async () => {
  const { stage, remote } = await withRemote();
  const { root } = stage;
  const earlier = stage.commitOn("earlier", { "b.txt": "of the earlier store\n" }, "main");
  const own = stage.commitOn("own", { "b.txt": "b\n" }, "main");
  const ref = submissionRef("default", "0001", 1);
  const both = [`${ref} ${own}`, `${ref}-old-${earlier.slice(0, 12)} ${earlier}`];
  git(root, "update-ref", ref, earlier);
  git(root, "push", "--quiet", "origin", ref);
  await keepCommit(root, { ref, commit: own });
  await keepCommit(root, { ref, commit: own });
  expect(keptRefs(root, ref)).toEqual(both);
  for (const _ of [1, 2]) await pushCommit(root, { ref, commit: own, remote: "origin", branch: "own" }, {});
  expect(keptRefs(remote, ref)).toEqual(both);

  const local = await Stage.open();
  const before = local.commitOn("before", { "b.txt": "of the earlier store\n" }, "main");
  const now = local.commitOn("now", { "b.txt": "b\n" }, "main");
  const taskId = await local.submitCommit(now);
  const taken = submissionRef((await local.task(taskId)).project, taskId, 1);
  git(local.root, "update-ref", taken, before);
  expect(await local.land()).toMatchObject({ landed: 1 });
  expect(keptRefs(local.root, taken)).toEqual([
    `${taken} ${now}`,
    `${taken}-old-${before.slice(0, 12)} ${before}`,
  ]);
});
