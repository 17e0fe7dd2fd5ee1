// Landing on the command line: turned on by init, shown by show, found again from a commit.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/compose.js";
import { databaseFor } from "../../src/runtime/locate.js";
import { afterwards } from "../support.js";
import { keys, type } from "./pty.js";
import { openPlace, type Place } from "./run-place.js";

const at = (place: Place, name: string) => join(place.cwd, name);
const npm = JSON.stringify({ scripts: { test: "node --test" } });

async function repository(files: Record<string, string> = {}): Promise<Place> {
  const place = await openPlace();
  for (const [name, text] of Object.entries(files)) writeFileSync(at(place, name), text);
  place.git("add", ".");
  place.git("commit", "--quiet", "--allow-empty", "--message=Begin");
  return place;
}

const landOf = async (place: Place) => (await place.json(["project", "show"])).project.settings.land;

interface Step {
  what: string;
  did: string;
  path: string;
  note?: string;
}

const landingSteps = async (place: Place, ...words: string[]): Promise<Step[]> =>
  (await place.json(["init", ...words])).steps.filter(({ what }: Step) => what === "landing");

describe("init --land", () => {
  test("stores the branch and the repository, and names the check that it found", async () => {
    const place = await repository({ "package.json": npm });
    const out = await place.says(["init", "--land", "main"]);
    expect(out).toMatch(/set +main +finished work lands on this branch\n/);
    expect(out).toMatch(/\nwarning: without checks, landing only merges\n/);
    expect(out).toMatch(/ git add \.dibs AGENTS\.md +and commit these files/);
    expect(out).toMatch(/skipped +check test +to add it: dibs check add test -- npm test\n/);
    expect(out).toMatch(/Next:\n[\s\S]* dibs work -n 3 --agent claude [\s\S]* dibs land /);
    const land = await landOf(place);
    expect(land).toMatchObject({ target: "main", repository: place.git("rev-parse", "HEAD"), checks: [] });
    await place.says(["check", "add", "test", "--", "npm", "test"]);
    expect(await landingSteps(place, "--land", "main")).toEqual([
      { what: "landing", did: "kept", path: "main" },
    ]);
    expect(await landingSteps(place)).toEqual([{ what: "landing", did: "kept", path: "main" }]);
  });

  test("with --yes the check is added, with the setup that it needs; what is set is kept", async () => {
    const place = await repository({ "package.json": npm, "package-lock.json": "{}" });
    expect(await landingSteps(place, "--land", "main", "--yes")).toEqual([
      { what: "landing", did: "created", path: "main" },
      { what: "landing", did: "created", path: "check test", note: "npm test" },
      { what: "landing", did: "created", path: "setup", note: "npm ci, before checks" },
    ]);
    expect(await landOf(place)).toMatchObject({
      checks: [{ name: "test", run: ["npm", "test"], timeoutMs: 600_000, paths: [] }],
      setup: { run: ["npm", "ci"], paths: ["package.json", "package-lock.json"] },
    });
    await place.says(["check", "add", "test", "--", "make", "test"]);
    await landingSteps(place, "--land", "main", "--yes");
    expect((await landOf(place)).checks).toMatchObject([{ run: ["make", "test"] }]);
  });

  test("where nothing is found, it says how to add a check", async () => {
    const place = await repository();
    const out = await place.says(["init", "--land", "main", "--yes"]);
    expect(out).toMatch(/\nwarning: without checks, landing only merges\n/);
    expect(out).toMatch(/skipped +checks +to add one: dibs check add <name> -- <command>\n/);
  });

  test("with a remote, no machine is stored, and the branch is the remote's", async () => {
    const place = await repository();
    const remote = join(place.home, "origin.git");
    execFileSync("git", ["init", "--quiet", "--bare", remote]);
    place.git("remote", "add", "origin", remote);
    place.git("push", "--quiet", "origin", "main:trunk");
    await place.says(["init", "--yes"]);
    await place.says(["project", "set", "land.remote", "origin"]);
    const refused = await place.dibs(["init", "--land", "main"]);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(/no branch main on origin of .*\nRun: git push origin main\n/),
    ]);
    await place.says(["init", "--land", "trunk"]);
    expect(await landOf(place)).toMatchObject({ target: "trunk", remote: "origin" });
  });

  test("the target changes, unless something is submitted; then nothing changes", async () => {
    const place = await repository();
    await place.says(["init", "--land", "main", "--no-agents"]);
    place.git("branch", "dev");
    await place.add({ prompt: "One" });
    await place.says(["claim", "0001", "--session", "a"]);
    await place.says(["submit", "0001", "--session", "a"]);
    const refused = await place.dibs(["init", "--land", "dev"]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("dibs list -s submitted")]);
    expect(existsSync(at(place, "AGENTS.md"))).toBe(false);
    await place.says(["withdraw", "0001"]);
    expect(await landingSteps(place, "--land", "dev")).toMatchObject([{ did: "changed", path: "dev" }, {}]);
    expect((await landOf(place)).target).toBe("dev");
  });

  const refusals: [why: string, make: (place: Place) => void, branch: string, text: string][] = [
    ["an empty repository", () => undefined, "main", 'Run: git commit --allow-empty -m "First commit"'],
    ["a missing branch", begin, "dev", "Run: dibs init --land main, or: git branch dev"],
    ["no branch at all", begin, "", "--land needs a branch."],
    ["a tag", (place) => begin(place) && place.git("tag", "v1"), "v1", "Branch v1 not found"],
    [
      "an old git",
      (place) => {
        begin(place);
        const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
        place.program(
          "git",
          `case "$*" in *--version) echo git version 2.30.2;; *) exec ${real} "$@";; esac`,
        );
      },
      "main",
      "Landing needs git 2.38 or newer",
    ],
  ];

  test.each(refusals)("refuses %s, and creates nothing", async (_why, make, branch, text) => {
    const place = await openPlace();
    make(place);
    const { code, err } = await place.dibs(["init", "--land", branch, "--yes"]);
    expect([code, err]).toEqual([2, expect.stringContaining(text)]);
    expect(existsSync(at(place, ".dibs"))).toBe(false);
    expect(existsSync(at(place, "AGENTS.md"))).toBe(false);
  });

  test("refuses a directory without a repository, a shallow clone, and another repository", async () => {
    const place = await repository();
    place.git("commit", "--quiet", "--allow-empty", "--message=More");
    const plain = join(place.home, "plain");
    mkdirSync(plain);
    const env = { GIT_CEILING_DIRECTORIES: place.home };
    const without = await place.dibs(["init", "--land", "main"], { cwd: plain, env });
    expect(without.err).toBe("dibs: Landing needs a git repository. (VALIDATION_FAILED)\nRun: git init\n");
    expect(existsSync(join(plain, ".dibs"))).toBe(false);
    const shallow = join(place.home, "shallow");
    place.git("clone", "--quiet", "--depth=1", `file://${place.cwd}`, shallow);
    const cut = await place.dibs(["init", "--land", "main"], { cwd: shallow });
    expect(cut.err).toContain("Run: git fetch --unshallow");
    expect(existsSync(join(shallow, ".dibs"))).toBe(false);
    await place.says(["init", "--land", "main"]);
    const other = await repository({ "other.txt": "other" });
    const db = ["--db", databaseFor(place.cwd)];
    const strange = await place.dibs(["init", "--land", "main", ...db], { cwd: other.cwd });
    expect([strange.code, strange.err]).toEqual([1, expect.stringContaining("is not the repository")]);
  });
});

function begin(place: Place): string {
  return place.git("commit", "--quiet", "--allow-empty", "--message=Begin") || "begun";
}

describe("at a terminal", () => {
  test("init asks; the default is no, and no question comes where landing cannot work or is on", async () => {
    const place = await repository({ Makefile: "test:\n\ttrue\n" });
    const no = type(place, ["init", "--no-agents"]);
    await no.shows("Land finished work on main? [y/N]");
    expect(existsSync(at(place, ".dibs"))).toBe(false);
    no.press(keys.enter);
    expect([await no.ended, no.allText]).toEqual([0, expect.not.stringContaining("dibs land")]);
    expect((await landOf(place)).target).toBe(null);
    const yes = type(place, ["init", "--no-agents"]);
    await yes.shows("Land finished work on main? [y/N]");
    yes.press(`y${keys.enter}`);
    await yes.shows("Run make test before a change lands? [Y/n]");
    yes.press(keys.enter);
    expect([await yes.ended, yes.allText]).toEqual([0, expect.stringMatching(/set +check test +make test/)]);
    expect(await landOf(place)).toMatchObject({ target: "main", checks: [{ run: ["make", "test"] }] });
    const again = type(place, ["init", "--no-agents"]);
    expect([await again.ended, again.allText]).toEqual([0, expect.not.stringContaining("?")]);
    const empty = type(await openPlace(), ["init", "--no-agents"]);
    expect([await empty.ended, empty.allText]).toEqual([0, expect.not.stringContaining("Land finished")]);
  });
});

async function storeOf(place: Place) {
  const dibs = await openDibs({ path: databaseFor(place.cwd) });
  afterwards(() => dibs.close());
  return dibs;
}

describe("show", () => {
  test("has the submission of a task, from its checks to its end", async () => {
    const place = await repository();
    await place.says(["init", "--land", "main", "--no-agents"]);
    const dibs = await storeOf(place);
    const { repository: first } = await landOf(place);
    const on = { repository: first, target: "main" };
    const commit = place.git("rev-parse", "HEAD");
    const base = "b".repeat(40);
    const submit = async (taskId: string, more: object) => {
      await dibs.tasks.claim({ taskId, sessionId: "a", register: true });
      const result = { output: "", filesCreated: [], filesModified: [] };
      await dibs.tasks.submit({ taskId, sessionId: "a", result, ...more });
    };
    await place.add({ prompt: "One" }, { prompt: "Two" }, { prompt: "Three" });
    const change = { commit, base, branch: "dibs/0001", summary: "Did it\nwith care" };
    for (const taskId of ["0001", "0002"]) await submit(taskId, change);
    await submit("0003", {});
    const show = (id: string) => place.says(["show", id]);
    expect(await show("0001")).toMatch(
      new RegExp(
        `^submission +1, \\d+s ago by a\\nlanding +waits to land\\ncommit +${commit}\\nbranch +dibs/0001\\nsummary +Did it\\n$`,
        "m",
      ),
    );
    expect(await show("0003")).toMatch(/^commit +none: nothing was changed$/m);
    const { lease } = await dibs.landings.lease({ ...on, holder: "l" });
    const { epoch } = lease;
    expect(await place.says(["explain", "0002"])).toContain(
      "waits to land on main: 2nd in line; ahead: 0001.",
    );
    const tasks = [{ taskId: "0001", submission: 1, commit }];
    const { landing } = await dibs.landings.open({ ...on, epoch, base, tasks });
    const check = { exitCode: 0, durationMs: 3210, tree: base, ranBy: "l", logTail: "" };
    const red = { ...check, name: "lint", state: "failed" as const, exitCode: 2, durationMs: 95_000 };
    await dibs.landings.checks({
      id: landing.id,
      epoch,
      tasks,
      checks: [{ ...check, name: "test", state: "passed" }, red],
    });
    await dibs.landings.held({
      id: landing.id,
      epoch,
      holds: [{ reason: "TARGET_RED", message: "Check test fails on main." }],
    });
    const held = await show("0001");
    expect(held).toMatch(/^landing +held: Check test fails on main\.$/m);
    expect(held).toMatch(/^checks +test passed in 3\.2s\n +lint failed in \S+, exit code 2$/m);
    await dibs.landings.held({ id: landing.id, epoch, holds: [] });
    const detail = Array.from({ length: 30 }, (_, line) => `line ${line}`).join("\n");
    await dibs.landings.returned({
      id: landing.id,
      epoch,
      taskId: "0002",
      submission: 1,
      reason: "check-failed",
      detail,
    });
    const returned = await show("0002");
    expect(returned).toMatch(/^landing +returned \d+s ago: check-failed\ndetail +… 10 lines before/m);
    expect(returned).toMatch(/^ +line 29$/m);
    expect(returned).toMatch(/^returns +1$/m);
    await dibs.landings.intent({ id: landing.id, epoch, commit, tasks });
    expect(await show("0001")).toMatch(/^landing +lands next$/m);
    await dibs.landings.landed({ id: landing.id, epoch });
    expect(await show("0001")).toMatch(
      new RegExp(`^landing +landed as ${commit.slice(0, 12)} on main, \\d+s ago$`, "m"),
    );
    await place.says(["withdraw", "0003"]);
    expect(await show("0003")).toMatch(/^landing +withdrawn \d+s ago/m);
    const { submission, task } = await place.json(["show", "0001"]);
    expect(submission).toEqual((await dibs.tasks.submission({ taskId: "0001" })).submission);
    expect([submission.checks.length, task.landed.commit]).toEqual([2, commit]);
  });

  test("--commit leads from a commit to its task and attempt", async () => {
    const place = await repository();
    await place.says(["init", "--no-agents"]);
    await place.says(["project", "create", "docs"]);
    await place.says(["add", "Write it", "--project", "docs"]);
    const inDocs = (command: string, ...words: string[]) =>
      place.says([command, "0001", ...words, "--project", "docs"]);
    await inDocs("claim", "--session", "ann", "--start");
    await inDocs("ask", "How long?", "--session", "ann");
    await inDocs("answer", "Two pages");
    await inDocs("release", "--session", "ann");
    const again = await inDocs("claim", "--session", "bob", "--start");
    expect(again).toContain('<task-data of="hand-over">\nattempt 1: by ann, released\n');
    expect(again).toContain("question: How long?\na human's answer: Two pages\n");
    const sha = place.git("rev-parse", "HEAD");
    const message = `Write it\n\nDibs-Task: docs/0001#2\nDibs-Submission: ${sha}\n`;
    place.git("commit", "--quiet", "--allow-empty", `--message=${message}`);
    const landed = place.git("rev-parse", "HEAD");
    const out = await place.says(["show", "--commit", landed.slice(0, 8)]);
    expect(out).toMatch(
      new RegExp(
        `^Commit ${landed.slice(0, 12)} is from attempt 2 at task 0001 of project docs\\.\nagent +bob.*\nquestion +How long\\?\nanswer +Two pages\n\n0001  Write it\n`,
      ),
    );
    expect(await place.json(["show", "--commit", "HEAD"])).toMatchObject({
      commit: landed,
      project: "docs",
      taskId: "0001",
      attempt: 2,
      madeBy: { sessionId: "bob" },
      questions: [{ question: "How long?", answer: "Two pages" }],
      submitted: sha,
      task: { id: "0001", project: "docs" },
    });
    const plain = join(place.home, "plain");
    mkdirSync(plain);
    const outside = { cwd: plain, env: { GIT_CEILING_DIRECTORIES: place.home } };
    const wrong: [string[], number, string, object?][] = [
      [["--commit", "HEAD~1"], 3, "has no trailer Dibs-Task"],
      [["--commit", "f".repeat(40)], 3, "not found in this repository"],
      [["--commit=--all"], 3, "not found in this repository"],
      [["0001", "--commit", "HEAD"], 2, "--commit cannot be combined with a task id"],
      [["--log", "--commit", "HEAD"], 2, "--commit cannot be combined with --log"],
      [["--commit", "HEAD"], 2, "is not in a git repository", outside],
    ];
    for (const [words, code, text, calling] of wrong) {
      const ended = await place.dibs(["show", ...words], calling);
      expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(text)]);
    }
  });
});
