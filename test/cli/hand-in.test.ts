// What `dibs done`, `dibs submit` and MCP hand in from the directory they run in, with the built program.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hostId } from "../../src/runtime/liveness.js";
import { connectAgent } from "../mcp/support.js";
import { afterwards } from "../support.js";
import { type Place, placeWithStore, sh } from "./run-place.js";

/** A landing project, with one task that an agent holds. */
async function openRepository({ agent = "ag", land = true } = {}): Promise<Place> {
  const place = await placeWithStore();
  write(place, { "file.txt": "one\n" });
  commit(place, "first");
  if (land) await place.says(["init", "--land", "main", "--yes", "--no-agents"]);
  await place.add({ title: "One", prompt: "x" });
  await place.says(["claim", "0001", "--start", "--session", agent]);
  return place;
}

function write(place: Place, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place.cwd, name), text);
}

function commit(place: Place, message = "work"): string {
  place.git("add", "--all", "--", ".", ":(exclude).dibs");
  place.git("commit", "--quiet", "-m", message);
  return place.git("rev-parse", "HEAD");
}

const by = ["--session", "ag"];
const submissionOf = async (place: Place) => (await place.json(["show", "0001"])).submission;
const refOf = (project: string) => `refs/dibs/submissions/${project}/0001/1`;

describe.each(["done", "submit"])("dibs %s in a checkout of the project's repository", (word) => {
  test("hands in HEAD with its base, branch and host, and the change lands", async () => {
    const place = await openRepository();
    const base = place.git("rev-parse", "main");
    place.git("switch", "--quiet", "-c", "feature");
    write(place, { "new.txt": "new\n" });
    const sha = commit(place);
    expect(await place.says([word, "0001", "did it", ...by])).toContain(`commit ${sha.slice(0, 12)}`);
    expect(await submissionOf(place)).toMatchObject({ commit: sha, base, branch: "feature", host: hostId });
    const { project } = await place.task("0001");
    expect(place.git("rev-parse", refOf(project))).toBe(sha);
    await place.says(["land", "--once"]);
    expect(place.git("show", "main:new.txt")).toBe("new");
    expect(await place.task("0001")).toMatchObject({ state: "completed", noChange: false });
    // Repeated, it answers as before.
    expect(await place.says([word, "0001", "did it", ...by])).toContain("0001");
  });

  test("hands in nothing where something is not committed, and names what to run", async () => {
    const place = await openRepository();
    place.git("switch", "--quiet", "-c", "feature");
    write(place, { "new.txt": "new\n" });
    const sha = commit(place);
    write(place, { "file.txt": "two\n", "forgotten.txt": "new\n" });
    const { code, err } = await place.dibs([word, "0001", ...by]);
    expect([code, err]).toEqual([1, expect.stringContaining("file.txt, forgotten.txt")]);
    expect(err).toContain("git commit, then the command again");
    expect(await place.task("0001")).toMatchObject({ state: "running", submission: null });
    expect(place.git("for-each-ref", "refs/dibs/submissions")).toBe("");
    await place.says(["submit", "0001", "--commit", "HEAD", ...by]);
    expect((await submissionOf(place)).commit).toBe(sha);
  });

  test("without anything that the target does not have, the submission is empty", async () => {
    const place = await openRepository();
    expect(await place.says([word, "0001", ...by])).toContain("(no change)");
    expect(await submissionOf(place)).toMatchObject({ commit: null });
    await place.says(["land", "--once"]);
    expect(await place.task("0001")).toMatchObject({ state: "completed", noChange: true });
  });

  test("of another repository, or of none, hands in nothing and says so", async () => {
    const place = await openRepository();
    const other = join(place.home, "other");
    mkdirSync(other);
    execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: other });
    execFileSync("git", ["commit", "--quiet", "--allow-empty", "-m", "theirs"], {
      cwd: other,
      env: place.env,
    });
    const env = {
      DIBS_DATABASE_URL: join(place.cwd, ".dibs/dibs.db"),
      DIBS_PROJECT: (await place.task("0001")).project,
    };
    const named = await place.dibs(["submit", "0001", "--commit", "HEAD", ...by], { cwd: other, env });
    expect([named.code, named.err]).toEqual([1, expect.stringContaining("is not the repository")]);
    expect(await place.says([word, "0001", ...by], { cwd: other, env })).toContain(
      "no change: this is not the project's repository",
    );
    expect(await submissionOf(place)).toMatchObject({ commit: null });
  });
});

test("with a remote, submit pushes what it hands in first; a push that fails hands in nothing", async () => {
  const place = await openRepository();
  const remote = join(place.home, "origin.git");
  execFileSync("git", ["clone", "--quiet", "--bare", place.cwd, remote]);
  place.git("remote", "add", "origin", remote);
  await place.says(["project", "set", "land.remote", "origin"]);
  write(place, { "new.txt": "new\n" });
  const sha = commit(place);
  const hook = join(remote, "hooks/pre-receive");
  writeFileSync(hook, '#!/bin/sh\necho "disk full" >&2\nexit 1\n');
  chmodSync(hook, 0o755);
  const refused = await place.dibs(["submit", "0001", ...by]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("disk full")]);
  expect((await place.task("0001")).state).toBe("running");
  writeFileSync(hook, "#!/bin/sh\nexit 0\n");
  await place.says(["submit", "0001", ...by]);
  const { project } = await place.task("0001");
  const pushed = execFileSync("git", ["-C", remote, "rev-parse", refOf(project)], { encoding: "utf8" });
  expect(pushed.trim()).toBe(sha);
});

test("a lander on another machine refuses what is handed in here", async () => {
  const place = await openRepository();
  const repository = place.git("rev-list", "--max-parents=0", "main");
  const { openDibs } = await import("../../src/compose.js");
  const dibs = await openDibs({ path: join(place.cwd, ".dibs/dibs.db") });
  afterwards(() => dibs.close());
  await dibs.landings.lease({ repository, target: "main", holder: "l", host: "boot/1/elsewhere" });
  place.git("switch", "--quiet", "-c", "feature");
  write(place, { "new.txt": "new\n" });
  commit(place);
  const { code, err } = await place.dibs(["done", "0001", ...by]);
  expect([code, err]).toEqual([1, expect.stringContaining("REMOTE_REQUIRED")]);
});

test("in a runner's attempt, done outside of its worktree hands in nobody else's branch", async () => {
  const place = await openRepository({ agent: "person" });
  await place.says(["done", "0001", "--session", "person"]);
  await place.add({ title: "Two", prompt: "x" });
  place.git("switch", "--quiet", "-c", "feature");
  write(place, { "mine.txt": "a person's\n" });
  commit(place);
  const script = `echo new > new.txt; cd ${place.cwd}; dibs done 2> "$NOTES/said"; echo $? > "$NOTES/code"`;
  await place.dibs(["work", "--once", "--no-land", "--", ...sh(script)]);
  expect(place.note("code").trim()).toBe("1");
  expect(place.note("said")).toContain("Task 0002 has a worktree, and this directory is not in it.");
  const { submission } = await place.task("0002");
  expect(place.git("show", `${submission.commit}:new.txt`)).toBe("new");
  expect(place.git("ls-tree", "--name-only", submission.commit)).not.toContain("mine.txt");
});

describe("MCP complete_task", () => {
  async function agentIn(place: Place, cwd: string, env: Record<string, string> = {}) {
    const db = ["--db", join(place.cwd, ".dibs/dibs.db")];
    const project = (await place.task("0001")).project;
    const agent = await connectAgent(db, { cwd, env: { ...place.env, DIBS_PROJECT: project, ...env } });
    afterwards(() => agent.close());
    return agent;
  }

  test("hands in what is checked out in the directory of its server", async () => {
    const place = await openRepository({ agent: "other" });
    await place.says(["release", "0001", "--session", "other"]);
    const agent = await agentIn(place, place.cwd);
    await agent.do("claim_task", { start: true });
    place.git("switch", "--quiet", "-c", "feature");
    write(place, { "new.txt": "new\n" });
    const refused = await agent.call("complete_task", { task_id: "0001" });
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("new.txt") });
    expect(refused.text).toMatch(/Next: Run: git add --all && git commit/);
    const sha = commit(place);
    const said = await agent.do("complete_task", { task_id: "0001", output: "did it" });
    expect(said).toContain(`Submitted task 0001 with commit ${sha.slice(0, 12)}`);
    expect(await submissionOf(place)).toMatchObject({ commit: sha, branch: "feature", summary: "did it" });
  });

  test("in a runner's worktree hands in what is there", async () => {
    const place = await openRepository({ agent: "person" });
    await place.says(["done", "0001", "--session", "person"]);
    await place.add({ title: "Two", prompt: "x" });
    const script = `echo new > new.txt; env | grep ^DIBS_ > "$NOTES/env"; pwd > "$NOTES/cwd"; while ! [ -e "$NOTES/go" ]; do sleep 0.05; done`;
    const runner = place.begin(["work", "--once", "--no-land", "--", ...sh(script)]);
    const cwd = await place.noted("cwd");
    const env = Object.fromEntries(
      place
        .note("env")
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
    const agent = await agentIn(place, cwd, env);
    const said = await agent.do("complete_task", { task_id: "0002", output: "did it" });
    place.leave("go");
    await runner.ended;
    const { state, submission } = await place.task("0002");
    expect([state, place.git("show", `${submission.commit}:new.txt`)]).toEqual(["submitted", "new"]);
    expect(said).toContain(submission.commit.slice(0, 12));
    expect(runner.out).toContain("0002 reported");
  });
});

describe("worktree.copy", () => {
  test("with a file that git does not ignore is refused when it is set", async () => {
    const place = await openRepository({ land: false });
    write(place, { ".env": "X=1\n" });
    const set = (value: string) => place.dibs(["project", "set", "worktree.copy", value]);
    for (const value of ['[".env"]', '["not-there.txt"]', '["*.env", "*env"]']) {
      const { code, err } = await set(value);
      expect([value, code, err]).toEqual([value, 2, expect.stringContaining("which git does not ignore")]);
    }
    const created = await place.dibs(["project", "create", "docs", 'worktree.copy=[".env"]']);
    expect([created.code, created.err]).toEqual([2, expect.stringContaining(".env")]);
    write(place, { ".gitignore": ".env\nsecrets/\n" });
    expect((await set('[".env", "secrets/key.pem", "file.txt"]')).code).toBe(0);
    // What was set before is looked at when landing is turned on.
    write(place, { ".gitignore": "secrets/\n" });
    const turned = await place.dibs(["init", "--land", "main", "--yes", "--no-agents"]);
    expect([turned.code, turned.err]).toEqual([2, expect.stringContaining(".env")]);
    expect((await set("[]")).code).toBe(0);
  });

  test("takes a bare path, or several with commas; a command says how it is written", async () => {
    const place = await openRepository({ land: false });
    write(place, { ".gitignore": ".env*\n" });
    const set = (name: string, value: string) => place.dibs(["project", "set", name, value]);
    expect(await set("worktree.copy", ".env,.env.local")).toMatchObject({
      err: "",
      out: expect.stringContaining(".env, .env.local"),
    });
    expect((await set("worktree.copy", ".env{,.local}")).out).toContain(".env{,.local}");
    const { settings } = JSON.parse(
      (await place.dibs(["project", "set", "land.reviewPaths", "a.txt,*.{js,ts}", "--json"])).out,
    ).project;
    expect(settings.land.reviewPaths).toEqual(["a.txt", "*.{js,ts}"]);
    expect((await set("worktree.copy", "")).out).toContain("not set");
    const { code, err } = await set("worktree.setup", "npm ci");
    expect(code).toBe(2);
    expect(err).toContain(`Run: dibs project set worktree.setup '["npm", "ci"]'`);
  });
});

describe("work --until-empty", () => {
  test("exits with 1 and lists what only people can move, whoever worked on it", async () => {
    const place = await openRepository();
    await place.says(["project", "set", "land.returnsMax", "1"]);
    write(place, { "new.txt": "mine, and not committed\n" });
    const nothing = ["work", "--until-empty", "--", "true"];
    await place.says(["release", "0001", ...by]);
    await place.dibs(["work", "--once", "--no-land", "--", ...sh("echo new > new.txt")]);
    const held = await place.dibs(nothing);
    expect(held.code).toBe(1);
    expect(held.out).toMatch(
      /1 task waits for people or for a lander:\n {2}0001 {2}Its landing is held: .*new\.txt/,
    );
    const { out } = await place.dibs(["work", "--until-empty", "--json", "--", "true"]);
    expect(JSON.parse(out).left).toMatchObject([{ taskId: "0001", state: "submitted" }]);
    // Returned once too often, the task waits for an answer.
    execFileSync("rm", [join(place.cwd, "new.txt")]);
    await place.says(["check", "add", "no", "--", ...sh("! [ -e new.txt ]")]);
    await place.dibs(["land", "--once"]);
    await place.dibs(["work", "--once", "--no-land", "--", "true"]);
    await place.dibs(["land", "--once"]);
    expect((await place.task("0001")).state).toBe("awaiting_response");
    const asked = await place.dibs(nothing);
    expect([asked.code, asked.out]).toEqual([1, expect.stringMatching(/0001 {2}It waits for an answer/)]);
    await place.says(["answer", "0001", "cancel"]);
    expect(await place.dibs(nothing)).toMatchObject({ code: 0 });
  });

  test("lands what an earlier lander held, once the reason is gone", async () => {
    const place = await openRepository();
    await place.says(["release", "0001", ...by]);
    await place.says(["check", "add", "no", "--", "false"]);
    await place.dibs(["work", "--once", "--no-land", "--", ...sh("echo new > new.txt")]);
    expect((await place.dibs(["work", "--until-empty", "--", "true"])).out).toContain("Its landing is held");
    await place.says(["check", "remove", "no"]);
    expect(await place.dibs(["work", "--until-empty", "--", "true"])).toMatchObject({ code: 0 });
    expect(place.git("show", "main:new.txt")).toBe("new");
  });

  test("ends in a paused project, although a lander is alive", async () => {
    const place = await openRepository();
    await place.says(["release", "0001", ...by]);
    await place.dibs(["work", "--once", "--no-land", "--", ...sh("echo new > new.txt")]);
    await place.says(["project", "pause"]);
    const { code, out } = await place.dibs(["work", "--until-empty", "--", "true"]);
    expect([code, out]).toEqual([1, expect.stringContaining("0001")]);
    await place.says(["project", "resume"]);
    expect(await place.dibs(["work", "--until-empty", "--", "true"])).toMatchObject({ code: 0 });
    expect(place.git("show", "main:new.txt")).toBe("new");
  });
});
