// What keeps a landing from happening besides files, checks and remotes: each is held with a message, and lands when it has ended.

import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { previewLandings } from "../../src/lander/index.js";
import { machine } from "../runner/support.js";
import { git, newRepository, Stage } from "./support.js";

test("a hook of the user's own that refuses the target, where it is not checked out, holds with what it says", async () => {
  const stage = await Stage.open();
  git(stage.root, "switch", "--quiet", "--detach");
  const hook = join(stage.root, ".git", "hooks", "reference-transaction");
  mkdirSync(join(stage.root, ".git", "hooks"), { recursive: true });
  writeFileSync(
    hook,
    '#!/bin/sh\nif [ "$1" = prepared ] && grep -q refs/heads/main; then echo "closed on Sundays" >&2; exit 1; fi\n',
  );
  chmodSync(hook, 0o755);
  const before = stage.tip;
  const handed = await stage.handIn({ "b.txt": "b\n" });
  expect((await stage.land()).held).toMatchObject([
    { reason: "TARGET_REFUSED", message: expect.stringContaining("closed on Sundays") },
  ]);
  expect(stage.tip).toBe(before);
  expect(await stage.submission(handed)).toMatchObject({ stage: "held", end: null });
  rmSync(hook);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});

test("a project that lands on the same branch through another remote is held; the others land", async () => {
  const stage = await Stage.open();
  const repository = git(stage.root, "rev-list", "--max-parents=0", "main");
  const project = "web";
  await stage.dibs.projects.create({
    id: project,
    settings: { land: { target: "main", remote: "origin", repository } },
  } as never);
  await stage.dibs.sessions.register({ id: "web-agent", project } as never);
  const { task } = await stage.dibs.tasks.create({ prompt: "x", project });
  const holder = { project, taskId: task.id, sessionId: "web-agent" };
  await stage.dibs.tasks.claim({ ...holder, start: true });
  const commit = stage.commitOn("web", { "web.txt": "web\n" }, "main");
  await stage.dibs.tasks.submit({ ...holder, commit, result: { output: "" } } as never);
  await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({
    landed: 1,
    held: [{ reason: "OTHER_REMOTE", tasks: [{ project, taskId: task.id }] }],
  });
  expect(stage.has("main", "web.txt")).toBe(false);
  await stage.dibs.projects.update({ id: project, settings: { land: { remote: null } } } as never);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});

test("a lander in another repository refuses to start, and moves nothing there", async () => {
  const stage = await Stage.open();
  const repository = git(stage.root, "rev-list", "--max-parents=0", "main");
  await stage.dibs.projects.update({ settings: { land: { repository } } } as never);
  const handed = await stage.handIn({ "b.txt": "b\n" });
  const other = newRepository({ "other.txt": "o\n" });
  const before = git(other, "for-each-ref");
  const refused = {
    code: "INVALID_STATE",
    message: `${other} is not the repository that the project's work lands in.`,
  };
  await expect(stage.land({ directory: other })).rejects.toMatchObject(refused);
  await expect(previewLandings(stage.options({ directory: other }))).rejects.toMatchObject(refused);
  expect(git(other, "for-each-ref")).toBe(before);
  expect(await stage.stateOf(handed)).toBe("submitted");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});

test("where all landing worktrees are in use, everything is held", async () => {
  const stage = await Stage.open();
  const room = join(stage.root, ".dibs", "landing");
  mkdirSync(room, { recursive: true });
  const owner = JSON.stringify({ host: machine.hostId, name: hostname(), pid: process.pid });
  const files = Array.from({ length: 16 }, (_, n) => join(room, `main-${n + 1}.owner`));
  for (const file of files) writeFileSync(file, owner);
  await stage.handIn({ "b.txt": "b\n" });
  expect((await stage.land()).held).toMatchObject([{ reason: "NO_LANDING_WORKTREE" }]);
  expect(await stage.holds()).toHaveLength(1);
  rmSync(files[0]!);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});
