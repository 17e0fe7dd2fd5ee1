// Many claims that wait: who is tried, and that nobody sleeps while there is something for it.

import { describe, expect, test, vi } from "vitest";
import { until } from "../support.js";
import { driverNames, type Pipeline, pipelines } from "./world.js";

const on = await pipelines();
const count = 60;
const names = Array.from({ length: count }, (_, at) => `s${at}`);

interface Waiting {
  /** The task that each got, by session; its refusal; or null. */
  ends: Map<string, string | null>;
  leave: Map<string, AbortController>;
  all: Promise<unknown>;
  tries: () => number;
}

/** Sessions that wait, in this order. */
async function waitAll(
  pipeline: Pipeline,
  sessions: { id: string; register?: object; claim?: object; by?: object }[],
): Promise<Waiting> {
  await Promise.all(
    sessions.map(({ id, register = {}, by = {} }) =>
      pipeline.call("sessions.register", { id, ...register }, by),
    ),
  );
  const ends = new Map<string, string | null>();
  const leave = new Map(sessions.map(({ id }) => [id, new AbortController()]));
  const transact = vi.spyOn(pipeline.executor, "transact");
  const tries = () =>
    transact.mock.calls.filter(([{ handler }]) => handler.name === "tasks.claimNext").length;
  const waits: Promise<unknown>[] = [];
  for (const { id, claim = {}, by = {} } of sessions) {
    const input = { sessionId: id, waitMs: 60_000, ...claim };
    const wait = pipeline.call("tasks.claimNext", input, by, { signals: [leave.get(id)!.signal] } as never);
    waits.push(
      wait.then(
        ({ claim }) => ends.set(id, claim?.taskId ?? null),
        ({ code }) => ends.set(id, code),
      ),
    );
  }
  await until("all wait", () => tries() === 2 * sessions.length);
  const all = Promise.all(waits);
  return { ends, leave, all, tries };
}

async function endAll({ leave, all }: Waiting): Promise<void> {
  for (const each of leave.values()) each.abort();
  await all;
}

const plain = names.map((id) => ({ id }));
const create = async (pipeline: Pipeline, more: object = {}) =>
  (await pipeline.call("tasks.create", { prompt: "x", ...more })).task.id;

describe.each(driverNames)("many claims that wait, on %s", (driver) => {
  test(
    "are handed tasks in order of arrival, and few try in vain",
    on(driver, async (pipeline) => {
      const waiting = await waitAll(pipeline, plain);
      const before = waiting.tries();
      const ids = [];
      for (let at = 0; at < 5; at++) {
        ids.push(await create(pipeline));
        await until("it is taken", () => waiting.ends.size === ids.length);
      }
      expect([...waiting.ends.values()]).toEqual(ids);
      // The first of all may come late: it looks for dead processes before.
      for (const session of waiting.ends.keys()) expect(names.slice(0, 8)).toContain(session);
      expect(waiting.tries() - before).toBeLessThan(count);
      await endAll(waiting);
    }),
  );

  test(
    "try once for each change if they cannot take what is ready, and not again and again",
    on(driver, async (pipeline) => {
      for (const id of names) {
        await pipeline.call("sessions.register", { id });
        await create(pipeline);
        await pipeline.call("tasks.claimNext", { sessionId: id, start: true });
      }
      const busy = names.map((id) => ({ id, claim: { resume: false } }));
      const waiting = await waitAll(pipeline, busy);
      const before = waiting.tries();
      await create(pipeline, { requires: ["gpu"] });
      await create(pipeline);
      await until("all have tried", () => waiting.tries() >= before + count);
      const twice = before + 2 * count;
      // What is shown is that nothing happens for a while: a slow machine sees less of it, and does not fail.
      await pipeline.call("sessions.register", { id: "late" });
      const wait = { sessionId: "late", labels: ["none"], waitMs: 1_000 };
      expect((await pipeline.call("tasks.claimNext", wait)).claim).toBeNull();
      expect(waiting.tries()).toBeLessThanOrEqual(twice + 5);
      expect(waiting.ends.size).toBe(0);
      await endAll(waiting);
    }),
  );

  test(
    "get what fits only them, whatever else is ready that fits nobody",
    on(driver, async (pipeline) => {
      await pipeline.call("projects.create", { id: "other" });
      const special = [
        { id: "capable", register: { capabilities: ["gpu"] } },
        { id: "typed", register: { agentType: "codex" } },
        { id: "asked", claim: { agentType: "claude" } },
        { id: "labelled", claim: { labels: ["docs"] }, register: { agentType: "writer" } },
        { id: "elsewhere", by: { project: "other" } },
      ];
      const picky = plain.map(({ id }) => ({ id, claim: { labels: ["none"] } }));
      const waiting = await waitAll(pipeline, [...picky, ...special]);
      for (let at = 0; at < 20; at++) await create(pipeline, { requires: ["nobody"] });
      const wanted = {
        capable: await create(pipeline, { requires: ["gpu"], assignee: "capable" }),
        typed: await create(pipeline, { agentType: "codex" }),
        asked: await create(pipeline, { agentType: "claude" }),
        labelled: await create(pipeline, { labels: ["docs"], agentType: "writer" }),
        elsewhere: await create(pipeline, { project: "other" }),
        s41: await create(pipeline, { labels: ["none"], assignee: "s41" }),
      };
      await until("all have theirs", () => waiting.ends.size === Object.keys(wanted).length);
      expect(Object.fromEntries(waiting.ends)).toEqual(wanted);
      await endAll(waiting);
    }),
  );

  test(
    "hear of a session that learns, that ends, and of a token that is revoked",
    on(driver, async (pipeline) => {
      const { id: token } = await pipeline.call("tokens.create", { role: "worker" });
      const sessions = plain.map(({ id }) => (id === "s50" ? { id, by: { token, role: "worker" } } : { id }));
      const waiting = await waitAll(pipeline, sessions);
      const task = await create(pipeline, { requires: ["gpu"] });
      await pipeline.call("sessions.register", { id: "s40", capabilities: ["gpu"] });
      await until("s40 has it", () => waiting.ends.get("s40") === task);
      await pipeline.call("sessions.end", { sessionId: "s45" });
      await until("s45 is told", () => waiting.ends.get("s45") === "SESSION_NOT_FOUND");
      await pipeline.call("tokens.revoke", { id: token });
      await until("s50 is told", () => waiting.ends.get("s50") === "UNAUTHENTICATED");
      expect(waiting.ends.size).toBe(3);
      await endAll(waiting);
    }),
  );

  test(
    "get what comes due: scheduled for later, and left behind by a lease",
    on(driver, async (pipeline) => {
      const { clock } = pipeline;
      const waiting = await waitAll(pipeline, plain);
      const scheduled = await create(pipeline, { notBefore: clock.now() + 10_000 });
      const held = await create(pipeline, { assignee: "holder" });
      await pipeline.call("tasks.claim", { taskId: held, sessionId: "holder", register: true });
      await pipeline.call("tasks.update", { taskId: held, assignee: null });
      clock.advance(10_000);
      await until("the scheduled one is taken", () => [...waiting.ends.values()].includes(scheduled));
      clock.advance(3_600_000);
      await until("the lost one is taken", () => [...waiting.ends.values()].includes(held));
      await endAll(waiting);
    }),
  );

  test(
    "do not lose a task to one that leaves",
    on(driver, async (pipeline) => {
      const waiting = await waitAll(pipeline, plain);
      const creating = create(pipeline);
      waiting.leave.get("s0")!.abort();
      const id = await creating;
      await until("somebody has it", () => [...waiting.ends.values()].includes(id));
      await endAll(waiting);
    }),
  );
});

describe.each(driverNames)("a claim right after its holder's process died, on %s", (driver) => {
  const dead = new Set<number>();
  const world = { isAlive: (pid: number) => !dead.has(pid) };

  test.each([0, 1])("finds what it held, however short the last look is ago (waitMs %i)", (waitMs) =>
    on(
      driver,
      async (pipeline) => {
        const { hostId: host } = pipeline.executor.environment;
        await pipeline.call("sessions.register", { id: "next" });
        for (let pid = 1; pid <= 5; pid++) {
          const id = await create(pipeline);
          await pipeline.call("sessions.register", { id: `holder-${pid}`, pid, host });
          await pipeline.call("tasks.claimNext", { sessionId: `holder-${pid}` });
          // It looks for dead processes, and finds none yet.
          const early = await pipeline.call("tasks.claimNext", { sessionId: "next", waitMs });
          expect(early.claim).toBeNull();
          dead.add(pid);
          const { claim } = await pipeline.call("tasks.claimNext", { sessionId: "next", waitMs });
          expect(claim).toMatchObject({ taskId: id, epoch: 2 });
          await pipeline.call("tasks.complete", { taskId: id, sessionId: "next", epoch: 2 });
        }
        dead.clear();
      },
      world,
    )(),
  );
});

test(
  "a task that becomes ready between the first try of a claim and its wait is claimed",
  on("memory", async (pipeline) => {
    const { executor } = pipeline;
    const transact = executor.transact.bind(executor);
    let taskId: string | null = null;
    vi.spyOn(executor, "transact").mockImplementation(async (call, candidates) => {
      const done = await transact(call, candidates);
      if (call.handler.name === "tasks.claimNext") taskId ??= await create(pipeline.again());
      return done;
    });
    const input = { sessionId: "a", register: true, waitMs: 60_000 } as const;
    expect((await pipeline.call("tasks.claimNext", input)).claim).toMatchObject({ taskId });
  }),
);
