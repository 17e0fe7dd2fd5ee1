// What was submitted reaches the target branch: merged, checked on exactly its tree, with its trailers.

import { expect, test } from "vitest";
import { check, git, Stage, write } from "./support.js";

test("a submitted change lands as one commit, and its dependent is free", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  const { task: dependent } = await stage.dibs.tasks.create({ prompt: "next", dependsOn: [one.taskId] });
  const before = stage.tip;
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 0, held: [] });
  const task = await stage.task(one.taskId);
  expect(task).toMatchObject({
    state: "completed",
    landed: { commit: stage.tip, target: "main" },
    noChange: false,
  });
  expect(git(stage.root, "rev-parse", "main^")).toBe(before);
  // The person's checkout moved with it.
  expect(stage.read("b.txt")).toBe("b\n");
  expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
  const [subject, author, body] = git(stage.root, "show", "-s", "--format=%s%x00%an%x00%b").split("\0");
  expect(subject).toBe("Task 1");
  expect(author).toBe("Agent");
  expect(body).toContain(`Summary of ${one.taskId}`);
  expect(git(stage.root, "show", "-s", "--format=%(trailers:key=Dibs-Task,valueonly)").trim()).toBe(
    `${task.project}/${one.taskId}#1`,
  );
  expect(git(stage.root, "show", "-s", "--format=%(trailers:key=Dibs-Submission,valueonly)").trim()).toBe(
    one.commit,
  );
  expect((await stage.task(dependent.id)).state).toBe("queued");
});

test("several submissions share a landing, each with a commit of its own", async () => {
  const stage = await Stage.open();
  const handed = [
    await stage.handIn({ "b.txt": "b\n" }),
    await stage.handIn({ "c.txt": "c\n" }),
    await stage.handIn(null),
  ];
  expect(await stage.land()).toMatchObject({ landed: 3 });
  const { landings } = await stage.dibs.landings.list({});
  expect(landings).toHaveLength(1);
  const [first, second, third] = await Promise.all(handed.map(({ taskId }) => stage.task(taskId)));
  expect(git(stage.root, "rev-parse", "main^")).toBe(first!.landed!.commit);
  expect(second!.landed!.commit).toBe(stage.tip);
  expect(third).toMatchObject({ state: "completed", landed: null, noChange: true });
});

test("a conflict with the target returns the submission, and names the paths", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "a.txt": "one\n" });
  const two = await stage.handIn({ "a.txt": "two\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 1 });
  expect(await stage.stateOf(one)).toBe("completed");
  const task = await stage.task(two.taskId);
  expect(task).toMatchObject({ state: "queued", returnCount: 1, retryCount: 0 });
  expect(await stage.submission(two)).toMatchObject({
    end: { as: "returned", reason: "conflict", detail: expect.stringContaining("a.txt") },
  });
  expect(stage.read("a.txt")).toBe("one\n");
});

test("a red check returns the submission with the end of its log; the others of its batch land", async () => {
  const stage = await Stage.open({
    land: {
      checks: [
        check(
          "no-bad",
          `if (require("fs").existsSync("bad.txt")) { console.log("bad is there"); process.exit(3); }`,
        ),
      ],
    },
  });
  const good = [await stage.handIn({ "b.txt": "b\n" }), await stage.handIn({ "c.txt": "c\n" })];
  const bad = await stage.handIn({ "bad.txt": "bad\n" });
  const last = await stage.handIn({ "d.txt": "d\n" });
  expect(await stage.land()).toMatchObject({ landed: 3, returned: 1 });
  for (const each of [...good, last]) expect(await stage.stateOf(each)).toBe("completed");
  expect(await stage.submission(bad)).toMatchObject({
    end: { as: "returned", reason: "check-failed", detail: expect.stringContaining("bad is there") },
    checks: [{ name: "no-bad", state: "failed", exitCode: 3 }],
  });
  expect(stage.has("main", "bad.txt")).toBe(false);
});

test("a red target returns nobody's work, and everything lands when it is green again", async () => {
  const stage = await Stage.open({
    land: { checks: [check("fixed", `process.exit(require("fs").existsSync("broken") ? 1 : 0)`)] },
  });
  write(stage.root, { broken: "" });
  git(stage.root, "add", "-A");
  git(stage.root, "commit", "--quiet", "-m", "break it");
  const one = await stage.handIn({ "b.txt": "b\n" });
  const end = await stage.land();
  expect(end).toMatchObject({ landed: 0, returned: 0, held: [{ reason: "TARGET_RED" }] });
  expect(await stage.stateOf(one)).toBe("submitted");
  expect(await stage.holds()).toHaveLength(1);
  expect(await stage.submission(one)).toMatchObject({ stage: "held" });
  git(stage.root, "rm", "--quiet", "broken");
  git(stage.root, "commit", "--quiet", "-m", "mend it");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.holds()).toHaveLength(0);
});

test("a check that is red and then green is recorded as flaky, and lands", async () => {
  const stage = await Stage.open();
  const counter = `${stage.root}/../count`;
  const script = `const fs = require("fs"); const n = fs.existsSync(${JSON.stringify(counter)}); fs.writeFileSync(${JSON.stringify(counter)}, ""); process.exit(n ? 0 : 1)`;
  await stage.dibs.projects.update({ settings: { land: { checks: [check("moody", script)] } } } as never);
  const one = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 0 });
  expect(await stage.submission(one)).toMatchObject({ checks: [{ name: "moody", state: "flaky" }] });
});

test("checks see exactly the tree that lands: no file of an earlier run, nothing of the person's", async () => {
  const script = `
    const fs = require("fs");
    const { execFileSync } = require("child_process");
    if (fs.existsSync("mine.txt")) process.exit(4);
    const dirty = execFileSync("git", ["status", "--porcelain"], { encoding: "utf8" });
    if (dirty !== "") { console.log(dirty); process.exit(5); }
    fs.writeFileSync("left-over.txt", "");
    fs.appendFileSync("a.txt", "changed");`;
  const stage = await Stage.open({ land: { checks: [check("clean", script)], batchMax: 1 } });
  write(stage.root, { "mine.txt": "not committed" });
  await stage.handIn({ "b.txt": "b\n" });
  await stage.handIn({ "c.txt": "c\n" });
  expect(await stage.land()).toMatchObject({ landed: 2, returned: 0 });
  expect(stage.has("main", "left-over.txt")).toBe(false);
  expect(stage.on("main", "a.txt")).toBe("a");
  expect(stage.read("mine.txt")).toBe("not committed");
});

test("ten agents change the same line: one lands, nine are returned, and nobody is completed without it", async () => {
  const stage = await Stage.open({ land: { batchMax: 8 } });
  const handed = [];
  for (let n = 1; n <= 10; n++) handed.push(await stage.handIn({ "a.txt": `${n}\n` }));
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 9 });
  const states = await Promise.all(handed.map((each) => stage.stateOf(each)));
  expect(states.filter((state) => state === "completed")).toHaveLength(1);
  expect(states.filter((state) => state === "queued")).toHaveLength(9);
});

test("a landing that moved the ref but not the patch is not completed: it lands again, with the patch", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  const { project } = await stage.task(one.taskId);
  // A lander that said it would land a commit without the change, moved the target to it, and died.
  const empty = git(stage.root, "commit-tree", "main^{tree}", "-p", "main", "-m", "nothing in it");
  const place = { repository: git(stage.root, "rev-list", "--max-parents=0", "main"), target: "main" };
  const { lease } = await stage.dibs.landings.lease({ ...place, holder: "liar", ttlMs: 60_000 });
  const tasks = [{ project, taskId: one.taskId, submission: 1, commit: empty }];
  const intent = { ...place, epoch: lease.epoch, base: stage.tip, tasks, commit: empty };
  await stage.dibs.landings.open(intent);
  git(stage.root, "merge", "--quiet", "--ff-only", empty);
  await stage.dibs.landings.release({ ...place, epoch: lease.epoch });
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(stage.steps).toContainEqual({ step: "settled", landing: "L1", as: "dropped" });
  expect((await stage.task(one.taskId)).landed?.commit).not.toBe(empty);
  expect(stage.on("main", "b.txt")).toBe("b");
});
