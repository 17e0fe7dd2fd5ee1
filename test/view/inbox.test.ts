// What needs a human, read from a real store, and how the badge counts it.

import { expect, onTestFinished, test } from "vitest";
import { badgeOf, helpIn, readInbox } from "../../src/client/view/inbox.js";
import { type Dibs, openDibs } from "../../src/index.js";

let now = 0;

async function store(): Promise<Dibs> {
  now = Date.parse("2026-01-01T00:00:00Z");
  const dibs = await openDibs({ memory: true, project: "shop", clock: { now: () => now } });
  onTestFinished(() => dibs.close());
  await dibs.projects.update({ id: "shop", settings: { notifications: { taskCompleted: true } } });
  return dibs;
}

/** A task of its own, held by a session of its own. */
async function held(dibs: Dibs, id: string, project?: string) {
  now += 1_000;
  const place = project === undefined ? {} : { project };
  await dibs.tasks.create({ ...place, id, prompt: `Do ${id}`, maxRetries: 0 });
  const by = { ...place, taskId: id, sessionId: `agent-${id}` };
  await dibs.tasks.claim({ ...by, register: true, start: true });
  return by;
}

const asked = async (dibs: Dibs, id: string) =>
  dibs.tasks.ask({ ...(await held(dibs, id)), question: "Which?" });
const failed = async (dibs: Dibs, id: string, project?: string) =>
  dibs.tasks.fail({ ...(await held(dibs, id, project)), error: `${id} broke` });
const completed = async (dibs: Dibs, id: string) =>
  dibs.tasks.complete({ ...(await held(dibs, id)), result: "done" });

const named = ({ questions, failures, notes }: Awaited<ReturnType<typeof readInbox>>) => ({
  questions: questions.map(({ id }) => id),
  failures: failures.map(({ row, notes: about }) => `${row.id} ${about.length}`),
  notes: notes.map(({ type, taskId }) => `${type} ${taskId}`),
});

test("the badge counts open questions and unseen failures, and nothing else that is unread", async () => {
  const dibs = await store();
  expect(badgeOf(await readInbox(dibs, "*", 100))).toBe("0");
  await asked(dibs, "q1");
  await asked(dibs, "q2");
  for (const id of ["f1", "f2", "retried", "seen"]) await failed(dibs, id);
  await completed(dibs, "done");
  await dibs.tasks.retry({ taskId: "retried" });
  const { notifications } = await dibs.notifications.list({ unread: true });
  await dibs.notifications.read({ id: notifications.find(({ taskId }) => taskId === "seen")!.id });

  const inbox = await readInbox(dibs, "shop", 100);
  expect(named(inbox)).toEqual({
    questions: ["q1", "q2"],
    failures: ["f2 1", "f1 1"],
    notes: ["TASK_COMPLETED done"],
  });
  expect(badgeOf(inbox)).toBe("4");
  // What is read at once changes what is listed, and not what is counted below a hundred.
  expect(named(await readInbox(dibs, "shop", 4))).toEqual(named(inbox));
});

test("failures are found behind any number of newer notifications, in every project", async () => {
  const dibs = await store();
  await dibs.projects.create({ id: "docs" });
  await failed(dibs, "f1", "docs");
  await failed(dibs, "f2");
  for (let at = 0; at < 12; at++) await completed(dibs, `done-${at}`);
  const inbox = await readInbox(dibs, "*", 5);
  expect(inbox.failures.map(({ row }) => `${row.project}/${row.id}`)).toEqual(["shop/f2", "docs/f1"]);
  expect(inbox.hasMoreFailures).toBe(false);
  expect(badgeOf(inbox)).toBe("2");
});

test("from a hundred on the badge is 99+, however much is read at once", async () => {
  const dibs = await store();
  await asked(dibs, "q");
  for (let at = 1; at <= 98; at++) await failed(dibs, `f${at}`);
  expect(badgeOf(await readInbox(dibs, "shop", 100))).toBe("99");
  await failed(dibs, "f99");
  await failed(dibs, "f100");
  for (const limit of [100, 1_000]) expect(badgeOf(await readInbox(dibs, "shop", limit))).toBe("99+");
  const few = await readInbox(dibs, "shop", 99);
  expect([few.failures.length, few.hasMoreFailures]).toEqual([99, true]);
});

test("reviews that wait for a person and held landings count, until they have ended", async () => {
  const dibs = await store();
  const place = { repository: "a".repeat(40), target: "main" };
  await dibs.projects.update({ id: "shop", settings: { land: { ...place, review: "human" } } });
  for (const id of ["r1", "r2"])
    await dibs.tasks.submit({ ...(await held(dibs, id)), commit: "c".repeat(40) });
  const before = await readInbox(dibs, "shop", 100);
  expect(before.reviews.map(({ row }) => row.id)).toEqual(["r1", "r2"]);
  expect(before.holds.map(({ message }) => helpIn(message).command)).toEqual(["dibs land"]);
  expect(badgeOf(before)).toBe("3");
  // Views that know nothing of reviews list them among the notes, and count what they know.
  expect(named(before).notes).toEqual(["REVIEW_NEEDED r2", "REVIEW_NEEDED r1", "LANDING_HELD null"]);
  expect(badgeOf({ questions: before.questions, failures: before.failures })).toBe("0");

  await dibs.landings.lease({ ...place, holder: "lander" });
  await dibs.tasks.approve({ taskId: "r1", submission: 1 });
  await dibs.tasks.requestChanges({ taskId: "r2", submission: 1, reason: "rename it" });
  const after = await readInbox(dibs, "shop", 100);
  expect([after.reviews, after.holds, badgeOf(after)]).toEqual([[], [], "0"]);
});

test("the command that helps is the end of a message", () => {
  expect(helpIn("Check test is red. Run: dibs check run test")).toEqual({
    text: "Check test is red.",
    command: "dibs check run test",
  });
  expect(helpIn("The index is locked.")).toEqual({ text: "The index is locked.", command: null });
});

test("a review is asked for however many submissions are before it", async () => {
  const dibs = await store();
  const land = { target: "main", repository: "a".repeat(40) };
  await dibs.projects.update({ id: "shop", settings: { land } });
  const many = Array.from({ length: 1_001 }, (_, at) => `t${at}`);
  await dibs.tasks.batch({ tasks: many.map((id) => ({ id, prompt: id })) });
  await dibs.sessions.register({ id: "agent", capacity: 1_000 });
  for (const taskId of many) {
    await dibs.tasks.claim({ taskId, sessionId: "agent", start: true });
    await dibs.tasks.submit({ taskId, sessionId: "agent", commit: "b".repeat(40) });
  }
  await dibs.projects.update({ id: "shop", settings: { land: { review: "human" } } });
  await dibs.notifications.inbox({ project: "shop" });
  const { notifications } = await dibs.notifications.list({ project: "shop", unread: true, limit: 1 });
  expect(notifications).toMatchObject([{ type: "REVIEW_NEEDED", taskId: many.at(-1) }]);
});
