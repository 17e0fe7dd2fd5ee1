// What a lander reports about a task never ends the lander, whatever git, a check or an agent has said.

import { expect, test } from "vitest";
import { DibsError } from "../../src/contract/error.js";
import { conflictText, failureText, reportable } from "../../src/lander/texts.js";
import { check, git, newRepository, Stage, write } from "./support.js";

const log = (logTail: string) => ({
  name: "c",
  state: "failed" as const,
  exitCode: 1,
  durationMs: 1,
  tree: "t",
  ranBy: "l",
  logTail,
});

test("texts are well-formed and bounded, wherever they are cut", () => {
  for (const padding of ["", "x"]) {
    const text = failureText(log(`${padding}${"\u{1F680}".repeat(3_000)}\0`));
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\0");
    expect(text.length).toBeLessThanOrEqual(8_000);
  }
  const paths = Array.from({ length: 30 }, (_, n) => `${n}${"\u{1F680}".repeat(2_000)}`);
  const conflict = conflictText(paths, "main", "a".repeat(40));
  expect(conflict.isWellFormed()).toBe(true);
  expect(conflict.length).toBeLessThanOrEqual(8_000);
  const [hold] = reportable([{ reason: "R", message: paths.join(), fix: `git status -- ${paths[0]}` }]);
  expect(hold!.message.isWellFormed()).toBe(true);
  expect(hold!.message.length).toBeLessThanOrEqual(4_000);
  // A command that was cut does something else.
  expect(hold).not.toHaveProperty("fix");
});

test("a log of wide characters is reported with the return", async () => {
  const script = `
    if (!require("fs").existsSync("b.txt")) process.exit(0);
    process.stdout.write("x" + "\\u{1F680}".repeat(1600) + process.argv.length);
    process.exitCode = 1;`;
  const stage = await Stage.open({ land: { checks: [check("wide", script)] } });
  const one = await stage.handIn({ "b.txt": "b\n" });
  expect(await stage.land()).toMatchObject({ landed: 0, returned: 1 });
  expect(await stage.submission(one)).toMatchObject({ end: { reason: "check-failed" } });
});

test("a conflict in many long paths is reported with the return", async () => {
  const names = Array.from(
    { length: 25 },
    (_, n) => `${"d".repeat(200)}/${"e".repeat(200)}/${"f".repeat(200)}/${n}`,
  );
  const all = (text: string) => Object.fromEntries(names.map((name) => [name, text]));
  const stage = await Stage.open({ root: newRepository(all("a\n")) });
  await stage.handIn(all("one\n"));
  const two = await stage.handIn(all("two\n"));
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 1 });
  expect(await stage.submission(two)).toMatchObject({
    end: { reason: "conflict", detail: expect.stringContaining("and 5 more") },
  });
});

test.each(["checks", "returned"] as const)(
  "a report that the store does not take (%s) holds its task, and the others land",
  async (operation) => {
    const script = `process.exit(require("fs").existsSync("bad.txt") ? 1 : 0)`;
    const stage = await Stage.open({ land: { checks: [check("no-bad", script)] } });
    const bad = await stage.handIn({ "bad.txt": "b\n" });
    const good = await stage.handIn({ "c.txt": "c\n" });
    const { landings } = stage.dibs;
    const isAbout = (input: { taskId?: string; tasks?: { taskId: string }[] }) =>
      [input.taskId, ...(input.tasks ?? []).map(({ taskId }) => taskId)].includes(bad.taskId);
    const refusing = async (input: never) => {
      if (isAbout(input)) throw new DibsError("VALIDATION_FAILED", "detail: no");
      return landings[operation](input);
    };
    const dibs = { ...stage.dibs, landings: { ...landings, [operation]: refusing } };
    expect(await stage.land({ dibs })).toMatchObject({
      landed: 1,
      held: [{ reason: "REPORT_REFUSED", tasks: [{ taskId: bad.taskId }] }],
    });
    expect(await stage.stateOf(good)).toBe("completed");
    expect(await stage.stateOf(bad)).toBe("submitted");
    expect(await stage.holds()).toHaveLength(1);
  },
);

test("a commit with lines of its own moves nothing: it is refused, and an older store's is held", async () => {
  const stage = await Stage.open({ land: { checks: [check("red", "process.exit(1)")] } });
  git(stage.root, "switch", "--quiet", "-c", "evil");
  write(stage.root, { "evil.txt": "evil\n" });
  git(stage.root, "add", "evil.txt");
  git(stage.root, "commit", "--quiet", "-m", "evil");
  const evil = git(stage.root, "rev-parse", "HEAD");
  git(stage.root, "switch", "--quiet", "--detach", "main");
  const before = stage.tip;
  const commit = `${evil}\nupdate refs/heads/main ${evil}`;
  const { task } = await stage.dibs.tasks.create({ prompt: "x" });
  await stage.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
  const complete = (named: string) =>
    stage.dibs.tasks.complete({
      taskId: task.id,
      sessionId: "agent",
      result: { output: "", commit: named },
    } as never);
  for (const named of [commit, "HEAD", "evil", evil.slice(0, 10)])
    await expect(complete(named)).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  await complete(evil);
  // As a store of an earlier version answers.
  const list: typeof stage.dibs.landings.list = async (input) => {
    const listed = await stage.dibs.landings.list(input);
    return { ...listed, queue: listed.queue.map((each) => ({ ...each, commit })) };
  };
  const dibs = { ...stage.dibs, landings: { ...stage.dibs.landings, list } };
  expect((await stage.land({ dibs })).held).toMatchObject([
    { reason: "COMMIT_INVALID", tasks: [{ taskId: task.id }] },
  ]);
  expect(stage.tip).toBe(before);
});
