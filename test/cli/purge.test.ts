// `dibs init --remove` says what it leaves, and `--purge` removes that too: through the built program, in real repositories.

import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keys, type } from "./pty.js";
import { openPlace, type Place, sh } from "./run-place.js";

const at = (place: Place, name: string) => join(place.cwd, name);
const purge = ["init", "--remove", "--purge"];

/** Three tasks that failed in worktrees: the first left nothing, the second a commit, the third a file. */
async function used(): Promise<Place> {
  const place = await openPlace();
  place.git("commit", "--quiet", "--allow-empty", "-m", "first");
  await place.says(["init", "--yes"]);
  await place.add(...["One", "Two", "Three"].map((title) => ({ title, prompt: "x", maxRetries: 0 })));
  const script = `
    case $DIBS_TASK in
      0002) echo two > two.txt; git add .; git commit --quiet -m two ;;
      0003) echo three > three.txt ;;
    esac; echo '{"error": "no"}' > $DIBS_RESULT_FILE`;
  await place.says(["work", "--worktree", "--until-idle", "-q", "--", ...sh(script)]);
  expect(readdirSync(at(place, ".dibs/worktrees")).sort()).toEqual([".gitignore", "0001", "0002", "0003"]);
  return place;
}

/** So that nothing would be lost. */
function merge(place: Place): void {
  place.git("merge", "--quiet", "--no-edit", "dibs/0002");
  rmSync(at(place, ".dibs/worktrees/0003/three.txt"));
}

function expectNothingLeft(place: Place): void {
  expect(existsSync(at(place, ".dibs"))).toBe(false);
  expect(existsSync(at(place, "AGENTS.md"))).toBe(false);
  expect(place.git("branch", "--format=%(refname:short)")).toBe("main");
  expect(place.git("worktree", "list").split("\n")).toHaveLength(1);
  expect(place.git("config", "--local", "--list")).not.toMatch(/dibs|worktreeconfig/i);
}

test("--remove prints what it leaves and how to remove it, and leaves it", async () => {
  const place = await used();
  const out = await place.says(["init", "--remove"]);
  expect(out).toMatch(/removed +AGENTS\.md/);
  for (const kept of [
    ".dibs/dibs.db",
    ".dibs/config.json",
    ".dibs/.gitignore",
    ".dibs/worktrees/0001",
    "dibs/0003",
    "branch.dibs/0002",
  ]) {
    expect(out).toMatch(new RegExp(`kept +${kept.replaceAll(".", "\\.")} `));
  }
  expect(out).toContain("To remove the rest: dibs init --remove --purge\n");
  expect((await place.json(["list"])).tasks).toHaveLength(3);
  expect(place.git("branch", "--list", "dibs/*").split("\n")).toHaveLength(3);
});

test("--purge refuses to lose work, naming each piece of it, and with --force removes it too", async () => {
  const place = await used();
  const { code, err } = await place.dibs([...purge, "--yes"]);
  expect(code).toBe(1);
  expect(err).toContain(
    `Worktree ${at(place, ".dibs/worktrees/0003")}: it has changes that are not committed.`,
  );
  expect(err).toContain("Branch dibs/0002: 1 commit is on no other branch.");
  expect(err).not.toContain("0001");
  expect(err).toContain("dibs init --remove --purge --force");
  expect(existsSync(at(place, ".dibs/worktrees/0001"))).toBe(true);
  expect(existsSync(at(place, "AGENTS.md"))).toBe(true);

  await place.says([...purge, "--yes", "--force"]);
  expectNothingLeft(place);
  // It can be set up again.
  await place.says(["init", "--yes"]);
  expect((await place.json(["add", "Again"])).task.id).toBe("0001");
});

test("--purge removes what is merged; a commit without a branch counts as work", async () => {
  const place = await used();
  merge(place);
  const worktree = at(place, ".dibs/worktrees/0001");
  place.tryGit(worktree, ["checkout", "--quiet", "--detach"]);
  place.tryGit(worktree, ["commit", "--quiet", "--allow-empty", "-m", "loose"]);
  const { err } = await place.dibs([...purge, "--yes"]);
  expect(err).toContain(`Worktree ${worktree}: 1 commit is on no branch.`);
  place.tryGit(worktree, ["branch", "kept"]);
  const { steps } = await place.json([...purge, "--yes"]);
  expect(steps).toContainEqual({ what: "worktree", did: "removed", path: worktree });
  expect(steps).toContainEqual({ what: "branch", did: "removed", path: "dibs/0002" });
  expect(place.git("branch", "--format=%(refname:short)")).toBe("kept\nmain");
  place.git("branch", "-D", "kept");
  expectNothingLeft(place);
  expect(place.git("show", "HEAD:two.txt")).toBe("two");
});

test("work on a branch of another task that is purged, too, would be lost", async () => {
  const place = await used();
  merge(place);
  place.tryGit(at(place, ".dibs/worktrees/0001"), ["commit", "--quiet", "--allow-empty", "-m", "shared"]);
  place.tryGit(at(place, ".dibs/worktrees/0003"), ["reset", "--quiet", "--hard", "dibs/0001"]);
  const { err } = await place.dibs([...purge, "--yes"]);
  expect(err).toContain("Branch dibs/0001: 1 commit is on no other branch.");
  expect(err).toContain("Branch dibs/0003: 1 commit is on no other branch.");
});

test("--purge asks at a terminal; without one it needs --yes", async () => {
  const place = await used();
  merge(place);
  const refused = await place.dibs(purge);
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining("Run: dibs init --remove --purge --yes"),
  ]);
  const no = type(place, purge);
  await no.shows(/\.dibs\/worktrees\/0001[\s\S]*\.dibs\/dibs\.db [\s\S]*Remove all of this\? \[y\/N\]/);
  no.press(keys.enter);
  expect([await no.ended, no.allText]).toEqual([0, expect.stringContaining("Nothing was removed.")]);
  expect(existsSync(at(place, "AGENTS.md"))).toBe(true);
  const yes = type(place, purge);
  await yes.shows("[y/N]");
  yes.press(`y${keys.enter}`);
  expect(await yes.ended).toBe(0);
  expectNothingLeft(place);
});

test("--purge is refused while a server runs or a task is claimed, with the command to run", async () => {
  const place = await openPlace();
  place.git("commit", "--quiet", "--allow-empty", "-m", "first");
  await place.says(["init", "--yes"]);
  await place.says(["add", "One"]);
  await place.says(["claim", "0001", "--session", "a"]);
  const server = place.begin(["serve", "--port", "0", "--log-level", "silent"]);
  await server.says("listening on");
  const all = [...purge, "--yes", "--force"];
  const served = await place.dibs(all);
  expect(served.code).toBe(1);
  expect(served.err).toContain(`Run: kill ${server.pid}`);
  server.signal("SIGTERM");
  await server.ended;
  const claimed = await place.dibs(all);
  expect(claimed.code).toBe(1);
  expect(claimed.err).toContain("Tasks are claimed: shop/0001.");
  const [, run = ""] = /Run: dibs (.*)/.exec(claimed.err) ?? [];
  await place.says(run.split(" "));
  await place.says([...purge, "--yes"]);
  expectNothingLeft(place);
});

test("--purge leaves what is not Dibs' own, and follows no link", async () => {
  const place = await used();
  merge(place);
  place.git("branch", "dibs/by-hand");
  const outside = join(place.home, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "precious"), "");
  writeFileSync(at(place, ".dibs/notes.txt"), "mine");
  symlinkSync(outside, at(place, ".dibs/worktrees/link"));
  symlinkSync(join(outside, "precious"), at(place, ".dibs/dibs.db.token"));
  place.git("worktree", "add", "--quiet", at(place, ".dibs/worktrees/mine"), "dibs/by-hand");
  const out = await place.says([...purge, "--yes"]);
  for (const kept of [
    ".dibs/notes.txt",
    ".dibs/dibs.db.token",
    ".dibs/worktrees/link",
    ".dibs/worktrees/mine",
  ])
    expect(out).toMatch(new RegExp(`kept +${kept.replaceAll(".", "\\.")} +not part of this store`));
  expect(readdirSync(outside)).toEqual(["precious"]);
  expect(place.git("branch", "--format=%(refname:short)")).toBe("dibs/by-hand\nmain");
  expect(readdirSync(at(place, ".dibs")).sort()).toEqual(["dibs.db.token", "notes.txt", "worktrees"]);

  rmSync(at(place, ".dibs"), { recursive: true });
  symlinkSync(outside, at(place, ".dibs"));
  writeFileSync(join(outside, "config.json"), "{}");
  const { code, err } = await place.dibs([...purge, "--yes", "--force"]);
  expect([code, err]).toEqual([4, expect.stringContaining("is a symbolic link")]);
  expect(readdirSync(outside).sort()).toEqual(["config.json", "precious"]);
});

test("--purge is refused from a worktree of a task, and while its branch is checked out elsewhere", async () => {
  const place = await used();
  merge(place);
  const inside = await place.dibs([...purge, "--yes"], { cwd: at(place, ".dibs/worktrees/0001") });
  expect([inside.code, inside.err]).toEqual([1, expect.stringContaining(`Run: cd ${place.cwd}`)]);
  place.git("worktree", "remove", ".dibs/worktrees/0001");
  place.git("switch", "--quiet", "dibs/0001");
  const elsewhere = await place.dibs([...purge, "--yes", "--force"]);
  expect(elsewhere.code).toBe(1);
  expect(elsewhere.err).toContain(`Branch dibs/0001 is checked out in ${place.cwd}.`);
  place.git("switch", "--quiet", "main");
  await place.says([...purge, "--yes"]);
  expectNothingLeft(place);
});

test("a purge that is killed before any of its git commands is completed by the next one", async () => {
  const real = process.env
    .PATH!.split(":")
    .map((directory) => join(directory, "git"))
    .find((file) => existsSync(file));
  // Kills the program at the command of git that changes something for the n-th time.
  const killer = `
    case "$*" in
      *"worktree remove"* | *"--unset"* | *update-ref* | *remove-section*)
        echo x >> "$NOTES/count"
        if [ "$(wc -l < "$NOTES/count")" -eq "$KILL_AT" ]; then kill -9 $PPID; exit 1; fi ;;
    esac
    exec ${real} "$@"`;
  for (const killAt of [2, 4, 6, 9]) {
    const place = await used();
    merge(place);
    place.program("git", killer);
    const killed = await place.dibs([...purge, "--yes"], { env: { KILL_AT: String(killAt) } });
    expect(killed.code, `killed at ${killAt}`).toBe(null);
    await place.says([...purge, "--yes"], { env: { KILL_AT: "0" } });
    rmSync(join(place.programs, "git"));
    expectNothingLeft(place);
  }
});

test("a worktree directory that was deleted by hand, and a store without its database, are no obstacle", async () => {
  const place = await used();
  merge(place);
  rmSync(at(place, ".dibs/worktrees/0001"), { recursive: true });
  rmSync(at(place, ".dibs/dibs.db"));
  // Nor is a branch without a commit in the main working tree.
  place.git("switch", "--quiet", "--orphan", "empty");
  await place.says([...purge, "--yes"]);
  place.git("switch", "--quiet", "main");
  expectNothingLeft(place);
});

test("--purge without --remove, with --agent or with --db is a usage error", async () => {
  const place = await openPlace();
  for (const args of [
    ["init", "--purge"],
    ["init", "--remove", "--force"],
    [...purge, "--agent", "claude"],
    [...purge, "--db", "other.db"],
  ]) {
    expect((await place.dibs([...args, "--yes"])).code, args.join(" ")).toBe(2);
  }
  expect(existsSync(at(place, ".dibs"))).toBe(false);
});
