// Reviews in `dibs watch`: what waits for one, the change as text, and both verdicts.

import { expect, onTestFinished, test } from "vitest";
import { type Dibs, openDibs } from "../../src/index.js";
import { inspect, reviewedBy, submit, waiting } from "../reviews.js";
import { until } from "../support.js";
import { keys, repository, watch } from "./terminal.js";

async function prepared(): Promise<{ directory: string; dibs: Dibs }> {
  const { directory, database } = repository();
  const dibs = await openDibs({ path: database, project: "shop" });
  onTestFinished(() => dibs.close());
  await reviewedBy(dibs, "any");
  return { directory, dibs };
}

const reviewsOf = async (dibs: Dibs, taskId: string) =>
  (await dibs.tasks.submission({ taskId })).submission.reviews;

test("a submission is approved, and changes of another one are requested", async () => {
  const { directory, dibs } = await prepared();
  await waiting(dibs, "Turn the flag on");
  await waiting(dibs, "Turn it off");
  const terminal = watch({ directory, args: ["--view", "queue"], columns: 120, rows: 40 });
  await terminal.shows(/0001 .*submitted, review/, /0002 .*submitted, review/, "3 Inbox 2");
  terminal.press("3");
  await terminal.shows("✓ 0001", "✓ 0002", "a approve · r request changes");
  terminal.press("g", keys.enter);
  await terminal.shows("Submission 1", "needs a person's or an agent's approval", "Turned the flag on");
  await terminal.shows("check test: passed", "1 file, 1 line added, 1 removed", "+export const flag = true;");
  terminal.press("a");
  await terminal.shows(/Approve submission 1 of 0002 .*y\/n/, "dibs approve 0002 --submission 1");
  terminal.press("n");
  await terminal.shows("left as it is");
  terminal.press("a");
  await terminal.shows(/Approve submission 1 .*y\/n/);
  terminal.press("y");
  await terminal.shows("approved submission 1 of 0002; it lands next");
  terminal.press(keys.escape);
  await terminal.shows("✓ 0001");
  await terminal.hides("✓ 0002");
  terminal.press("m");
  await terminal.shows("A review stays until it has a verdict.");
  terminal.press("r");
  await terminal.shows("changes of 0001:");
  // Without a reason nothing is sent.
  terminal.press(keys.enter, "Keep the old flag", keys.enter);
  await terminal.shows("requested changes of 0001, now queued", "dibs reject 0001 --submission 1");
  const both = [...(await reviewsOf(dibs, "0001")), ...(await reviewsOf(dibs, "0002"))];
  expect(both.map(({ kind, verdict, comment }) => ({ kind, verdict, comment }))).toEqual(
    expect.arrayContaining([
      { kind: "human", verdict: "approve", comment: null },
      { kind: "human", verdict: "request-changes", comment: "Keep the old flag" },
    ]),
  );
  await terminal.hides("✓ 0001");
  terminal.press("q");
  expect(await terminal.ended).toBe(0);
});

test("a verdict on an old version is refused, and an agent's terminal gives an agent's verdict", async () => {
  const { directory, dibs } = await prepared();
  await waiting(dibs, "Turn the flag on");
  const env = { DIBS_SESSION: "author" };
  const terminal = watch({ directory, args: ["--view", "inbox"], columns: 120, env });
  await terminal.shows("✓ 0001");
  terminal.press("a");
  await terminal.shows(/Approve submission 1 .*y\/n/);
  terminal.press("y");
  await terminal.shows("Another agent, or a person, must review it.");
  terminal.press("r");
  await terminal.shows("changes of 0001:");
  await dibs.tasks.requestChanges({ taskId: "0001", submission: 1, reason: "again" });
  await submit(dibs, "0001");
  await inspect(dibs, "0001", { submission: 2 });
  terminal.press("Too late", keys.enter);
  await terminal.shows(/Submission 1 of task 0001 has ended|worked on by the same agent/);
  expect(await reviewsOf(dibs, "0001")).toEqual([]);
});

test("a held landing is in the inbox with its reason and the command that helps, until it has ended", async () => {
  const { directory, dibs } = await prepared();
  const { project } = await dibs.projects.get({});
  const place = { repository: project.settings.land.repository!, target: "main" };
  const { lease } = await dibs.landings.lease({ ...place, holder: "test" });
  const { epoch } = lease;
  const { landing } = await dibs.landings.open({ ...place, epoch, tasks: [] });
  const held = (holds: { reason: string; message: string; fix: string }[]) =>
    dibs.landings.held({ id: landing.id, epoch, holds: holds.map((hold) => ({ ...hold, tasks: [] })) });
  await held([
    { reason: "TARGET_BUSY", message: "main is being\u001b[2J rebased.", fix: "git rebase --abort" },
  ]);
  const terminal = watch({ directory, args: ["--view", "inbox"], columns: 120 });
  await terminal.shows("Landing on main is held", /main is being.* rebased\. Run: git rebase --abort/);
  terminal.press("m");
  await terminal.shows(/stays|not held any more/);
  await held([]);
  await terminal.shows("Nothing needs you.");
  terminal.press("q");
  expect(await terminal.ended).toBe(0);
});

test("a hostile patch is shown as text, and a line of a megabyte is cut", async () => {
  const { directory, dibs } = await prepared();
  const patch = `+\u001b[2J\u001b]0;title\u0007 red\n+if (admin\u202e) grant\n+${"x".repeat(1_000_000)}\n`;
  await waiting(dibs, "Turn the flag on", { patch, summary: "did\u001b[31m it\u202e" });
  const terminal = watch({ directory, args: ["--view", "inbox"], columns: 100, rows: 45 });
  await terminal.shows("✓ 0001");
  terminal.press(keys.enter);
  await terminal.shows("+<U+001B>[2J<U+001B>]0;title<U+0007> red", "+if (admin<U+202E>) grant");
  await terminal.shows("… cut. All of it: dibs review 0001");
  expect(terminal.raw).not.toContain("\u202e");
  expect(terminal.title).not.toBe("title");
  terminal.press("q");
  await until("it has ended", async () => (await terminal.ended) === 0);
});
