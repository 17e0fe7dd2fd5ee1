// `--worktree` with real git, real hooks and the real `dibs fence`.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Way, ways } from "./desk.js";
import { openPlace, type Place, placeWithStore, sh, until, waitFor } from "./run-place.js";

async function openRepository(way: Way = "embedded"): Promise<Place> {
  const place = await placeWithStore(way);
  writeFileSync(join(place.cwd, "file.txt"), "one\n");
  place.git("add", "file.txt");
  place.git("commit", "--quiet", "-m", "first");
  return place;
}

const treeOf = (place: Place, id: string) => join(place.cwd, ".dibs/worktrees", id);
const branches = (place: Place) =>
  place.git("branch", "--list", "dibs/*", "--format=%(refname:short)").split("\n").filter(Boolean);

/** Writes down what it was given, then waits. */
const held = `env | grep '^DIBS_' > "$NOTES/env.$DIBS_EPOCH.new"; pwd > "$NOTES/cwd"
  mv "$NOTES/env.$DIBS_EPOCH.new" "$NOTES/env.$DIBS_EPOCH"; ${waitFor("go")}`;

async function envOf(place: Place, epoch: number): Promise<Record<string, string>> {
  const lines = (await place.noted(`env.${epoch}`)).split("\n");
  return Object.fromEntries(lines.map((line) => [line.split("=")[0]!, line.slice(line.indexOf("=") + 1)]));
}

/** A process of an attempt that is over, and does not know. */
function late(place: Place, env: Record<string, string>, ...args: string[]) {
  return place.tryGit(treeOf(place, "0001"), args, env);
}

describe.each(ways)("%s", (way) => {
  test("a tree and a branch per task: removed when clean or merged, kept with what is not, kept on failure", async () => {
    const place = await openRepository(way);
    await place.add(
      ...["looks", "commits", "fails", "merges", "leaves a file"].map((title) => ({
        title,
        prompt: "x",
        maxRetries: 0,
      })),
    );
    const script = `pwd >> "$NOTES/where"; git rev-parse --abbrev-ref HEAD >> "$NOTES/branches"; set -e
      case $DIBS_TASK in
        0002) echo two > file.txt; git commit -qam two;;
        0003) echo half > half.txt; exit 1;;
        0004) echo four > four.txt; git add .; git commit -qm four; git -C "${place.cwd}" merge -q dibs/0004;;
        0005) echo x > left.txt;;
      esac`;
    const { code, out } = await place.dibs(["work", "--worktree", "--until-idle", "--", ...sh(script)]);
    expect(code).toBe(0);
    const ids = ["0001", "0002", "0003", "0004", "0005"];
    expect(place.note("where").trim().split("\n")).toEqual(ids.map((id) => treeOf(place, id)));
    expect(place.note("branches").trim().split("\n")).toEqual(ids.map((id) => `dibs/${id}`));
    expect(ids.filter((id) => existsSync(treeOf(place, id)))).toEqual(["0002", "0003", "0005"]);
    expect(branches(place)).toEqual(["dibs/0002", "dibs/0003", "dibs/0005"]);
    expect(readFileSync(join(place.cwd, "four.txt"), "utf8")).toBe("four\n");
    expect(out).toContain(`0003 failed: exited with code 1  (branch dibs/0003 in ${treeOf(place, "0003")})`);
    expect((await place.task("0002")).result.output).toContain("not merged");
    expect((await place.task("0003")).error).toContain(treeOf(place, "0003"));
    // Its own ignore file is for people to commit, nothing else shows.
    expect(place.git("status", "--porcelain", "-uall")).toBe("?? .dibs/.gitignore");
    // What is left is for people: no fence holds them up.
    const kept = place.tryGit(treeOf(place, "0003"), ["commit", "-q", "--allow-empty", "-m", "by a person"]);
    expect([kept.status, kept.stderr]).toEqual([0, ""]);
  });

  test("the holder commits; after a cancellation a commit, also one without hooks, is refused", async () => {
    const place = await openRepository(way);
    await place.add({ title: "One", prompt: "x" });
    const script = `git commit -q --allow-empty -m mine || exit 1; ${held}`;
    const running = place.begin(["work", "--worktree", "--once", "--", ...sh(script)]);
    const env = await envOf(place, 1);
    expect(place.git("log", "-1", "--format=%s", "dibs/0001")).toBe("mine");
    await place.says(["cancel", "0001"]);
    expect((await running.ended).code).toBe(1);
    const refused = late(place, env, "commit", "-q", "--allow-empty", "-m", "late");
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain("no longer holds task 0001 (epoch 1)");
    expect(late(place, env, "commit", "-q", "--no-verify", "--allow-empty", "-m", "late").status).not.toBe(0);
    // Also when the environment was lost on the way.
    expect(late(place, {}, "commit", "-q", "--allow-empty", "-m", "late").status).not.toBe(0);
    expect(place.git("log", "-1", "--format=%s", "dibs/0001")).toBe("mine");
    // Other trees are not concerned, and whoever must can.
    place.git("commit", "--quiet", "--allow-empty", "-m", "a person's");
    expect(
      late(place, { ...env, DIBS_FENCE: "off" }, "commit", "-q", "--allow-empty", "-m", "x").status,
    ).toBe(0);
  });

  test("after the claim was lost to another runner the first one's commits are refused, the second's are not", async () => {
    const place = await openRepository(way);
    await place.add({ title: "One", prompt: "x" });
    const first = place.begin(["work", "--worktree", "--", ...sh(held)]);
    const env = await envOf(place, 1);
    expect(late(place, env, "commit", "-q", "--allow-empty", "-m", "in time").status).toBe(0);
    await first.kill();
    const script = `${held}; git commit -q --allow-empty -m second`;
    const second = place.begin(["work", "--worktree", "--once", "--", ...sh(script)]);
    await envOf(place, 2);
    const refused = late(place, env, "commit", "-q", "--allow-empty", "-m", "late");
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain("no longer holds task 0001 (epoch 1)");
    place.leave("go");
    expect((await second.ended).code).toBe(0);
    expect(place.git("log", "-2", "--format=%s", "dibs/0001").split("\n")).toEqual(["second", "in time"]);
  });
});

test("dibs run has a tree too", async () => {
  const place = await openRepository();
  const { code, out } = await place.dibs([
    "run",
    "--worktree",
    "--prompt",
    "x",
    "--json",
    "--",
    ...sh("pwd; touch new"),
  ]);
  expect(code).toBe(0);
  expect(JSON.parse(out).worktree).toEqual({ path: treeOf(place, "0001"), branch: "dibs/0001" });
  expect((await place.task("0001")).result.output).toContain(treeOf(place, "0001"));
});

test("where there is no repository, or no commit, it says so before it claims", async () => {
  const place = await openPlace();
  await place.add({ title: "One", prompt: "x" });
  for (const args of [
    ["work", "--worktree", "--", "true"],
    ["run", "--worktree", "--task", "0001", "--", "true"],
  ]) {
    const { code, err } = await place.dibs(args);
    expect(code).toBe(2);
    expect(err).toContain("no commit to branch from");
  }
  expect((await place.task("0001")).epoch).toBe(0);
});

test("the fence's own answers: held, not held, nobody meant, switched off, and no store", async () => {
  const place = await openPlace();
  await place.add({ title: "One", prompt: "x" });
  await place.says(["claim", "0001", "--session", "s"]);
  const env = { DIBS_TASK: "0001", DIBS_SESSION: "s", DIBS_EPOCH: "1" };
  const ask = async (more: Record<string, string>) =>
    await place.dibs(["fence"], { env: { ...env, ...more } });
  expect(await ask({})).toEqual({ code: 0, out: "", err: "" });
  expect((await ask({ DIBS_EPOCH: "2" })).code).toBe(1);
  expect((await ask({ DIBS_TASK: "0009" })).code).toBe(1);
  expect((await ask({ DIBS_TASK: "" })).err).toContain("must name a claim");
  expect((await ask({ DIBS_EPOCH: "2", DIBS_FENCE: "off" })).code).toBe(0);
  expect((await ask({ DIBS_URL: "http://127.0.0.1:1" })).err).toContain("cannot check whether task");
  await place.says(["release", "0001", "--session", "s"]);
  await until("it is no longer held", async () => (await ask({})).code === 1);
});

test("agents that share a directory, and changes that worktrees do not have, are warned of", async () => {
  const place = await openRepository();
  const work = async (...args: string[]) =>
    (await place.dibs(["work", "--until-idle", ...args, "--", "true"])).err;
  expect(await work("-n", "2")).toContain("2 agents share this directory");
  expect(await work()).not.toContain("share");
  expect(await work("-n", "2", "--worktree")).toBe("");
  writeFileSync(join(place.cwd, "file.txt"), "changed\n");
  writeFileSync(join(place.cwd, "new.txt"), "new\n");
  expect(await work("--worktree")).toContain("2 files have uncommitted changes");
  expect(await work()).toBe("");
});
