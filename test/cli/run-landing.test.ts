// Where work lands, `dibs work` needs no flag: worktrees, commits and submissions with real git and the real program.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ways } from "./desk.js";
import { type Place, placeWithStore, sh } from "./run-place.js";

async function openRepository(place: Place): Promise<Place> {
  writeFileSync(join(place.cwd, "file.txt"), "one\n");
  place.git("add", "file.txt");
  place.git("commit", "--quiet", "-m", "first");
  await place.says(["project", "set", "land.target", "main"]);
  return place;
}

const treeOf = (place: Place, id: string) => join(place.cwd, ".dibs/worktrees", id);

describe.each(ways)("%s", (way) => {
  test("every task has a worktree, what it left is submitted, and the end is called submitted", async () => {
    const place = await openRepository(await placeWithStore(way));
    await place.add({ title: "Write", prompt: "x" }, { title: "Look", prompt: "x" });
    const script = 'if [ "$DIBS_TASK" = 0001 ]; then echo new > new.txt; fi; pwd >> "$NOTES/where"';
    const { code, out, err } = await place.dibs(["work", "--until-empty", "--no-land", "--", ...sh(script)]);
    expect(place.note("where").trim().split("\n")).toEqual([treeOf(place, "0001"), treeOf(place, "0002")]);
    expect(out).toContain(`0001 submitted  (branch dibs/0001 in ${treeOf(place, "0001")})\n`);
    expect(out).toContain("0002 submitted\n");
    expect(out).toContain("2 submitted; 2 attempts");
    // No lander runs: they have not landed.
    expect([code, err.includes("share this directory")]).toEqual([1, false]);
    const { commit } = (await place.task("0001")).submission;
    expect(place.git("show", `${commit}:new.txt`)).toBe("new");
    expect((await place.task("0002")).submission.commit).toBeNull();
    expect(existsSync(treeOf(place, "0002"))).toBe(false);
  });
});

test("an agent that says done or submit in its worktree hands in what is there", async () => {
  const place = await openRepository(await placeWithStore());
  await place.add({ title: "Done", prompt: "x" }, { title: "Submit", prompt: "x" });
  const script = `echo new > new.txt; case $DIBS_TASK in
    0001) dibs done;;
    0002) mkdir sub; cd sub; dibs submit;;
  esac`;
  const { out } = await place.dibs(["work", "--until-idle", "--no-land", "--", ...sh(script)]);
  expect(out).toContain("0001 reported");
  for (const id of ["0001", "0002"]) {
    const { state, project, submission } = await place.task(id);
    expect([state, place.git("show", `${submission.commit}:new.txt`)]).toEqual(["submitted", "new"]);
    expect(place.git("rev-parse", `refs/dibs/submissions/${project}/${id}/1`)).toBe(submission.commit);
  }
});

test("the fence refuses to move the target", async () => {
  const place = await openRepository(await placeWithStore());
  await place.add({ title: "Sneak", prompt: "x" });
  const script =
    'git commit -q --allow-empty -m own; git update-ref refs/heads/main HEAD 2> "$NOTES/refused"';
  await place.dibs(["work", "--once", "--", ...sh(script)]);
  expect(place.note("refused")).toContain("only the lander moves main. Run: dibs submit");
  expect(place.git("log", "-1", "--format=%s", "main")).toBe("first");
});

test("outside of a repository it says where to run, before it claims", async () => {
  const place = await placeWithStore();
  await place.says(["project", "set", "land.target", "main"]);
  await place.add({ title: "One", prompt: "x" });
  const env = {
    DIBS_DATABASE_URL: join(place.cwd, ".dibs/dibs.db"),
    DIBS_PROJECT: (await place.task("0001")).project,
  };
  const { code, err } = await place.dibs(["work", "--", "true"], { cwd: place.home, env });
  expect(code).toBe(2);
  expect(err).toContain("is in no git repository");
  expect((await place.task("0001")).epoch).toBe(0);
});
