// From a plan to code on the main branch, with the built program: what was lost before landing.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ways } from "./desk.js";
import { type Place, placeWithStore, sh, until } from "./run-place.js";

async function openRepository(place: Place): Promise<Place> {
  writeFileSync(join(place.cwd, "list.txt"), "one\ntwo\nthree\n");
  place.git("add", "list.txt");
  place.git("commit", "--quiet", "-m", "first");
  await place.says(["init", "--land", "main", "--yes", "--no-agents"]);
  return place;
}

describe.each(ways)("%s", (way) => {
  test("a dependent starts with its dependency's files, two that change one line both land, and main has it all", async () => {
    const place = await openRepository(await placeWithStore(way));
    await place.says(["check", "add", "has-list", "--", "test", "-f", "list.txt"]);
    await place.add(
      { key: "model", title: "Create model", prompt: "x" },
      { title: "Create api", prompt: "x", dependsOn: ["model"] },
      { title: "Edit the first line", prompt: "x" },
      { title: "Edit the same line", prompt: "x" },
    );
    const script = `
      case $DIBS_TASK in
        0001) echo model > model.txt;;
        0002) test -f model.txt || exit 9; echo api > api.txt;;
        000[34]) touch "$NOTES/$DIBS_TASK"; until [ -e "$NOTES/0003" ] && [ -e "$NOTES/0004" ]; do sleep 0.05; done;;
      esac
      case $DIBS_TASK in
        0003) printf 'ONE\\ntwo\\nthree\\n' > list.txt; git add list.txt;;
        0004) printf 'uno\\ntwo\\nthree\\n' > list.txt; git add list.txt;;
      esac`;
    const { code, out, err } = await place.dibs(["work", "-n", "3", "--until-empty", "--", ...sh(script)]);
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(out).toContain("4 completed");
    expect(err).toMatch(/000[34] returned: Conflict with main .* in list.txt/);
    const files = place.git("ls-tree", "--name-only", "main").split("\n");
    expect(files).toEqual(expect.arrayContaining(["api.txt", "list.txt", "model.txt"]));
    expect(place.git("log", "--format=%s", "main").split("\n")).toHaveLength(5);
    for (const id of ["0001", "0002", "0003", "0004"]) {
      const { state, landed } = await place.task(id);
      expect(state).toBe("completed");
      expect(place.git("merge-base", "--is-ancestor", landed.commit, "main")).toBe("");
      const { out: page } = await place.dibs(["show", "--commit", landed.commit]);
      expect(page).toContain(id);
    }
    // The checkout is at main, and branches and worktrees of tasks are gone.
    expect(place.git("status", "--porcelain", "--untracked-files=no")).toBe("");
    expect(place.git("branch", "--list", "dibs/*")).toBe("");
    expect(await place.says(["doctor"])).toContain("4 landed changes are on main");
  });
});

test("tasks that change an exclusive path follow one another: each begins with what landed before, and none comes back", async () => {
  const place = await openRepository(await placeWithStore());
  await place.says(["project", "set", 'scopes.exclusive=["list.txt"]']);
  const shared = Array.from({ length: 5 }, (_, n) => ({
    title: `Line ${n}`,
    prompt: "x",
    files: ["list.txt"],
  }));
  await place.add(...shared, { title: "Beside", prompt: "x", files: ["beside.txt"] });
  const script = `case $DIBS_TASK in
    0006) echo beside > beside.txt;;
    *) echo "$DIBS_TASK after $(tail -n 1 list.txt)" >> list.txt;;
  esac`;
  const { code, out, err } = await place.dibs(["work", "-n", "4", "--until-empty", "--", ...sh(script)]);
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(out).toContain("6 completed");
  expect(err).not.toContain("returned");
  const lines = place.git("show", "main:list.txt").split("\n").slice(3);
  const ids = lines.map((line) => line.slice(0, 4));
  expect([...ids].sort()).toEqual(["0001", "0002", "0003", "0004", "0005"]);
  expect(lines.slice(1)).toEqual(lines.slice(0, -1).map((line, at) => `${ids[at + 1]} after ${line}`));
  expect((await place.task("0001")).returnCount).toBe(0);
});

test("a server in the repository lands what is submitted", async () => {
  const place = await openRepository(await placeWithStore());
  await place.begin(["serve", "--port", "0", "--log-level", "silent"]).says("listening on");
  await place.add({ title: "One", prompt: "x" });
  const work = ["work", "--until-idle", "--no-land", "--", ...sh("echo new > new.txt")];
  expect((await place.dibs(work)).code).toBe(0);
  await until("it has landed", async () => (await place.task("0001")).state === "completed");
  expect(place.git("show", "main:new.txt")).toBe("new");
});

test("land --once lands what was submitted and says so; with --json every step is a line", async () => {
  const place = await openRepository(await placeWithStore());
  await place.add({ title: "One", prompt: "x" }, { title: "Two", prompt: "x" });
  await place.dibs(["work", "--until-idle", "--no-land", "--", ...sh("echo $DIBS_TASK > $DIBS_TASK.txt")]);
  const dry = await place.dibs(["land", "--dry-run"]);
  expect(dry).toMatchObject({ code: 0, out: expect.stringContaining("0002 would merge as") });
  expect((await place.task("0001")).state).toBe("submitted");
  const { code, out } = await place.dibs(["land", "--once", "--json"]);
  expect(code).toBe(0);
  const steps = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(steps.map(({ step }) => step)).toEqual(["leased", "merged", "merged", "landed", "landed"]);
  expect(await place.says(["land", "--once"])).toContain("landing on main");
});

test("land --once exits 1 if a landing is held, and the inbox says why", async () => {
  const place = await openRepository(await placeWithStore());
  await place.add({ title: "One", prompt: "x" });
  await place.dibs(["work", "--until-idle", "--no-land", "--", ...sh("echo changed > list.txt")]);
  writeFileSync(join(place.cwd, "list.txt"), "my own words\n");
  const { code, out } = await place.dibs(["land", "--once"]);
  expect({ code, out }).toMatchObject({
    code: 1,
    out: expect.stringContaining("held: Task 0001 changes list.txt"),
  });
  expect(await place.says(["inbox"])).toContain("list.txt");
  expect(await place.says(["explain", "0001"])).toContain("list.txt");
});

test("doctor prints a landed commit that main no longer has, with the fix, and exits 1; the fix lets landing go on", async () => {
  const place = await openRepository(await placeWithStore());
  await place.add({ title: "One", prompt: "x" });
  await place.dibs(["work", "--until-empty", "--", ...sh("echo one > one.txt")]);
  const { landed } = await place.task("0001");
  place.git("reset", "--hard", "--quiet", "main^");
  const { code, out } = await place.dibs(["doctor"], { env: { COLUMNS: "400" } });
  expect(code).toBe(1);
  const [id, short] = [landed.commit, landed.commit.slice(0, 10)];
  const said = out.replaceAll(/\s+/g, " ");
  expect(said).toContain(
    `problem landing Task 0001 is completed, but its commit ${short} is not on main. → git cherry-pick ${id}`,
  );
  expect(said).toContain(
    `problem landing main no longer contains ${short}, which landed last. → git merge ${short}, or: dibs land --accept-rewind`,
  );
  const json = await place.json(["doctor"]);
  expect(json.findings).toContainEqual(
    expect.objectContaining({ check: "landing", status: "problem", advice: `git cherry-pick ${id}` }),
  );
  await place.add({ title: "Two", prompt: "x" });
  await place.dibs(["work", "--until-idle", "--no-land", "--", ...sh("echo two > two.txt")]);
  const held = await place.dibs(["land", "--once"]);
  expect(held).toMatchObject({ code: 1, out: expect.stringContaining("dibs land --accept-rewind") });
  await place.says(["land", "--once", "--accept-rewind"]);
  expect(place.git("ls-tree", "--name-only", "main").split("\n")).toEqual(["list.txt", "two.txt"]);
  expect((await place.task("0002")).state).toBe("completed");
});

test.each([
  [["land"], "Landing is off"],
  [["land", "--once", "--dry-run"], "cannot be combined"],
])("%s without what it needs is refused", async (args, message) => {
  const place = await placeWithStore();
  const { code, err } = await place.dibs(args);
  expect(code).not.toBe(0);
  expect(err).toContain(message);
});

test("init --remove --purge leaves nothing of the lander", async () => {
  const place = await openRepository(await placeWithStore());
  await place.add({ title: "One", prompt: "x" });
  await place.dibs(["work", "--until-empty", "--", ...sh("echo new > new.txt")]);
  expect(place.git("show", "main:new.txt")).toBe("new");
  await place.says(["init", "--remove", "--purge", "--yes"]);
  expect(existsSync(join(place.cwd, ".dibs"))).toBe(false);
  expect(place.git("worktree", "list").split("\n")).toHaveLength(1);
  expect(place.git("for-each-ref", "refs/dibs/land")).toBe("");
});

test("a target that does not exist is said when it is set, by the lander and by the worker, and is in the inbox", async () => {
  const place = await openRepository(await placeWithStore());
  expect((await place.dibs(["project", "set", "land.target", "main"])).err).toBe("");
  const set = await place.dibs(["project", "set", "land.target", "nope"]);
  expect(set).toMatchObject({
    code: 0,
    err: "dibs: Branch nope does not exist in this repository. Run: git branch nope\n",
  });
  const land = await place.dibs(["land", "--once"]);
  expect(land).toMatchObject({ code: 1 });
  expect(land.out).toContain("held: There is no branch nope. Run: git branch nope <commit>\n");
  expect(await place.says(["inbox"])).toContain("There is no branch nope.");
  place.git("branch", "nope");
  expect(await place.says(["land", "--once"])).toBe("landing on nope\nnothing to land\n");
  expect(await place.says(["inbox"])).not.toContain("nope");
  place.git("branch", "-D", "nope");
  await place.add({ title: "One", prompt: "x" });
  const work = await place.dibs(["work", "--once", "--", "true"]);
  expect(work).toMatchObject({ code: 1 });
  expect(work.err).toContain("There is no branch nope in");
  expect(work.err).toContain("Run: git branch nope\n");
  expect((await place.task("0001")).state).toBe("queued");
  expect(await place.says(["inbox"])).toContain("There is no branch nope.");
});

test("what a worker submitted and has not landed is said at its end, and a dry run says what would merge", async () => {
  const place = await openRepository(await placeWithStore());
  expect(await place.says(["land", "--dry-run"])).toBe("nothing to land\n");
  await place.add({ title: "One", prompt: "x" }, { title: "Two", prompt: "x" });
  const command = ["--", ...sh('echo "$DIBS_TASK" > "$DIBS_TASK.txt"')];
  const once = await place.dibs(["work", "--once", ...command]);
  expect([once.code, once.err.split("\n").at(-2)]).toEqual([
    0,
    "1 task is submitted and has not landed. Run: dibs land",
  ]);
  expect(await place.says(["list"])).toContain("submitted, waiting to land");
  const submitted = await place.says(["list", "-s", "submitted"]);
  expect(submitted).toMatch(/^0001 +One .*submitted, waiting to land$/m);
  expect(submitted).not.toContain("Two");
  const idle = await place.dibs(["work", "--until-idle", "--no-land", ...command]);
  expect([idle.code, idle.err.split("\n").at(-2)]).toEqual([
    0,
    "1 task is submitted and has not landed. Run: dibs land",
  ]);
  expect(await place.says(["land", "--dry-run"])).toMatch(
    /^0001 would merge as \w+\n0002 would merge as \w+\n$/,
  );
  expect(await place.says(["land", "--once"])).not.toContain("nothing to land");
  expect(await place.says(["land", "--once"])).toBe("landing on main\nnothing to land\n");
});

test("a worker whose tasks land meanwhile does not print that it waits for them", async () => {
  const place = await openRepository(await placeWithStore());
  await place.says(["check", "add", "slow", "--", "sleep", "2"]);
  await place.add({ title: "One", prompt: "x" });
  const { code, err } = await place.dibs(["work", "--until-empty", "--", ...sh("echo new > new.txt")]);
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(err).toContain("0001 landed");
  expect(err).not.toContain("Waiting");
});
