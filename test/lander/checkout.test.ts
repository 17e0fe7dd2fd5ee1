// The target in somebody's working tree: files move with the branch, and nothing of the person's is changed or lost.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { acceptRewind } from "../../src/lander/index.js";
import { crashBefore, git, newRepository, onceBefore, Stage, tempDir, write } from "./support.js";

test("uncommitted changes hold only the submissions that touch the same path", async () => {
  const stage = await Stage.open({ root: newRepository({ "a.txt": "a\n", "z.txt": "z\n" }) });
  write(stage.root, { "a.txt": "my own words\n" });
  const held = await stage.handIn({ "a.txt": "an agent's words\n" });
  const other = await stage.handIn({ "b.txt": "b\n" });
  const end = await stage.land();
  expect(end).toMatchObject({
    landed: 1,
    held: [{ reason: "CHECKOUT_DIRTY", message: expect.stringContaining("a.txt") }],
  });
  expect(await stage.stateOf(other)).toBe("completed");
  expect(await stage.submission(held)).toMatchObject({ stage: "held" });
  expect(stage.read("a.txt")).toBe("my own words\n");
  expect(stage.read("b.txt")).toBe("b\n");
  git(stage.root, "checkout", "--", "a.txt");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(stage.read("a.txt")).toBe("an agent's words\n");
});

test("an untracked file in the way, and one that git ignores, are kept", async () => {
  const stage = await Stage.open({ root: newRepository({ "a.txt": "a\n", ".gitignore": "*.log\n" }) });
  write(stage.root, { "notes.md": "mine\n", "build.log": "mine too\n", plans: "a file, not a directory\n" });
  await stage.handIn({ "notes.md": "theirs\n" });
  await stage.handIn({ "plans/one.md": "theirs\n" });
  const { taskId } = await stage.handIn({ "c.txt": "c\n" });
  expect(await stage.land()).toMatchObject({
    landed: 1,
    held: [{ reason: "CHECKOUT_DIRTY" }, { reason: "CHECKOUT_DIRTY" }],
  });
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect([stage.read("notes.md"), stage.read("build.log"), stage.read("plans")]).toEqual([
    "mine\n",
    "mine too\n",
    "a file, not a directory\n",
  ]);
});

test("an ignored file that a submission adds by force is not overwritten", async () => {
  const stage = await Stage.open({ root: newRepository({ ".gitignore": ".env\n" }) });
  write(stage.root, { ".env": "SECRET=mine\n" });
  const path = join(tempDir(), "work");
  git(stage.root, "worktree", "add", "--quiet", "-b", "sneaky", path);
  write(path, { ".env": "SECRET=theirs\n" });
  git(path, "add", "--force", ".env");
  git(path, "commit", "--quiet", "-m", "env");
  const { task } = await stage.dibs.tasks.create({ prompt: "x" });
  await stage.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
  const commit = git(path, "rev-parse", "HEAD");
  await stage.dibs.tasks.submit({
    taskId: task.id,
    sessionId: "agent",
    commit,
    result: { output: "" },
  } as never);
  expect(await stage.land()).toMatchObject({ landed: 0, held: [{ reason: "CHECKOUT_DIRTY" }] });
  expect(stage.read(".env")).toBe("SECRET=mine\n");
});

test("an ignored file that appears as the landing moves is not overwritten", async () => {
  const stage = await Stage.open({ root: newRepository({ ".gitignore": ".env\n" }) });
  const path = join(tempDir(), "work");
  git(stage.root, "worktree", "add", "--quiet", "-b", "sneaky", path);
  write(path, { ".env": "SECRET=theirs\n" });
  git(path, "add", "--force", ".env");
  git(path, "commit", "--quiet", "-m", "env");
  const taskId = await stage.submitCommit(git(path, "rev-parse", "HEAD"));
  const before = stage.tip;
  const created = onceBefore("merge into checkout", () => write(stage.root, { ".env": "SECRET=mine\n" }));
  const end = await stage.land(created);
  expect(end).toMatchObject({ landed: 0, held: [{ message: expect.stringContaining(".env") }] });
  expect(stage.read(".env")).toBe("SECRET=mine\n");
  expect([stage.tip, await stage.stateOf({ taskId })]).toEqual([before, "submitted"]);
  rmSync(join(stage.root, ".env"));
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(stage.read(".env")).toBe("SECRET=theirs\n");
});

test.each([
  ["being merged", "MERGE_HEAD", "A merge"],
  ["being reverted", "REVERT_HEAD", "A revert"],
])("a target that is %s holds everything, and names the place", async (_, file, what) => {
  const stage = await Stage.open();
  await stage.handIn({ "b.txt": "b\n" });
  writeFileSync(join(stage.root, ".git", file), `${stage.tip}\n`);
  const end = await stage.land();
  expect(end.held).toMatchObject([{ reason: "TARGET_IN_USE", message: expect.stringContaining(what) }]);
  expect(end.held[0]!.message).toContain(stage.root);
  rmSync(join(stage.root, ".git", file));
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});

test("a target that is being bisected, or onto which a commit is being picked, holds everything", async () => {
  const stage = await Stage.open();
  const start = stage.tip;
  for (const n of [1, 2, 3, 4]) git(stage.root, "commit", "--quiet", "--allow-empty", "-m", `${n}`);
  const one = await stage.handIn({ "b.txt": "b\n" });
  git(stage.root, "bisect", "start", "main", start);
  expect((await stage.land()).held).toMatchObject([
    { reason: "TARGET_IN_USE", message: expect.stringContaining("A bisection of main") },
  ]);
  git(stage.root, "bisect", "reset");
  const other = stage.commitOn("side", { "a.txt": "other\n" }, start);
  write(stage.root, { "a.txt": "mine\n" });
  git(stage.root, "commit", "--quiet", "-am", "mine");
  expect(() => git(stage.root, "cherry-pick", other)).toThrow();
  expect((await stage.land()).held).toMatchObject([
    { reason: "TARGET_IN_USE", message: expect.stringContaining("A cherry-pick of main") },
  ]);
  git(stage.root, "cherry-pick", "--abort");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
});

test("a target that is being rebased, which nobody has checked out then, holds everything", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  write(stage.root, { "a.txt": "mine\n" });
  git(stage.root, "commit", "--quiet", "-am", "mine");
  git(stage.root, "branch", "side", "main^");
  const other = stage.commitOn("side-2", { "a.txt": "other\n" }, "side");
  expect(() => git(stage.root, "rebase", "--quiet", other)).toThrow();
  expect(await stage.land()).toMatchObject({ landed: 0, held: [{ reason: "TARGET_IN_USE" }] });
  git(stage.root, "rebase", "--abort");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
});

test("a lock file that stays holds everything, and is named", async () => {
  const stage = await Stage.open();
  await stage.handIn({ "b.txt": "b\n" });
  const lock = join(stage.root, ".git", "index.lock");
  writeFileSync(lock, "");
  utimesSync(lock, 1_000, 1_000);
  expect((await stage.land()).held).toMatchObject([{ reason: "INDEX_LOCKED", fix: `rm ${lock}` }]);
  rmSync(lock);
  expect(await stage.land()).toMatchObject({ landed: 1 });
});

test("a target that does not exist, and one that was rewound, hold everything", async () => {
  const stage = await Stage.open();
  const first = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  const landed = (await stage.task(first.taskId)).landed!.commit;
  const second = await stage.handIn({ "c.txt": "c\n" });
  git(stage.root, "reset", "--hard", "--quiet", "main^");
  const end = await stage.land();
  expect(end.held).toMatchObject([
    { reason: "TARGET_REWOUND", message: expect.stringContaining(landed.slice(0, 10)) },
  ]);
  expect(await stage.stateOf(second)).toBe("submitted");
  git(stage.root, "switch", "--quiet", "--detach");
  git(stage.root, "branch", "-m", "main", "elsewhere");
  expect((await stage.land()).held).toMatchObject([{ reason: "TARGET_MISSING" }]);
  git(stage.root, "branch", "main", landed);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
});

test("once a person accepts a rewound target, landing goes on, and nothing that landed before lands again", async () => {
  const stage = await Stage.open();
  const first = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  git(stage.root, "reset", "--hard", "--quiet", "main^");
  const second = await stage.handIn({ "c.txt": "c\n" });
  const third = await stage.handIn({ "d.txt": "d\n" });
  const rewound = { reason: "TARGET_REWOUND", fix: "dibs land --accept-rewind" };
  expect(await stage.land()).toMatchObject({ landed: 0, held: [rewound] });
  expect([await stage.stateOf(second), await stage.stateOf(third)]).toEqual(["submitted", "submitted"]);
  await acceptRewind(stage.options());
  expect(await stage.land()).toMatchObject({ landed: 2, returned: 0, held: [] });
  expect(git(stage.root, "log", "--reverse", "--format=%s", "main")).toBe("Start\nTask 2\nTask 3");
  expect([stage.has("main", "b.txt"), stage.read("b.txt")]).toEqual([false, null]);
  expect(await stage.stateOf(first)).toBe("completed");
  // Only that rewind was accepted, not the next one.
  git(stage.root, "reset", "--hard", "--quiet", "main^");
  await stage.handIn({ "e.txt": "e\n" });
  expect(await stage.land()).toMatchObject({ landed: 0, held: [rewound] });
});

test("a missing target is held although nothing is submitted, until it is there", async () => {
  const stage = await Stage.open();
  await stage.dibs.projects.update({
    settings: { land: { target: "nope", repository: git(stage.root, "rev-parse", "main") } },
  } as never);
  expect((await stage.land()).held).toMatchObject([{ reason: "TARGET_MISSING" }]);
  expect(await stage.holds()).toHaveLength(1);
  git(stage.root, "branch", "nope");
  expect((await stage.land()).held).toEqual([]);
  expect(await stage.holds()).toEqual([]);
});

test("a target that is checked out twice holds everything", async () => {
  const stage = await Stage.open();
  await stage.handIn({ "b.txt": "b\n" });
  const second = join(tempDir(), "second");
  git(stage.root, "worktree", "add", "--quiet", "--force", second, "main");
  expect((await stage.land()).held).toMatchObject([{ reason: "TARGET_CHECKED_OUT_TWICE" }]);
  git(second, "switch", "--quiet", "--detach");
  expect(await stage.land()).toMatchObject({ landed: 1 });
});

test("a detached HEAD and another branch keep their files while the target moves", async () => {
  const stage = await Stage.open();
  git(stage.root, "switch", "--quiet", "--detach");
  await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(stage.read("b.txt")).toBeNull();
  expect(stage.on("main", "b.txt")).toBe("b");
});

test("a bare repository lands", async () => {
  const seed = newRepository();
  const bare = join(tempDir(), "bare.git");
  git(seed, "clone", "--quiet", "--bare", seed, bare);
  git(bare, "config", "user.name", "Person");
  git(bare, "config", "user.email", "person@example.com");
  const stage = await Stage.open({ root: bare });
  await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(stage.on("main", "b.txt")).toBe("b");
});

test.each(["move", "merge into checkout"])(
  "a user who switches branches in the middle (before: %s) keeps both branches as they were",
  async (moment) => {
    const stage = await Stage.open();
    git(stage.root, "branch", "other");
    const one = await stage.handIn({ "b.txt": "b\n" });
    const before = stage.tip;
    let hasSwitched = false;
    await stage.land({
      before: (effect) => {
        if (effect !== moment || hasSwitched) return;
        hasSwitched = true;
        git(stage.root, "switch", "--quiet", "other");
      },
    });
    expect(git(stage.root, "rev-parse", "other")).toBe(before);
    expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
    expect(stage.read("b.txt")).toBeNull();
    // It began again, and moved the branch that nobody has checked out now.
    expect(await stage.stateOf(one)).toBe("completed");
    expect(stage.on("main", "b.txt")).toBe("b");
  },
);

test.each(["move", "merge into checkout"])(
  "a user who resets the target in the middle (before: %s) does not get the commit back",
  async (moment) => {
    const stage = await Stage.open();
    write(stage.root, { "mistake.txt": "oops\n" });
    git(stage.root, "add", "-A");
    git(stage.root, "commit", "--quiet", "-m", "a mistake");
    const one = await stage.handIn({ "b.txt": "b\n" }, { from: "main^" });
    let isReset = false;
    await stage.land({
      before: (effect) => {
        if (effect !== moment || isReset) return;
        isReset = true;
        git(stage.root, "reset", "--hard", "--quiet", "main^");
      },
    });
    expect(stage.has("main", "mistake.txt")).toBe(false);
    expect(await stage.stateOf(one)).toBe("completed");
    expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
  },
);

test("a user who commits while git merges does not find the commit undone in the index", async () => {
  const stage = await Stage.open({
    root: newRepository({ ".gitattributes": "slow.txt filter=slow\n", "slow.txt": "s\n", "a.txt": "a\n" }),
  });
  const filter = join(tempDir(), "filter.sh");
  const armed = `${filter}.armed`;
  // Git asks the filter about a file that was touched after it has read the index, and before it locks it.
  const commit = `
    cd ${stage.root} || exit 1
    echo mine > mine.txt && echo mine > a.txt && git rm --quiet slow.txt
    git add mine.txt a.txt && git commit --quiet -m mine`;
  const script = `#!/bin/sh\nif rm ${armed} 2> /dev/null; then env -i PATH="$PATH" HOME="$HOME" sh -c '${commit}' >&2; fi\ncat\n`;
  writeFileSync(filter, script, { mode: 0o755 });
  git(stage.root, "config", "filter.slow.clean", filter);
  const one = await stage.handIn({ "b.txt": "b\n" });
  const committed = onceBefore("merge into checkout", () => {
    utimesSync(join(stage.root, "slow.txt"), 1, 1);
    writeFileSync(armed, "");
  });
  await stage.land(committed);
  expect(git(stage.root, "log", "--format=%s", "main")).toMatch(/^mine$/m);
  expect(git(stage.root, "status", "--porcelain")).toBe("");
  expect([stage.on("main", "mine.txt"), stage.on("main", "a.txt"), stage.has("main", "slow.txt")]).toEqual([
    "mine",
    "mine",
    false,
  ]);
  expect(await stage.stateOf(one)).toBe("completed");
  expect(stage.read("b.txt")).toBe("b\n");
});

test("a hook of the user's own that refuses holds the landing, and leaves nothing staged", async () => {
  const stage = await Stage.open();
  const hook = join(stage.root, ".git", "hooks", "reference-transaction");
  mkdirSync(join(stage.root, ".git", "hooks"), { recursive: true });
  writeFileSync(
    hook,
    '#!/bin/sh\nif [ "$1" = prepared ] && grep -q refs/heads/main; then echo "closed on Sundays" >&2; exit 1; fi\n',
  );
  chmodSync(hook, 0o755);
  const one = await stage.handIn({ "b.txt": "b\n" });
  const end = await stage.land();
  expect(end.held).toMatchObject([
    { reason: "CHECKOUT_REFUSED", message: expect.stringContaining("closed on Sundays") },
  ]);
  expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
  expect(stage.read("b.txt")).toBeNull();
  rmSync(hook);
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(await stage.stateOf(one)).toBe("completed");
});

test("the user's own post-merge hook runs", async () => {
  const stage = await Stage.open();
  const hook = join(stage.root, ".git", "hooks", "post-merge");
  mkdirSync(join(stage.root, ".git", "hooks"), { recursive: true });
  writeFileSync(hook, "#!/bin/sh\ntouch .git/was-here\n");
  chmodSync(hook, 0o755);
  await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(existsSync(join(stage.root, ".git", "was-here"))).toBe(true);
});

test("hooks of the user's own that core.hooksPath names run, and can refuse", async () => {
  const stage = await Stage.open();
  const hook = (name: string, script: string) => {
    write(stage.root, { [`.husky/${name}`]: `#!/bin/sh\n${script}\n` });
    chmodSync(join(stage.root, ".husky", name), 0o755);
  };
  git(stage.root, "config", "core.hooksPath", ".husky");
  hook("post-merge", "touch .git/was-here");
  hook(
    "reference-transaction",
    '[ "$1" != prepared ] || ! grep -q refs/heads/main || { echo "closed on Sundays" >&2; exit 1; }',
  );
  await stage.handIn({ "b.txt": "b\n" });
  const reason = { reason: "CHECKOUT_REFUSED", message: expect.stringContaining("closed on Sundays") };
  expect(await stage.land()).toMatchObject({ landed: 0, held: [reason] });
  expect(existsSync(join(stage.root, ".git/was-here"))).toBe(false);
  rmSync(join(stage.root, ".husky/reference-transaction"));
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(existsSync(join(stage.root, ".git/was-here"))).toBe(true);
  expect(git(stage.root, "config", "core.hooksPath")).toBe(".husky");
});

test("renamed, binary, executable and linked files, and a file in place of a directory, land as they are", async () => {
  const stage = await Stage.open({
    root: newRepository({ "old.txt": "same words\n".repeat(20), "dir/x.txt": "x\n" }),
  });
  const path = join(tempDir(), "work");
  git(stage.root, "worktree", "add", "--quiet", "-b", "kinds", path);
  git(path, "mv", "old.txt", "new.txt");
  git(path, "rm", "--quiet", "-r", "dir");
  writeFileSync(join(path, "dir"), "now a file\n");
  writeFileSync(join(path, "picture.bin"), Buffer.from([0, 255, 1, 254, 0]));
  writeFileSync(join(path, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(path, "run.sh"), 0o755);
  symlinkSync("run.sh", join(path, "link"));
  git(path, "add", "-A");
  git(path, "commit", "--quiet", "-m", "kinds");
  const commit = git(path, "rev-parse", "HEAD");
  const { task } = await stage.dibs.tasks.create({ prompt: "x" });
  await stage.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
  await stage.dibs.tasks.submit({
    taskId: task.id,
    sessionId: "agent",
    commit,
    result: { output: "" },
  } as never);
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(git(stage.root, "rev-parse", "main^{tree}")).toBe(git(stage.root, "rev-parse", `${commit}^{tree}`));
  expect(readFileSync(join(stage.root, "picture.bin"))).toEqual(Buffer.from([0, 255, 1, 254, 0]));
  expect(stage.read("dir")).toBe("now a file\n");
  expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
});

test.each([
  ["", []],
  [
    ", although the user has switched renames off",
    ["merge.renames", "diff.renames", "merge.directoryRenames"],
  ],
])("a file that one task renames and another edits lands with both%s", async (_, off) => {
  const lines = Array.from({ length: 20 }, (_, n) => `line ${n}\n`).join("");
  const stage = await Stage.open({ root: newRepository({ "old.txt": lines }) });
  for (const name of off) git(stage.root, "config", name, "false");
  await stage.handIn({ "old.txt": null, "new.txt": lines });
  await stage.handIn({ "old.txt": lines.replace("line 7", "line seven") });
  expect(await stage.land()).toMatchObject({ landed: 2, returned: 0, held: [] });
  expect([stage.has("main", "old.txt"), stage.read("old.txt")]).toEqual([false, null]);
  expect(stage.read("new.txt")).toBe(lines.replace("line 7", "line seven"));
});

test.each(["true", "false"])(
  "a file added to a directory that another task renames is returned, also with merge.directoryRenames=%s of the user's",
  async (setting) => {
    const files = Array.from({ length: 4 }, (_, n) => [`${n}.txt`, `${`file ${n}\n`.repeat(9)}`] as const);
    const inside = (directory: string) =>
      Object.fromEntries(files.map(([name, text]) => [`${directory}/${name}`, text]));
    const gone = Object.fromEntries(files.map(([name]) => [`old/${name}`, null]));
    const stage = await Stage.open({ root: newRepository(inside("old")) });
    git(stage.root, "config", "merge.directoryRenames", setting);
    await stage.handIn({ ...gone, ...inside("new") });
    const added = await stage.handIn({ "old/added.txt": "added\n" });
    expect(await stage.land()).toMatchObject({ landed: 1, returned: 1, held: [] });
    expect(await stage.submission(added)).toMatchObject({ end: { reason: "conflict" } });
    expect([stage.has("main", "old/added.txt"), stage.has("main", "new/added.txt")]).toEqual([false, false]);
  },
);

test("two tasks that change the same binary file: the first lands, the other is returned as a conflict", async () => {
  const picture = (...bytes: number[]) => Uint8Array.from([0, 255, ...bytes, 0, 10, 1, 254]);
  const stage = await Stage.open({ root: newRepository({ "p.bin": picture(1) }) });
  const one = await stage.handIn({ "p.bin": picture(2) });
  const two = await stage.handIn({ "p.bin": picture(3) });
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 1, held: [] });
  expect([await stage.stateOf(one), await stage.stateOf(two)]).toEqual(["completed", "queued"]);
  expect(await stage.submission(two)).toMatchObject({
    end: { as: "returned", reason: "conflict", detail: expect.stringContaining("p.bin") },
  });
  expect(readFileSync(join(stage.root, "p.bin"))).toEqual(Buffer.from(picture(2)));
});

test("settings and attributes of merges change nothing about what lands", async () => {
  const lines = ["one", "two", "three", "four", "five"].map((line) => `${line}\n`).join("");
  const stage = await Stage.open({
    root: newRepository({ "a.txt": lines, ".gitattributes": "*.txt text eol=crlf\n" }),
  });
  for (const setting of [
    "merge.renormalize=true",
    "merge.conflictStyle=diff3",
    "core.autocrlf=true",
    "merge.autoStash=true",
    "merge.ff=false",
    "branch.main.mergeOptions=--squash --no-commit",
  ]) {
    const [name, value] = setting.split("=");
    git(stage.root, "config", name!, value!);
  }
  await stage.handIn({ "a.txt": lines.replace("one", "ONE") });
  await stage.handIn({ "a.txt": lines.replace("five", "FIVE") });
  expect(await stage.land()).toMatchObject({ landed: 2, returned: 0 });
  expect(stage.on("main", "a.txt")).toBe("ONE\ntwo\nthree\nfour\nFIVE");
  expect(stage.read("a.txt")).toBe(
    lines.replace("one", "ONE").replace("five", "FIVE").replaceAll("\n", "\r\n"),
  );
  expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
});

test("merge drivers and attributes of the user's own change nothing about what lands", async () => {
  const lines = ["one", "two", "three", "four", "five"].map((line) => `${line}\n`).join("");
  const stage = await Stage.open({
    root: newRepository({ "a.txt": lines, "b.md": lines, ".gitattributes": "a.txt merge=mine\n" }),
  });
  const notes = join(tempDir(), "driver-ran");
  git(stage.root, "config", "merge.mine.driver", `touch ${notes}`);
  const attributes = join(tempDir(), "attributes");
  writeFileSync(attributes, "*.md -merge\n");
  git(stage.root, "config", "core.attributesFile", attributes);
  await stage.handIn({ "a.txt": lines.replace("one", "ONE"), "b.md": lines.replace("one", "ONE") });
  await stage.handIn({ "a.txt": lines.replace("five", "FIVE"), "b.md": lines.replace("five", "FIVE") });
  const conflicting = await stage.handIn({ "a.txt": lines.replace("one", "EINS") });
  expect(await stage.land()).toMatchObject({ landed: 2, returned: 1, held: [] });
  for (const file of ["a.txt", "b.md"]) expect(stage.on("main", file)).toBe("ONE\ntwo\nthree\nfour\nFIVE");
  expect(await stage.submission(conflicting)).toMatchObject({ end: { reason: "conflict" } });
  expect(existsSync(notes)).toBe(false);
});

test("a submodule in the repository does not hold landings", async () => {
  const library = newRepository({ "lib.txt": "lib\n" });
  const stage = await Stage.open();
  git(stage.root, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", library, "lib");
  git(stage.root, "commit", "--quiet", "-m", "a submodule");
  await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(stage.read("lib/lib.txt")).toBe("lib\n");
});

test("a user who switches to the target while checks run gets its new files, and nothing staged", async () => {
  const stage = await Stage.open();
  git(stage.root, "switch", "--quiet", "-c", "elsewhere");
  const one = await stage.handIn({ "b.txt": "b\n", "a.txt": "new\n" });
  let hasSwitched = false;
  await stage.land({
    before: (effect) => {
      if (effect !== "open" || hasSwitched) return;
      hasSwitched = true;
      git(stage.root, "switch", "--quiet", "main");
    },
  });
  expect(await stage.stateOf(one)).toBe("completed");
  expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
  expect(stage.read("b.txt")).toBe("b\n");
});

test.each([
  ["ignored", { ".gitignore": "" }, { "new.txt": "theirs\n" }, { "new.txt": "mine\n" }],
  ["changed", {}, { "a.txt": "theirs\n", "new.txt": "n\n" }, { "a.txt": "mine\n" }],
])(
  "a user who switches to the target as it moves keeps a file that is %s; the checkout is named, and follows later",
  async (_, more, theirs, mine) => {
    const stage = await Stage.open({ root: newRepository({ "a.txt": "a\n", ...more }) });
    writeFileSync(join(stage.root, ".git/info/exclude"), "new.txt\n");
    git(stage.root, "switch", "--quiet", "-c", "elsewhere");
    const path = join(tempDir(), "work");
    git(stage.root, "worktree", "add", "--quiet", "-b", "theirs", path, "main");
    write(path, theirs);
    git(path, "add", "--force", "-A");
    git(path, "commit", "--quiet", "-m", "theirs");
    const taskId = await stage.submitCommit(git(path, "rev-parse", "HEAD"));
    const switched = onceBefore("move", () => {
      git(stage.root, "switch", "--quiet", "main");
      write(stage.root, mine);
    });
    const end = await stage.land(switched);
    expect(end).toMatchObject({ landed: 1, held: [{ reason: "CHECKOUT_BEHIND" }] });
    expect(end.held[0]!.message).toContain(stage.root);
    expect(await stage.holds()).toHaveLength(1);
    expect(await stage.stateOf({ taskId })).toBe("completed");
    for (const [name, text] of Object.entries(mine)) expect(stage.read(name)).toBe(text);
    // The person takes it away.
    if ("a.txt" in mine) write(stage.root, { "a.txt": "a\n" });
    else rmSync(join(stage.root, "new.txt"));
    expect(await stage.land()).toMatchObject({ held: [] });
    for (const [name, text] of Object.entries(theirs)) expect(stage.read(name)).toBe(text);
    expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
    expect(await stage.holds()).toEqual([]);
  },
);

test("a file that a person creates after a crash stays, although the landing would add the same one", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "new.txt": "new\n", "a.txt": "changed\n" });
  await expect(stage.land(crashBefore("merge into checkout"))).rejects.toThrow("crashed");
  write(stage.root, { "new.txt": "new\n", "a.txt": "changed\n" });
  expect(await stage.land()).toMatchObject({ landed: 0, held: [{ reason: "CHECKOUT_DIRTY" }] });
  expect([stage.read("new.txt"), stage.read("a.txt")]).toEqual(["new\n", "changed\n"]);
  rmSync(join(stage.root, "new.txt"));
  git(stage.root, "checkout", "--", "a.txt");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
});

test("files that a merge had written when it was killed are taken back: its lock is still there", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "new.txt": "new\n", "a.txt": "changed\n" });
  await expect(stage.land(crashBefore("merge into checkout"))).rejects.toThrow("crashed");
  const lock = join(stage.root, ".git", "index.lock");
  writeFileSync(lock, "");
  write(stage.root, { "new.txt": "new\n", "a.txt": "changed\n" });
  const landing = stage.land(onceBefore("drop", () => rmSync(lock)));
  expect(await landing).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf(one)).toBe("completed");
  expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
});

test("a change that git hides from the look holds only its own submission", async () => {
  const stage = await Stage.open({ root: newRepository({ "a.txt": "a\n", "config.txt": "c\n" }) });
  git(stage.root, "update-index", "--skip-worktree", "config.txt");
  write(stage.root, { "config.txt": "my own\n" });
  const hidden = await stage.handIn({ "config.txt": "theirs\n" });
  const other = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [{ reason: "CHECKOUT_REFUSED" }] });
  expect(await stage.stateOf(other)).toBe("completed");
  expect(await stage.stateOf(hidden)).toBe("submitted");
  expect(stage.read("config.txt")).toBe("my own\n");
});

test("the guard lets the target move as old and new versions of git report it, and nothing else", async () => {
  const { guard } = await import("../../src/lander/move.js");
  const root = newRepository();
  const [from, to, fence] = [
    git(root, "rev-parse", "main"),
    "1".repeat(40),
    git(root, "rev-parse", "main^{tree}"),
  ];
  git(root, "update-ref", "refs/dibs/land/main", fence);
  const file = join(tempDir(), "guard");
  writeFileSync(file, guard, { mode: 0o755 });
  const env = {
    PATH: process.env.PATH!,
    LANDING_REF: "refs/heads/main",
    LANDING_FROM: from,
    LANDING_TO: to,
    LANDING_FENCE_REF: "refs/dibs/land/main",
    LANDING_FENCE: fence,
    LANDING_HOOKS: "/nowhere",
  };
  const allows = (lines: string[], more = {}) =>
    spawnSync(file, ["prepared"], { cwd: root, env: { ...env, ...more }, input: `${lines.join("\n")}\n` })
      .status === 0;
  const head = `${from} ${to} HEAD`;
  const target = `${from} ${to} refs/heads/main`;
  expect(allows([head, target])).toBe(true);
  expect(allows([target])).toBe(true);
  expect(allows([head])).toBe(false);
  expect(allows([head, `${from} ${to} refs/heads/other`])).toBe(false);
  expect(allows([`${to} ${from} refs/heads/main`])).toBe(false);
  expect(allows([target], { LANDING_FENCE: "2".repeat(40) })).toBe(false);
});
