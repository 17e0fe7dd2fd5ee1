// Reviews with the real lander and real git: what is asked of whom, what a verdict does, and what ends a review.

import { expect, test } from "vitest";
import { check, git, Stage, write } from "./support.js";

const noBad = check("no-bad", `process.exit(require("fs").existsSync("bad.txt") ? 1 : 0)`);

async function reviewsAsked(stage: Stage) {
  const { notifications } = await stage.dibs.notifications.list({ unread: true } as never);
  return notifications.filter(({ type }) => type === "REVIEW_NEEDED").map(({ taskId }) => taskId);
}

test("with a review, a submission is checked alone, then waits, and lands when it is approved", async () => {
  const stage = await Stage.open({ land: { review: "human", checks: [noBad] } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  const two = await stage.handIn({ "c.txt": "c\n" });
  expect(await stage.land()).toMatchObject({ landed: 0, returned: 0, held: [] });
  expect(await stage.submission(one)).toMatchObject({
    stage: "review",
    approved: false,
    reviewNeeded: "human",
    checks: [{ name: "no-bad", state: "passed" }],
    diff: { fileCount: 1, insertions: 1, deletions: 0, files: [{ path: "b.txt" }] },
  });
  expect(await reviewsAsked(stage)).toEqual(expect.arrayContaining([one.taskId, two.taskId]));
  const { patch } = await stage.dibs.tasks.patch({ taskId: one.taskId });
  expect(patch).toContain("+b\n");
  await stage.dibs.tasks.approve({ taskId: one.taskId, submission: 1, comment: "good" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(await stage.stateOf(one)).toBe("completed");
  expect(await stage.stateOf(two)).toBe("submitted");
  expect(await reviewsAsked(stage)).toEqual([two.taskId]);
});

test("a red submission goes back without bothering anybody: exit 0 of a lying agent never completes a task", async () => {
  const stage = await Stage.open({ land: { review: "human", checks: [noBad] } });
  const bad = await stage.handIn({ "bad.txt": "bad\n" });
  expect(await stage.land()).toMatchObject({ landed: 0, returned: 1 });
  expect(await stage.stateOf(bad)).toBe("queued");
  expect(await reviewsAsked(stage)).toEqual([]);
  // The next attempt learns what came back.
  expect(await stage.submission(bad)).toMatchObject({ diff: { fileCount: 1, files: [{ path: "bad.txt" }] } });
  const { handover } = await stage.dibs.tasks.claim({ taskId: bad.taskId, sessionId: "agent" });
  expect(handover).toContain("changed: 1 file, +1 -0: bad.txt +1 -0");
  expect((await stage.dibs.tasks.patch({ taskId: bad.taskId })).patch).toContain("+bad\n");
});

test("a change of what checks run needs a person, although nothing else does", async () => {
  const stage = await Stage.open({ land: { checks: [noBad] } });
  const plain = await stage.handIn({ "b.txt": "b\n" });
  const manifest = await stage.handIn({ "web/package.json": "{}\n" });
  const quoted = await stage.handIn({ '.github/a"b\t.yml': "on: push\n" });
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 0 });
  expect(await stage.stateOf(plain)).toBe("completed");
  expect(await stage.submission(manifest)).toMatchObject({
    stage: "review",
    reviewNeeded: "human",
    diff: { reviewPaths: ["web/package.json"] },
  });
  expect((await stage.submission(quoted)).diff?.reviewPaths).toEqual(['.github/a"b\t.yml']);
  await stage.dibs.tasks.approve({ taskId: manifest.taskId, submission: 1 });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(stage.has("main", "web/package.json")).toBe(true);
});

test("requested changes reach the next attempt, and the new version is reviewed again", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  await stage.dibs.tasks.requestChanges({ taskId: one.taskId, submission: 1, reason: "say more" });
  expect(await stage.stateOf(one)).toBe("queued");
  await stage.submit(one.taskId, { "b.txt": "b, and more\n" });
  await stage.land();
  expect(await stage.submission(one)).toMatchObject({ number: 2, stage: "review", approved: false });
  await expect(stage.dibs.tasks.approve({ taskId: one.taskId, submission: 1 })).rejects.toMatchObject({
    code: "STALE_SUBMISSION",
  });
  await stage.dibs.tasks.approve({ taskId: one.taskId, submission: 2 });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(stage.on("main", "b.txt")).toBe("b, and more");
});

test("a new submission with the same changes inherits the approval, although the target moved", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  await stage.dibs.tasks.approve({ taskId: one.taskId, submission: 1 });
  write(stage.root, { "other.txt": "o\n" });
  git(stage.root, "add", "-A");
  git(stage.root, "commit", "--quiet", "-m", "Person");
  await stage.dibs.tasks.withdraw({ taskId: one.taskId });
  await stage.submit(one.taskId, { "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect((await stage.submission(one)).reviews).toMatchObject([{ verdict: "approve", inheritedFrom: 1 }]);
});

test.each([
  ["white space", "ab.py", "if x:\n    a()\nb()\n", "ab.py", "if x:\n    a()\n    b()\n"],
  ["a name's white space", "ab.py", "b()\n", "a b.py", "b()\n"],
  [
    "bytes that are no text",
    "a.txt",
    Buffer.from([0x61, 0xe8, 0x0a]),
    "a.txt",
    Buffer.from([0x61, 0xe9, 0x0a]),
  ],
  ["the bytes of a binary file", "a.bin", Buffer.from([0, 1]), "a.bin", Buffer.from([0, 2])],
])("an approval is not inherited where %s differ", async (_what, name, approved, otherName, other) => {
  const stage = await Stage.open({ land: { review: "human" } });
  const one = await stage.handIn({ [name]: approved });
  await stage.land();
  await stage.dibs.tasks.approve({ taskId: one.taskId, submission: 1 });
  await stage.dibs.tasks.withdraw({ taskId: one.taskId });
  await stage.submit(one.taskId, { [otherName]: other });
  expect(await stage.land()).toMatchObject({ landed: 0 });
  expect(await stage.submission(one)).toMatchObject({ number: 2, stage: "review", reviews: [] });
});

test("an approval survives a target that moved: it is merged again, and nobody is asked again", async () => {
  const stage = await Stage.open({ land: { review: "human", checks: [noBad] } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  await stage.dibs.tasks.approve({ taskId: one.taskId, submission: 1 });
  write(stage.root, { "other.txt": "o\n" });
  git(stage.root, "add", "-A");
  git(stage.root, "commit", "--quiet", "-m", "Person");
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(await stage.submission(one)).toMatchObject({ number: 1, reviews: [{ inheritedFrom: null }] });
  expect([stage.on("main", "b.txt"), stage.on("main", "other.txt")]).toEqual(["b", "o"]);
  expect(await reviewsAsked(stage)).toEqual([]);
});

test("a merge outside of Dibs ends the review, and a conflict with the new target returns it", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const merged = await stage.handIn({ "b.txt": "b\n" });
  const conflicting = await stage.handIn({ "a.txt": "mine\n" });
  await stage.land();
  git(stage.root, "merge", "--quiet", "--no-edit", merged.branch);
  write(stage.root, { "a.txt": "theirs\n" });
  git(stage.root, "commit", "--quiet", "-am", "Person");
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 1 });
  expect(await stage.stateOf(merged)).toBe("completed");
  expect(await stage.stateOf(conflicting)).toBe("queued");
  expect(await stage.submission(conflicting)).toMatchObject({ diff: { files: [{ path: "a.txt" }] } });
  expect(await reviewsAsked(stage)).toEqual([]);
});

test("an empty submission is reviewed like any other, and not merged", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const empty = await stage.handIn(null);
  await stage.land();
  expect(await stage.submission(empty)).toMatchObject({ stage: "review", diff: { fileCount: 0 } });
  const before = stage.tip;
  await stage.dibs.tasks.approve({ taskId: empty.taskId, submission: 1 });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(stage.tip).toBe(before);
  expect(await stage.task(empty.taskId)).toMatchObject({ state: "completed", noChange: true });
});

test("a patch is cut by whole files at 1 MiB, and a hostile one is stored as text", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const large = "x".repeat(600_000);
  const one = await stage.handIn({
    "a-first.txt": `${large}\n`,
    "b-second.txt": `${large}\n`,
    "c-evil.txt": "\u001b[2J<script>\u202e\u0001\n",
    "d.bin": "a\u0000b",
  });
  await stage.land();
  const { patch, omitted } = await stage.dibs.tasks.patch({ taskId: one.taskId });
  expect(patch).toContain("a-first.txt");
  expect(patch).not.toContain("b-second.txt");
  // A file that does not fit hides no other one.
  expect(patch).toContain("+\u001b[2J<script>");
  expect(patch.endsWith("\n")).toBe(true);
  expect(omitted).toBe(1);
  expect(await stage.submission(one)).toMatchObject({ diff: { fileCount: 4 } });
});

test("an agent reviews what another one submitted, and the author cannot", async () => {
  const stage = await Stage.open({ land: { review: "agent" } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  await stage.dibs.sessions.register({ id: "reviewer" } as never);
  const none = await stage.dibs.tasks.claimNext({ sessionId: "agent", kind: "review", why: false });
  expect(none.claim).toBeNull();
  const review = await stage.dibs.tasks.claimNext({ sessionId: "reviewer", kind: "review" });
  expect(review).toMatchObject({
    claim: { taskId: one.taskId, sessionId: "reviewer", epoch: 1 },
    task: { state: "submitted" },
    review: { number: 1, commit: one.commit },
  });
  const reviewing = async () =>
    (await stage.dibs.sessions.summary({})).sessions.find(({ id }) => id === "reviewer")?.reviewing;
  expect(await reviewing()).toEqual([one.taskId]);
  await stage.dibs.tasks.heartbeat({ taskId: one.taskId, sessionId: "reviewer", epoch: 1 });
  await stage.dibs.tasks.approve({ taskId: one.taskId, submission: 1, sessionId: "reviewer", epoch: 1 });
  expect(await reviewing()).toBeUndefined();
  expect(await stage.land()).toMatchObject({ landed: 1 });
});

test("a commit that changes nothing is no way around the review", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const empty = git(stage.root, "commit-tree", "main^{tree}", "-p", "main", "-m", "done");
  const tip = await stage.submitCommit(stage.tip);
  const none = await stage.submitCommit(empty);
  expect(await stage.land()).toMatchObject({ landed: 0 });
  for (const taskId of [tip, none])
    expect(await stage.submission({ taskId })).toMatchObject({ stage: "review", approved: false });
});

test("a protected path does not land with a branch that was looked at on top of another one", async () => {
  const stage = await Stage.open({ land: { checks: [noBad] } });
  const one = await stage.handIn({ "package.json": "{}\n" });
  await stage.land();
  await stage.dibs.tasks.approve({ taskId: one.taskId, submission: 1 });
  const two = await stage.handIn({ "b.txt": "b\n" }, { from: one.branch });
  let isWithdrawn = false;
  await stage.land({
    before: async (effect: string) => {
      if (effect !== "intent" || isWithdrawn) return;
      isWithdrawn = true;
      await stage.dibs.tasks.withdraw({ taskId: one.taskId });
    },
  } as never);
  expect(isWithdrawn).toBe(true);
  expect(stage.has("main", "package.json")).toBe(false);
  expect(await stage.submission(two)).toMatchObject({ stage: "review", reviewNeeded: "human" });
});

test("an empty submission that came while everything was held is reviewed as well", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const empty = await stage.handIn(null);
  const one = await stage.handIn({ "b.txt": "b\n" });
  git(stage.root, "bisect", "start");
  expect((await stage.land()).held).toHaveLength(1);
  git(stage.root, "bisect", "reset");
  expect(await stage.land()).toMatchObject({ landed: 0, held: [] });
  for (const each of [empty, one])
    expect(await stage.submission(each)).toMatchObject({ stage: "review", diff: {} });
});
