// Bad input through the library: a refusal with its own code that names what is wrong, and nothing written.

import { describe, expect, test } from "vitest";
import { limits } from "../../src/core/limits.js";
import type { Dibs } from "../../src/index.js";
import { openDibs } from "../../src/index.js";
import { open, openStore, readEverything, refusalOf, tempDir, tempFile } from "./support.js";

interface Held {
  dibs: Dibs;
  /** Held by session `me` at epoch 1. */
  held: string;
  queued: string;
  /** A child of `queued`. */
  child: string;
}

type Case = [what: string, call: (world: Held) => Promise<unknown>, code: string, message: RegExp];

/** What TypeScript would not let through. */
// biome-ignore lint/suspicious/noExplicitAny: that is the point.
const wrong = (value: unknown) => value as any;
const me = { sessionId: "me", epoch: 1 };
const long = (length: number) => "x".repeat(length);

const cases: Case[] = [
  // Unknown things
  ["get of an unknown task", ({ dibs }) => dibs.tasks.get({ taskId: "0999" }), "TASK_NOT_FOUND", /0999/],
  [
    "update of an unknown task",
    ({ dibs }) => dibs.tasks.update({ taskId: "0999", title: "x" }),
    "TASK_NOT_FOUND",
    /0999/,
  ],
  [
    "claim of an unknown task",
    ({ dibs }) => dibs.tasks.claim({ taskId: "0999", sessionId: "me" }),
    "TASK_NOT_FOUND",
    /0999/,
  ],
  [
    "claim by an unknown session",
    ({ dibs, queued }) => dibs.tasks.claim({ taskId: queued, sessionId: "ghost" }),
    "SESSION_NOT_FOUND",
    /ghost/,
  ],
  [
    "claimNext by an unknown session",
    ({ dibs }) => dibs.tasks.claimNext({ sessionId: "ghost", waitMs: 10 }),
    "SESSION_NOT_FOUND",
    /ghost/,
  ],
  [
    "complete by an unknown session",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, sessionId: "ghost" }),
    "SESSION_NOT_FOUND",
    /ghost/,
  ],
  [
    "heartbeat of an unknown session",
    ({ dibs }) => dibs.sessions.heartbeat({ sessionId: "ghost" }),
    "SESSION_NOT_FOUND",
    /ghost/,
  ],
  [
    "an unknown project",
    ({ dibs }) => dibs.tasks.create({ project: "nowhere", prompt: "x" }),
    "PROJECT_NOT_FOUND",
    /nowhere/,
  ],
  [
    "list of an unknown project",
    ({ dibs }) => dibs.tasks.list({ project: "nowhere" }),
    "PROJECT_NOT_FOUND",
    /nowhere/,
  ],
  [
    "events of an unknown project",
    ({ dibs }) => dibs.events.list({ project: "nowhere" }),
    "PROJECT_NOT_FOUND",
    /nowhere/,
  ],
  [
    "claim in an unknown project",
    ({ dibs }) => dibs.tasks.claimNext({ project: "nowhere", sessionId: "me" }),
    "PROJECT_NOT_FOUND",
    /nowhere/,
  ],
  [
    "a session in an unknown project",
    ({ dibs }) => dibs.sessions.register({ project: "nowhere" }),
    "PROJECT_NOT_FOUND",
    /nowhere/,
  ],
  [
    "an unknown dependency",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", dependsOn: ["0999"] }),
    "DEPENDENCY_NOT_FOUND",
    /0999/,
  ],
  [
    "an unknown parent",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", parentId: "0999" }),
    "TASK_NOT_FOUND",
    /0999/,
  ],
  [
    "an unknown notification",
    ({ dibs }) => dibs.notifications.read({ id: wrong("n999") }),
    "VALIDATION_FAILED|NOTIFICATION_NOT_FOUND",
    /n999|\bid\b/,
  ],
  // Cycles
  [
    "a task that waits for itself",
    ({ dibs, queued }) => dibs.tasks.update({ taskId: queued, dependsOn: [queued] }),
    "DEPENDENCY_CYCLE",
    /(\S+) → \1/,
  ],
  [
    "a child that waits for its parent",
    ({ dibs, queued, child }) => dibs.tasks.update({ taskId: child, dependsOn: [queued] }),
    "DEPENDENCY_CYCLE",
    /0002.* → .*0002/,
  ],
  [
    "a batch in a circle",
    ({ dibs }) =>
      dibs.tasks.batch({
        tasks: [
          { key: "a", prompt: "a", dependsOn: ["b"] },
          { key: "b", prompt: "b", dependsOn: ["a"] },
        ],
      }),
    "DEPENDENCY_CYCLE",
    / → /,
  ],
  // Too much
  [
    "a prompt of 256 KiB and a byte",
    ({ dibs }) => dibs.tasks.create({ prompt: long(limits.promptBytesMax + 1) }),
    "PAYLOAD_TOO_LARGE",
    /prompt.*262145/,
  ],
  [
    "a prompt too long in bytes only",
    ({ dibs }) => dibs.tasks.create({ prompt: "é".repeat(limits.promptBytesMax / 2 + 1) }),
    "PAYLOAD_TOO_LARGE",
    /prompt/,
  ],
  [
    "a prompt too long in an update",
    ({ dibs, queued }) => dibs.tasks.update({ taskId: queued, prompt: long(limits.promptBytesMax + 1) }),
    "PAYLOAD_TOO_LARGE",
    /prompt/,
  ],
  [
    "a prompt too long, second in a batch",
    ({ dibs }) =>
      dibs.tasks.batch({ tasks: [{ prompt: "fine" }, { prompt: long(limits.promptBytesMax + 1) }] }),
    "PAYLOAD_TOO_LARGE",
    /prompt/,
  ],
  [
    "a result of 1 MiB and a byte",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, ...me, result: long(limits.resultBytesMax + 1) }),
    "PAYLOAD_TOO_LARGE",
    /result.*1048577/,
  ],
  [
    "a result too long by release",
    ({ dibs, held }) =>
      dibs.tasks.release({
        taskId: held,
        ...me,
        reason: "completed",
        result: long(limits.resultBytesMax + 1),
      }),
    "PAYLOAD_TOO_LARGE",
    /result/,
  ],
  [
    "a title too long",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", title: long(501) }),
    "VALIDATION_FAILED",
    /title.*500/,
  ],
  [
    "an error too long",
    ({ dibs, held }) => dibs.tasks.fail({ taskId: held, ...me, error: long(limits.errorLengthMax + 1) }),
    "VALIDATION_FAILED",
    /error/,
  ],
  [
    "metadata too long",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: { x: long(limits.metadataBytesMax) } }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "a huge batch",
    ({ dibs }) => dibs.tasks.batch({ tasks: Array(limits.batchMax + 1).fill({ prompt: "x" }) }),
    "VALIDATION_FAILED",
    /tasks.*10000/,
  ],
  ["an empty batch", ({ dibs }) => dibs.tasks.batch({ tasks: [] }), "VALIDATION_FAILED", /tasks/],
  [
    "too long a wait",
    ({ dibs }) => dibs.tasks.claimNext({ sessionId: "me", waitMs: limits.waitMsMax + 1 }),
    "VALIDATION_FAILED",
    /waitMs/,
  ],
  ["too long a page", ({ dibs }) => dibs.tasks.list({ limit: 1_001 }), "VALIDATION_FAILED", /limit/],
  // Ids
  ...[
    "../x",
    "a/../b",
    "a..b",
    "/etc/passwd",
    "",
    " ",
    "a b",
    ".x",
    "-x",
    "a\\b",
    "C:x",
    "a\u0000b",
    "ä",
    long(129),
  ].flatMap((id): Case[] => [
    [
      `the id ${JSON.stringify(id).slice(0, 20)} for a task`,
      ({ dibs }) => dibs.tasks.create({ prompt: "x", id }),
      "VALIDATION_FAILED",
      /\bid\b/,
    ],
    [
      `the id ${JSON.stringify(id).slice(0, 20)} in a question`,
      ({ dibs }) => dibs.tasks.get({ taskId: id }),
      "VALIDATION_FAILED",
      /taskId/,
    ],
    [
      `the id ${JSON.stringify(id).slice(0, 20)} for a session`,
      ({ dibs }) => dibs.sessions.register({ id }),
      "VALIDATION_FAILED",
      /\bid\b/,
    ],
    [
      `the id ${JSON.stringify(id).slice(0, 20)} for a project`,
      ({ dibs }) => dibs.projects.create({ id }),
      "VALIDATION_FAILED",
      /\bid\b/,
    ],
  ]),
  [
    "a generated id",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", id: "A123" }),
    "VALIDATION_FAILED",
    /A123.*generated/,
  ],
  [
    "a word of a route as id",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", id: "claim-next" }),
    "VALIDATION_FAILED",
    /claim-next/,
  ],
  [
    "a word of a route as session",
    ({ dibs }) => dibs.sessions.register({ id: "summary" }),
    "VALIDATION_FAILED",
    /summary/,
  ],
  [
    "an id that exists",
    async ({ dibs, child }) => dibs.tasks.batch({ tasks: [{ prompt: "x" }, { id: child, prompt: "x" }] }),
    "ID_TAKEN",
    /0002_t1/,
  ],
  ["a project that exists", ({ dibs }) => dibs.projects.create({ id: "second" }), "ID_TAKEN", /second/],
  // Wrong types
  [
    "a number as prompt",
    ({ dibs }) => dibs.tasks.create({ prompt: wrong(7) }),
    "VALIDATION_FAILED",
    /prompt.*string/,
  ],
  ["no prompt", ({ dibs }) => dibs.tasks.create({}), "VALIDATION_FAILED", /prompt/],
  ["no input", ({ dibs }) => wrong(dibs.tasks.get)(), "VALIDATION_FAILED", /taskId/],
  ["a string as input", ({ dibs }) => dibs.tasks.get(wrong("0001")), "VALIDATION_FAILED", /object/],
  [
    "null as input of a wait",
    ({ dibs }) => dibs.tasks.claimNext(wrong(null)),
    "VALIDATION_FAILED",
    /sessionId/,
  ],
  ["an array as input of a claim", ({ dibs }) => dibs.tasks.claim(wrong([])), "VALIDATION_FAILED", /object/],
  [
    "an object as task id",
    ({ dibs }) => dibs.tasks.claim({ taskId: wrong({}), sessionId: "me" }),
    "VALIDATION_FAILED",
    /taskId/,
  ],
  [
    "a fraction as epoch",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, sessionId: "me", epoch: 1.5 }),
    "VALIDATION_FAILED",
    /epoch/,
  ],
  [
    "NaN as epoch",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, sessionId: "me", epoch: Number.NaN }),
    "VALIDATION_FAILED",
    /epoch/,
  ],
  [
    "a priority of 101",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", priority: 101 }),
    "VALIDATION_FAILED",
    /priority/,
  ],
  [
    "a priority in no known word",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", priority: wrong("urgent") }),
    "VALIDATION_FAILED",
    /priority/,
  ],
  [
    "a date that is none",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", notBefore: "tomorrow" }),
    "VALIDATION_FAILED",
    /notBefore/,
  ],
  [
    "an unknown state",
    ({ dibs }) => dibs.tasks.list({ state: wrong("sleeping") }),
    "VALIDATION_FAILED",
    /state/,
  ],
  [
    "an unknown field in an update",
    ({ dibs, queued }) => dibs.tasks.update(wrong({ taskId: queued, parentId: "0001" })),
    "VALIDATION_FAILED",
    /parentId/,
  ],
  [
    "a function in metadata",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: wrong({ run: () => 1 }) }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "a bad cursor",
    ({ dibs }) => dibs.tasks.list({ cursor: "'; DROP TABLE task" }),
    "VALIDATION_FAILED",
    /cursor/,
  ],
  [
    "a negative place in the events",
    ({ dibs }) => dibs.events.list({ after: -1 }),
    "VALIDATION_FAILED",
    /after/,
  ],
  // Text that has no form on disk
  [
    "NUL in a prompt",
    ({ dibs }) => dibs.tasks.create({ prompt: "a\u0000b" }),
    "VALIDATION_FAILED",
    /prompt.*NUL/,
  ],
  [
    "a lone surrogate in a prompt",
    ({ dibs }) => dibs.tasks.create({ prompt: "a\ud800b" }),
    "VALIDATION_FAILED",
    /prompt.*Unicode/,
  ],
  [
    "a lone surrogate in a result",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, ...me, result: "\udc00" }),
    "VALIDATION_FAILED",
    /result/,
  ],
  [
    "NUL in a question",
    ({ dibs, held }) => dibs.tasks.ask({ taskId: held, ...me, question: "\u0000?" }),
    "VALIDATION_FAILED",
    /question/,
  ],
  [
    "NUL in metadata",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: { a: "\u0000" } }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "a lone surrogate in metadata",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: { a: "\ud800" } }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "NUL in an idempotency key",
    ({ dibs }) => dibs.tasks.create({ prompt: "x" }, { idempotencyKey: "a\u0000b" }),
    "VALIDATION_FAILED",
    /idempotency/i,
  ],
  [
    "an endless idempotency key",
    ({ dibs }) => dibs.tasks.create({ prompt: "x" }, { idempotencyKey: long(100_000) }),
    "VALIDATION_FAILED",
    /idempotency/i,
  ],
  // Settings
  [
    "a lease above its bound",
    ({ dibs }) => dibs.projects.update({ settings: { claim: { defaultTtlMs: 99_000_000 } } }),
    "VALIDATION_FAILED",
    /claim\.defaultTtlMs/,
  ],
  [
    "bounds that cross",
    ({ dibs }) => dibs.projects.update({ settings: { claim: { minTtlMs: 9_000_000 } } }),
    "VALIDATION_FAILED",
    /claim\.minTtlMs/,
  ],
  [
    "a negative setting",
    ({ dibs }) => dibs.projects.update({ settings: { claim: { minTtlMs: -1 } } }),
    "VALIDATION_FAILED",
    /minTtlMs/,
  ],
  [
    "an unknown setting",
    ({ dibs }) => dibs.projects.update({ settings: wrong({ claim: { ttl: 5 } }) }),
    "VALIDATION_FAILED",
    /ttl/,
  ],
  [
    "an unknown order",
    ({ dibs }) => dibs.projects.update({ settings: { order: wrong("random") } }),
    "VALIDATION_FAILED",
    /order/,
  ],
  [
    "a lease outside the bounds",
    ({ dibs, queued }) => dibs.tasks.claim({ taskId: queued, sessionId: "me", ttlMs: 5 }),
    "VALIDATION_FAILED",
    /ttlMs.*60.?000.*7.?200.?000/,
  ],
  [
    "a claimNext outside the bounds",
    ({ dibs }) => dibs.tasks.claimNext({ sessionId: "me", ttlMs: 5 }),
    "VALIDATION_FAILED",
    /ttlMs/,
  ],
  // Refused by state
  [
    "a claim of what waits for its child",
    ({ dibs, queued }) => dibs.tasks.claim({ taskId: queued, sessionId: "me" }),
    "TASK_NOT_CLAIMABLE",
    /0002/,
  ],
  [
    "an old epoch",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, sessionId: "me", epoch: 9 }),
    "STALE_EPOCH",
    /9/,
  ],
  [
    "somebody else's task",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, sessionId: "you" }),
    "NOT_CLAIM_OWNER",
    /me/,
  ],
  [
    "an answer that nobody waits for",
    ({ dibs, held }) => dibs.tasks.respond({ taskId: held, response: "yes" }),
    "TASK_NOT_AWAITING",
    /0001/,
  ],
];

async function world() {
  const path = tempFile();
  const dibs = await open({ path });
  await dibs.projects.create({ id: "second" });
  const held = (await dibs.tasks.create({ prompt: "held" })).task.id;
  const queued = (await dibs.tasks.create({ prompt: "queued" })).task.id;
  const child = (await dibs.tasks.create({ prompt: "child", parentId: queued })).task.id;
  await dibs.sessions.register({ id: "me" });
  await dibs.sessions.register({ id: "you" });
  await dibs.tasks.claim({ taskId: held, sessionId: "me" });
  return { path, dibs, held, queued, child };
}

describe("bad input is refused by name, and nothing is written:", () => {
  test.each(cases)("%s", async (_what, call, code, message) => {
    const { path, ...held } = await world();
    const store = await openStore(path);
    const before = await readEverything(store);
    // A synchronous throw is a refusal too, though not how the library says it.
    const refusal = await refusalOf(call(held));
    expect(refusal.code).toMatch(new RegExp(`^(${code})$`));
    expect(refusal.message).toMatch(message);
    expect(await readEverything(store)).toEqual(before);
    // The next id shows that no counter moved either.
    expect((await held.dibs.tasks.create({ prompt: "next" })).task.id).toBe("0003");
  });
});

describe("opening", () => {
  test.each([
    ["without a path", {}],
    ["with an empty path", { path: "" }],
    ["with a number as path", { path: wrong(7) }],
    ["with both", { path: "/tmp/x.db", memory: true }],
    ["with nothing", undefined],
  ])("%s is refused", async (_what, options) => {
    const refusal = await refusalOf(openDibs(wrong(options)));
    expect(refusal).toMatchObject({ code: "VALIDATION_FAILED", message: expect.stringMatching(/path/) });
  });

  test("with a project that is no id is refused before anything is made", async () => {
    const path = `${tempDir()}/dibs.db`;
    const refusal = await refusalOf(openDibs({ path, project: "../x" }));
    expect(refusal).toMatchObject({ code: "VALIDATION_FAILED", message: expect.stringMatching(/project/) });
  });

  test("with a project that a store does not have: PROJECT_NOT_FOUND, never an empty list", async () => {
    const path = tempFile();
    await (await open({ path })).tasks.create({ prompt: "x" });
    const refused = openDibs({ path, project: "nowhere" }).then((dibs) =>
      dibs.tasks.list().finally(() => dibs.close()),
    );
    expect(await refusalOf(refused)).toMatchObject({ code: "PROJECT_NOT_FOUND" });
  });
});

test("a clock that goes backwards orders nothing anew and ends no lease early", async () => {
  let now = Date.UTC(2026, 0, 1);
  const dibs = await open({ path: tempFile(), clock: { now: () => now } });
  const { task } = await dibs.tasks.create({ prompt: "x" });
  const { claim } = await dibs.tasks.claim({ taskId: task.id, sessionId: "me", register: true });
  for (const step of [-1, -30_000, -86_400_000]) {
    now += step;
    await dibs.tasks.heartbeat({ taskId: task.id, sessionId: "me", epoch: claim.epoch });
    await dibs.tasks.create({ prompt: "another" });
  }
  const { events } = await dibs.events.list();
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const done = await dibs.tasks.complete({ taskId: task.id, sessionId: "me", epoch: claim.epoch });
  expect(done.task.state).toBe("completed");
});
