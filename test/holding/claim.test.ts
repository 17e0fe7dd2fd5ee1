// The rules of holding and losing a task, on a real store. Every kind of worker holds its tasks by them.

import { expect, test } from "vitest";
import { HeldClaim, HeldSession, isLost, Reports } from "../../src/client/holding/index.js";
import { type Dibs, DibsError } from "../../src/index.js";
import { open, tempFile } from "../faults/support.js";
import { aborted } from "../support.js";

interface Heard {
  lost: unknown[];
  waiting: boolean[];
  answers: string[];
  trouble: unknown[];
}

/** A task claimed by session "a". Renewals go through `way`, so that a test can cut it. */
async function claimed(more: { marginMs?: number; ttlMs?: number } = {}) {
  const dibs = await open({ path: tempFile() });
  await dibs.tasks.create({ prompt: "do it" });
  const ttlMs = more.ttlMs ?? 600_000;
  const { claim } = await dibs.tasks.claimNext({ sessionId: "a", register: true, start: true, ttlMs });
  const heard: Heard = { lost: [], waiting: [], answers: [], trouble: [] };
  const clock = { ms: 0 };
  const way: { dibs: () => Dibs } = { dibs: () => dibs };
  const held = new HeldClaim({
    dibs: () => way.dibs(),
    by: { taskId: "0001", sessionId: "a", epoch: claim!.epoch },
    ttlMs,
    askedAt: 0,
    now: () => clock.ms,
    ...(more.marginMs === undefined ? {} : { marginMs: more.marginMs }),
    onLost: (error) => heard.lost.push(error),
    onWaiting: (isWaiting) => heard.waiting.push(isWaiting),
    onAnswer: (answer) => heard.answers.push(answer),
    onTrouble: (error) => heard.trouble.push(error),
  });
  /** The events since the last call, noticed as a stream would bring them. */
  let seen = 0;
  const notice = async () => {
    const { events, lastSeq } = await dibs.events.list({ after: seen, limit: 1_000 });
    seen = lastSeq;
    for (const event of events) held.notice(event);
  };
  await notice();
  return { dibs, held, heard, clock, way, notice };
}

const away = () => {
  throw new DibsError("STORE_UNAVAILABLE", "The store is away.");
};

test("a renewal makes the lease last from the moment it was asked for", async () => {
  const { held, clock } = await claimed();
  clock.ms = 1_000;
  expect(await held.renew()).toBe(true);
  expect(held.until).toBe(601_000);
  expect(held.isLate).toBe(false);
  clock.ms = 601_000;
  expect(held.isLate).toBe(true);
});

test("while the store is away nothing is lost before the lease ends, by this process's own clock", async () => {
  const { held, heard, clock, way } = await claimed();
  way.dibs = away;
  clock.ms = 599_999;
  expect(await held.renew()).toBe(false);
  expect(held.isLate).toBe(false);
  expect(heard).toMatchObject({ lost: [], trouble: [{ code: "STORE_UNAVAILABLE" }] });
});

test("a claim that is not renewed in time is lost, the margin before its lease ends", async () => {
  const { heard } = await claimed({ ttlMs: 60_000, marginMs: 59_950 });
  await expect.poll(() => heard.lost.length, { timeout: 60_000 }).toBe(1);
  expect(heard.lost).toMatchObject([{ code: "CLAIM_EXPIRED" }]);
});

const ends: [string, (dibs: Dibs) => Promise<unknown>, string][] = [
  ["cancelled", (dibs) => dibs.tasks.cancel({ taskId: "0001" }), "TASK_CANCELLED"],
  ["released by force", (dibs) => dibs.tasks.release({ taskId: "0001", force: true }), "TASK_NOT_CLAIMED"],
  ["lost with its session", (dibs) => dibs.sessions.end({ sessionId: "a" }), "CLAIM_EXPIRED"],
  [
    "completed by another program with the same claim",
    (dibs) => dibs.tasks.complete({ taskId: "0001", sessionId: "a", epoch: 1, result: "done" }),
    "TASK_NOT_CLAIMED",
  ],
];

test.each(ends)("a task that was %s is lost by its event", async (_, end, code) => {
  const { dibs, heard, notice, held } = await claimed();
  await end(dibs);
  await notice();
  expect(heard.lost).toMatchObject([{ code }]);
  expect(await held.renew()).toBe(false);
  expect(heard.lost).toHaveLength(1);
});

test.each(ends)("a task that was %s is lost by the next renewal, if its event was missed", async (_, end) => {
  const { dibs, heard, held } = await claimed();
  await end(dibs);
  expect(await held.renew()).toBe(false);
  expect(heard.lost).toHaveLength(1);
  expect(isLost(heard.lost[0])).toBe(true);
});

test("a holder's own call that is refused loses the task before the caller hears of it", async () => {
  const { dibs, heard, held } = await claimed();
  await dibs.tasks.cancel({ taskId: "0001" });
  const refused = await held
    .act(() => dibs.tasks.progress({ ...held.by, note: "n" }))
    .catch((error) => error);
  expect(heard.lost).toEqual([refused]);
});

test("events of another claim of the same task are not its own", async () => {
  const { dibs, heard, held, notice } = await claimed();
  held.end();
  await dibs.tasks.release({ ...held.by });
  const { claim } = await dibs.tasks.claimNext({ sessionId: "b", register: true });
  const next: unknown[] = [];
  const other = new HeldClaim({
    dibs: () => dibs,
    by: { taskId: "0001", sessionId: "b", epoch: claim!.epoch },
    ttlMs: 60_000,
    askedAt: 0,
    now: () => 0,
    onLost: (error) => next.push(error),
  });
  const { events } = await dibs.events.list({ limit: 1_000 });
  for (const event of events) other.notice(event);
  await notice();
  expect([next, heard.lost]).toEqual([[], []]);
});

test("with an open question the lease does not run, its session stays alive, and the answer arrives once it is there", async () => {
  const { dibs, held, heard, clock, notice } = await claimed();
  await dibs.tasks.ask({ ...held.by, question: "Which?" });
  await notice();
  expect(heard.waiting).toEqual([true]);
  clock.ms = 10_000_000;
  expect(held.isLate).toBe(false);
  expect(await held.renew()).toBe(true);
  await dibs.tasks.respond({ taskId: "0001", response: "this one" });
  await notice();
  expect(heard.waiting).toEqual([true, false]);
  expect(heard.answers).toContain("this one");
  expect(held.isLate).toBe(false);
});

test("a question whose event was missed is learnt from the renewal, and so is its answer", async () => {
  const { dibs, held, heard } = await claimed();
  await dibs.tasks.ask({ ...held.by, question: "Which?" });
  expect(await held.renew()).toBe(true);
  expect(heard.waiting).toEqual([true]);
  await dibs.tasks.respond({ taskId: "0001", response: "this one" });
  expect(await held.renew()).toBe(true);
  expect(heard).toMatchObject({ waiting: [true, false], answers: ["this one"] });
});

test("a session that the store has forgotten is registered again, and the call repeated", async () => {
  const { dibs } = await claimed();
  const session = new HeldSession(() => dibs, { id: "b", agentType: "autonomous" });
  await session.register();
  await dibs.sessions.end({ sessionId: "b" });
  await dibs.tasks.create({ prompt: "more" });
  const { claim } = await session.known(() => dibs.tasks.claimNext({ sessionId: "b" }));
  expect(claim?.taskId).toBe("0002");
  await session.end();
  await session.end();
});

function reportsOf(
  dibs: Dibs,
  held: HeldClaim,
  more: { shorten?: () => string; silence?: AbortSignal } = {},
) {
  const hurry = new AbortController();
  const trouble: unknown[] = [];
  const options = { retryMs: 1, hurry: hurry.signal, onTrouble: (error: unknown) => trouble.push(error) };
  return { reports: new Reports(dibs, held, { ...options, ...more }), hurry, trouble };
}

/** The first calls fail, as if the store were away. */
function flaky(dibs: Dibs, failures: number): Dibs {
  let left = failures;
  const complete: Dibs["tasks"]["complete"] = async (...given) => {
    if (left-- > 0) away();
    return dibs.tasks.complete(...given);
  };
  return { ...dibs, tasks: { ...dibs.tasks, complete } } as Dibs;
}

test("a report is repeated until the store answers", async () => {
  const { dibs, held } = await claimed();
  const { reports, trouble } = reportsOf(flaky(dibs, 3), held);
  expect(await reports.complete("done")).toBe("completed");
  expect(trouble).toHaveLength(3);
});

test("a report is given up when the lease has ended", async () => {
  const { dibs, held, clock } = await claimed();
  clock.ms = 600_000;
  const { reports, trouble } = reportsOf(flaky(dibs, 1_000), held);
  expect(await reports.complete("done")).toBe("lost");
  expect(trouble).toMatchObject([{ code: "STORE_UNAVAILABLE" }]);
});

test("a report is tried once when the holder must hurry", async () => {
  const { dibs, held } = await claimed();
  const { reports, hurry } = reportsOf(flaky(dibs, 1_000), held);
  hurry.abort();
  expect(await reports.complete("done")).toBe("lost");
});

test("no report waits for a store that never answers when its holder is at its end", async () => {
  const { dibs, held } = await claimed();
  const silence = new AbortController();
  const { reports, hurry } = reportsOf(dibs, held, { silence: silence.signal });
  hurry.abort();
  const unanswered = reports.untilAnswered(async ({ signal }) => {
    await aborted(signal!);
    throw signal!.reason;
  });
  silence.abort();
  await expect(unanswered).rejects.toBe(silence.signal.reason);
});

test("a task with open subtasks goes back instead of being completed", async () => {
  const { dibs, held } = await claimed();
  await dibs.tasks.create({ prompt: "first", parentId: "0001" });
  const { reports } = reportsOf(dibs, held);
  expect(await reports.complete("done")).toBe("released");
  expect(reports.releasedFor).toBe("waits for its subtasks");
});

test("a task with an open question goes back and waits for the answer", async () => {
  const { dibs, held } = await claimed();
  await dibs.tasks.ask({ ...held.by, question: "Which?" });
  const { reports } = reportsOf(dibs, held);
  expect(await reports.complete("done")).toBe("awaiting");
});

test("a report after another program has reported for the same claim is no loss", async () => {
  const { dibs, held } = await claimed();
  await dibs.tasks.fail({ ...held.by, error: "no" });
  const { reports } = reportsOf(dibs, held);
  expect(await reports.complete("done")).toBe("reported");
});

test("a result that the store refuses is shortened where the holder can, and thrown where it cannot", async () => {
  const { dibs, held } = await claimed();
  const long = "x".repeat(3_000_000);
  await expect(reportsOf(dibs, held).reports.complete(long)).rejects.toBeInstanceOf(DibsError);
  expect(await reportsOf(dibs, held, { shorten: () => "short" }).reports.complete(long)).toBe("completed");
  expect((await dibs.tasks.get({ taskId: "0001" })).task.result?.output).toBe("short");
});
