// Where checks run: whatever they do to their working tree, the target does not move by it, and what runs next has exactly its tree.

import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { check, git, newRepository, Stage, tempDir } from "./support.js";

/** Says where the target is, and switches to it. */
const switching = (log: string) => `
  const { execFileSync } = require("child_process");
  const git = (...args) => execFileSync("git", args, { encoding: "utf8" });
  const isBad = require("fs").existsSync("bad.txt");
  require("fs").appendFileSync(${JSON.stringify(log)}, git("rev-parse", "main"));
  git("switch", "--quiet", "main");
  process.exit(isBad ? 1 : 0);`;

const linesOf = (file: string) => readFileSync(file, "utf8").trim().split("\n");

test("a check that switches to the target, where nobody has it checked out, does not move it", async () => {
  const log = join(tempDir(), "log");
  const stage = await Stage.open({ land: { checks: [check("switches", switching(log))] } });
  git(stage.root, "switch", "--quiet", "-c", "other");
  const before = stage.tip;
  const bad = await stage.handIn({ "bad.txt": "bad\n" });
  expect(await stage.land()).toMatchObject({ landed: 0, returned: 1 });
  expect(await stage.submission(bad)).toMatchObject({ end: { as: "returned", reason: "check-failed" } });
  // Twice on the submission, once on the target: it was the same each time.
  expect(linesOf(log)).toEqual([before, before, before]);
  expect(stage.tip).toBe(before);
  expect(git(stage.root, "reflog", "main")).not.toMatch(/reset/);
  const good = await stage.handIn({ "good.txt": "good\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 0, held: [] });
  expect(git(stage.root, "rev-list", "--count", `${before}..main`)).toBe("1");
  expect((await stage.task(good.taskId)).landed?.commit).toBe(stage.tip);
  // Nobody else is kept from it.
  git(stage.root, "switch", "--quiet", "main");
});

test("a worktree in which a killed lander's check had switched to the target is not taken with it", async () => {
  const log = join(tempDir(), "log");
  const says = `require("fs").appendFileSync(${JSON.stringify(log)}, require("child_process").execFileSync("git", ["rev-parse", "main"]))`;
  const stage = await Stage.open({ land: { checks: [check("says", says)] } });
  await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  git(stage.root, "switch", "--quiet", "--detach");
  git(join(stage.root, ".dibs", "landing", "main-1"), "switch", "--quiet", "main");
  const before = stage.tip;
  await stage.handIn({ "c.txt": "c\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(linesOf(log).at(-1)).toBe(before);
});

test("what the setup changes in the tree is not there when the checks run", async () => {
  const setup = {
    run: [
      process.execPath,
      "-e",
      `const fs = require("fs"); fs.writeFileSync("a.txt", "by setup"); fs.writeFileSync("new.txt", ""); fs.writeFileSync("made.log", "")`,
    ],
    paths: [],
  };
  const isClean = `
    const fs = require("fs");
    const isTree = fs.readFileSync("a.txt", "utf8") === "a\\n" && !fs.existsSync("new.txt");
    process.exit(isTree && fs.existsSync("made.log") ? 0 : 1)`;
  const stage = await Stage.open({
    root: newRepository({ "a.txt": "a\n", ".gitignore": "*.log\n" }),
    land: { setup, checks: [check("clean", isClean)] },
  });
  const handed = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.submission(handed)).toMatchObject({ checks: [{ state: "passed" }] });
});

test("links in the place of landing worktrees, which can come with a clone, are not followed", async () => {
  const stage = await Stage.open();
  const theirs = join(tempDir(), "theirs");
  git(stage.root, "worktree", "add", "--quiet", "-b", "theirs", theirs);
  git(theirs, "commit", "--quiet", "--allow-empty", "-m", "theirs");
  const [room, outside] = [join(stage.root, ".dibs", "landing"), tempDir()];
  mkdirSync(room, { recursive: true });
  symlinkSync(theirs, join(room, "main-1"));
  const before = git(stage.root, "rev-parse", "theirs");
  await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(git(stage.root, "rev-parse", "theirs")).toBe(before);

  const other = await Stage.open();
  mkdirSync(join(other.root, ".dibs"));
  symlinkSync(outside, join(other.root, ".dibs", "landing"));
  await other.handIn({ "b.txt": "b\n" });
  await expect(other.land()).rejects.toMatchObject({ code: "STORE_NOT_TRUSTED" });
  expect(existsSync(join(outside, "main-1"))).toBe(false);
});
