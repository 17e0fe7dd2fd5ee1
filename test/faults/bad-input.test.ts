// Bad input through the library: what does not exist, waits for itself, is too much, or comes at the wrong time.

import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { refusals, wrong } from "./refusals.js";
import { open, refusalOf, tempDir, tempFile } from "./support.js";

refusals("unknown things", [
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
    "VALIDATION_FAILED|(NOTIFICATION_)?NOT_FOUND",
    /n999|\bid\b/,
  ],
]);

refusals("cycles", [
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
]);

refusals("settings and bounds", [
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
]);

refusals("the wrong moment", [
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
]);

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
