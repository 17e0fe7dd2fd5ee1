// Checks that misbehave: each ends in a clear message, and nothing is lost.

import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAlive } from "../../src/runtime/liveness.js";
import { afterwards, check, git, newRepository, Stage, tempDir, until, write } from "./support.js";

test("a check that hangs is ended with all that it started, and returned as timed out", async () => {
  const pids = join(tempDir(), "pids");
  const script = `
    const { spawn } = require("child_process");
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    if (require("fs").existsSync("b.txt")) {
      require("fs").appendFileSync(${JSON.stringify(pids)}, process.pid + " " + child.pid + " ");
      setInterval(() => {}, 1000);
    } else child.kill(), process.exit(0);`;
  // The same limit holds for the check of the target, which must end well within it.
  const stage = await Stage.open({ land: { checks: [check("hangs", script, { timeoutMs: 10_000 })] } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ returned: 1, landed: 0 });
  expect(await stage.submission(one)).toMatchObject({
    end: { as: "returned", reason: "check-failed", detail: expect.stringContaining("timed out") },
    checks: [{ state: "timed-out" }],
  });
  for (const pid of readFileSync(pids, "utf8").trim().split(" "))
    expect(isAlive(Number(pid), null)).toBe(false);
});

test("what a check leaves running is ended before anything else runs", async () => {
  const pids = join(tempDir(), "pids");
  const script = `
    const child = require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    require("fs").appendFileSync(${JSON.stringify(pids)}, child.pid + " ");
    child.unref();
    process.exit(0);`;
  const stage = await Stage.open({ land: { checks: [check("forks", script)] } });
  await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  for (const pid of readFileSync(pids, "utf8").trim().split(" "))
    expect(isAlive(Number(pid), null)).toBe(false);
});

test("a check that prints 100 MB is kept by its end", async () => {
  const script = `
    const line = "x".repeat(1023) + "\\n";
    const block = line.repeat(1024);
    for (let i = 0; i < 100; i++) require("fs").writeSync(1, block);
    console.log("the last word");
    process.exit(require("fs").existsSync("b.txt") ? 1 : 0);`;
  const stage = await Stage.open({ land: { checks: [check("talks", script)] } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ returned: 1 });
  const { checks } = await stage.submission(one);
  expect(checks[0]!.logTail).toContain("the last word");
  expect(checks[0]!.logTail.length).toBeLessThan(10_000);
});

test("a check that cannot start holds everything", async () => {
  const stage = await Stage.open({
    land: { checks: [{ name: "typo", run: ["no-such-program-anywhere"], timeoutMs: 60_000, paths: [] }] },
  });
  const one = await stage.handIn({ "b.txt": "b\n" });
  expect((await stage.land()).held).toMatchObject([
    { reason: "CHECK_CANNOT_START", fix: "dibs check add typo -- <command>" },
  ]);
  expect(await stage.stateOf(one)).toBe("submitted");
});

test("a submission that removes the check's script is returned; the others land", async () => {
  const root = newRepository({ "check.sh": "#!/bin/sh\nexit 0\n", "a.txt": "a\n" });
  chmodSync(join(root, "check.sh"), 0o755);
  git(root, "add", "-A");
  git(root, "commit", "--quiet", "-m", "executable");
  const run = { name: "script", run: ["./check.sh"], timeoutMs: 60_000, paths: [] };
  const stage = await Stage.open({ root, land: { checks: [run] } });
  const remover = await stage.handIn({ "check.sh": null });
  const other = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 1, held: [] });
  expect(await stage.submission(remover)).toMatchObject({
    end: { as: "returned", detail: expect.stringContaining("cannot be started") },
  });
  expect(await stage.stateOf(other)).toBe("completed");
});

test("a target that was red for a reason outside of the repository is checked again", async () => {
  const broken = join(tempDir(), "broken");
  writeFileSync(broken, "");
  const script = `process.exit(require("fs").existsSync(${JSON.stringify(broken)}) ? 1 : 0)`;
  const stage = await Stage.open({ land: { checks: [check("world", script)] } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  const stopping = new AbortController();
  const running = stage.land({ once: false, signal: stopping.signal });
  await until("it is held", () => stage.steps.some(({ step }) => step === "held"));
  rmSync(broken);
  await until("it has landed", async () => (await stage.stateOf(one)) === "completed");
  stopping.abort();
  await running;
});

test("a commit that cannot be signed holds its task with an inbox item", async () => {
  const stage = await Stage.open();
  git(stage.root, "config", "commit.gpgSign", "true");
  git(stage.root, "config", "gpg.program", "false");
  const { task } = await stage.dibs.tasks.create({ prompt: "x" });
  await stage.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
  write(stage.root, { "c.txt": "c\n" });
  git(stage.root, "add", "c.txt");
  const own = git(stage.root, "commit-tree", git(stage.root, "write-tree"), "-p", "HEAD", "-m", "work");
  git(stage.root, "rm", "--quiet", "--force", "c.txt");
  await stage.dibs.tasks.submit({
    taskId: task.id,
    sessionId: "agent",
    commit: own,
    result: { output: "" },
  } as never);
  expect((await stage.land()).held).toMatchObject([{ reason: "GIT_FAILED", tasks: [{ taskId: task.id }] }]);
  expect(await stage.holds()).toHaveLength(1);
});

test("a signer that hangs holds everything at once, not one submission after the other", async () => {
  const stage = await Stage.open();
  const notes = join(tempDir(), "signers");
  const signer = join(tempDir(), "signer");
  writeFileSync(signer, `#!/bin/sh\necho $$ >> ${notes}\nexec sleep 600\n`, { mode: 0o755 });
  const handed = [];
  for (const name of ["b", "c", "d"]) handed.push(await stage.handIn({ [`${name}.txt`]: "x\n" }));
  git(stage.root, "config", "commit.gpgSign", "true");
  git(stage.root, "config", "gpg.program", signer);
  const pids = () => readFileSync(notes, "utf8").trim().split("\n");
  afterwards(() => pids().forEach((pid) => void process.kill(Number(pid))));
  const { held } = await stage.land({ timings: { lookMs: 50, retryMs: 20, signMs: 3_000 } });
  expect(held).toMatchObject([{ reason: "SIGNER_HANGS" }]);
  expect(held[0]).not.toHaveProperty("tasks");
  expect(pids()).toHaveLength(1);
  for (const each of handed) expect(await stage.submission(each)).toMatchObject({ stage: "held" });
});

test("500 submissions that are held do not keep the ones behind them from landing", async () => {
  const stage = await Stage.open();
  for (let n = 0; n < 500; n++) await stage.submitCommit(String(n).padStart(40, "1"));
  const one = await stage.handIn({ "b.txt": "b\n" });
  const end = await stage.land();
  expect(end.landed).toBe(1);
  expect(end.held).toHaveLength(500);
  expect(await stage.stateOf(one)).toBe("completed");
});

test("a task that is held, withdrawn and submitted again is held again", async () => {
  const stage = await Stage.open();
  const taskId = await stage.submitCommit("1".repeat(40));
  const stopping = new AbortController();
  const running = stage.land({ once: false, signal: stopping.signal });
  await until("it is held", async () => (await stage.holds()).length === 1);
  await stage.dibs.tasks.withdraw({ taskId });
  expect(await stage.holds()).toEqual([]);
  await stage.dibs.tasks.claim({ taskId, sessionId: "agent", start: true });
  const again = { taskId, sessionId: "agent", commit: "1".repeat(40), result: { output: "" } };
  await stage.dibs.tasks.submit(again as never);
  await until("it is held again", async () => (await stage.holds()).length === 1);
  stopping.abort();
  await running;
});

test("more holds than an inbox can take are told together", async () => {
  const stage = await Stage.open();
  for (let n = 0; n < 60; n++) {
    const { task } = await stage.dibs.tasks.create({ prompt: "x" });
    await stage.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
    const commit = String(n).padStart(40, "1");
    await stage.dibs.tasks.submit({
      taskId: task.id,
      sessionId: "agent",
      commit,
      result: { output: "" },
    } as never);
  }
  const { held } = await stage.land();
  expect(held).toHaveLength(60);
  expect(await stage.holds()).toHaveLength(50);
});

test("checks see no tokens, secrets or settings of Dibs", async () => {
  const script = `
    const secrets = Object.keys(process.env).filter((name) => /^DIBS_|TOKEN|SECRET/.test(name));
    if (secrets.length > 0) { console.log(secrets.join(" ")); process.exit(1); }`;
  const before = { ...process.env };
  Object.assign(process.env, { DIBS_TOKEN: "t", GITHUB_TOKEN: "t", MY_SECRET: "s", DIBS_TASK: "0001" });
  try {
    const stage = await Stage.open({ land: { checks: [check("nosy", script)] } });
    await stage.handIn({ "b.txt": "b\n" });
    expect(await stage.land()).toMatchObject({ landed: 1, returned: 0 });
  } finally {
    for (const name of ["DIBS_TOKEN", "GITHUB_TOKEN", "MY_SECRET", "DIBS_TASK"]) delete process.env[name];
    Object.assign(process.env, before);
  }
});

test("a check with paths runs only for submissions that touch them", async () => {
  const stage = await Stage.open({
    root: newRepository({ "web/a.ts": "a\n", "docs/a.md": "a\n" }),
    land: { checks: [check("web", "process.exit(1)", { paths: ["web/**"] })], batchMax: 1 },
  });
  const docs = await stage.handIn({ "docs/b.md": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 0 });
  expect(await stage.submission(docs)).toMatchObject({ checks: [] });
  await stage.handIn({ "web/deep/b.ts": "b\n" });
  expect((await stage.land()).held).toMatchObject([{ reason: "TARGET_RED" }]);
});

test("setup runs first, and again only when one of its paths changed", async () => {
  const runs = join(tempDir(), "runs");
  const setup = {
    run: [
      process.execPath,
      "-e",
      `require("fs").appendFileSync(${JSON.stringify(runs)}, "x"); require("fs").writeFileSync("made.log", "")`,
    ],
    paths: ["lock.json"],
  };
  const made = `process.exit(require("fs").existsSync("made.log") ? 0 : 1)`;
  const stage = await Stage.open({
    root: newRepository({ "lock.json": "1\n", ".gitignore": "*.log\n" }),
    land: { setup, checks: [check("made", made)], batchMax: 1 },
  });
  await stage.handIn({ "b.txt": "b\n" });
  await stage.handIn({ "c.txt": "c\n" });
  expect(await stage.land()).toMatchObject({ landed: 2 });
  expect(readFileSync(runs, "utf8")).toBe("x");
  await stage.handIn({ "lock.json": "2\n" });
  await stage.handIn({ "d.txt": "d\n" });
  const before = readFileSync(runs, "utf8").length;
  expect(await stage.land()).toMatchObject({ landed: 2 });
  // Once for the new lander, and not again: the first of them changed it.
  expect(readFileSync(runs, "utf8").length - before).toBe(1);
});

test("a setup that fails on the target, or cannot start, holds everything and is named", async () => {
  const red = { run: [process.execPath, "-e", "process.exit(3)"], paths: [] };
  const stage = await Stage.open({ land: { setup: red, checks: [check("green", "process.exit(0)")] } });
  await stage.handIn({ "b.txt": "b\n" });
  const setup = /^The setup of landing \(.*\) exits with code 3 on main itself/;
  expect((await stage.land()).held).toMatchObject([
    { reason: "TARGET_RED", message: expect.stringMatching(setup) },
  ]);
  await stage.dibs.projects.update({
    settings: { land: { setup: { run: ["no-such-program"], paths: [] } } },
  } as never);
  expect((await stage.land()).held).toMatchObject([
    { reason: "CHECK_CANNOT_START", message: expect.stringContaining("no-such-program was not found") },
  ]);
  await stage.dibs.projects.update({ settings: { land: { setup: null } } } as never);
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 0 });
});

test("nothing lands in a paused project, and the rest of the queue is not held by it", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  await stage.dibs.projects.pause({});
  expect(await stage.land()).toMatchObject({ landed: 0, held: [] });
  await stage.dibs.projects.resume({});
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(await stage.stateOf(one)).toBe("completed");
});

test("a submission whose change is on the target already lands there, without a commit of its own", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  git(stage.root, "merge", "--quiet", "--ff-only", one.commit!);
  const before = stage.tip;
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(stage.tip).toBe(before);
  expect(await stage.task(one.taskId)).toMatchObject({ state: "completed", landed: { commit: before } });
});

test("a dry run shows merges and conflicts, and moves and records nothing", async () => {
  const { previewLandings } = await import("../../src/lander/index.js");
  const stage = await Stage.open();
  await stage.handIn({ "a.txt": "one\n" });
  await stage.handIn({ "a.txt": "two\n" });
  const [tip, refs] = [stage.tip, git(stage.root, "for-each-ref")];
  await previewLandings(stage.options());
  expect(stage.steps.map(({ step }) => step)).toEqual(["merged", "conflict"]);
  expect([stage.tip, git(stage.root, "for-each-ref")]).toEqual([tip, refs]);
  expect((await stage.dibs.landings.list({})).queueCount).toBe(2);
});
