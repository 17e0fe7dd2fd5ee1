// Two servers on one set of tables, as processes of their own.

import { beforeAll, describe, expect, test } from "vitest";
import { brokenInvariants } from "../../src/core/invariants.js";
import { openDynamoStoreAt } from "../../src/store/dynamodb/open.js";
import { readEverything } from "../faults/support.js";
import { Serving } from "../http/program.js";
import { tempDir, until } from "../support.js";
import { hasNoLocal, newTables } from "./local.js";

async function stored(url: string) {
  const store = await openDynamoStoreAt(url, null);
  try {
    const all = await readEverything(store);
    expect(brokenInvariants(all)).toEqual([]);
    return all;
  } finally {
    await store.close();
  }
}

describe.skipIf(hasNoLocal)("two servers", () => {
  let url: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    url = await newTables();
    env = { HOME: tempDir() };
  });

  const startBoth = () => Promise.all([1, 2].map(() => new Serving(url, { env }).ready()));

  test("wake each other's waiting claims; one is killed, and the other continues with what it has left", async () => {
    const [a, b] = await startBoth();
    const id = await a!.task();
    await b!.post("/api/sessions", { id: "s" });
    const { claim } = (await b!.post("/api/tasks/claim-next", { sessionId: "s", waitMs: 10_000 })).body;
    expect(claim.taskId).toBe(id);
    const reader = b!.reader("project=*");
    await until("the stream is ready", () => reader.comments.length > 0);
    const wait = (sessionId: string) =>
      b!.post("/api/tasks/claim-next", { sessionId, register: true, waitMs: 60_000 });
    const waits = (sessionId: string) =>
      until(`${sessionId} is registered`, () =>
        reader.events.some((event) => event.type === "session:registered" && event.sessionId === sessionId),
      );
    const waiting = wait("t");
    await waits("t");
    const dependent = await a!.task({ dependsOn: [id] });
    const next = await a!.task();
    expect((await waiting).body.claim.taskId).toBe(next);

    const freed = wait("u");
    await waits("u");
    await a!.post(`/api/tasks/${id}/complete`, { sessionId: "s", epoch: claim.epoch, result: "ok" });
    expect((await freed).body.claim.taskId).toBe(dependent);

    const last = await a!.task();
    await a!.kill();
    expect((await b!.post("/api/tasks/claim-next", { sessionId: "s" })).body.claim.taskId).toBe(last);
    expect(await b!.stop()).toEqual({ code: 0, signal: null });
    const all = await stored(url);
    expect(all.claims.map(({ taskId }) => taskId).sort()).toEqual([dependent, last, next].sort());
  });

  test("do each task once, also when one of them is killed while it works", async () => {
    const own = await newTables();
    const [a, b] = await Promise.all([1, 2].map(() => new Serving(own, { env }).ready()));
    const count = 60;
    const tasks = Array.from({ length: count }, (_, at) => ({ prompt: `part ${at}` }));
    await a!.post("/api/tasks/batch", { tasks });
    let calls = 0;
    /** A call that fails is repeated at the other server, under the same key. */
    const call = async (at: number, path: string, body: unknown) => {
      const key = { "idempotency-key": `call-${++calls}` };
      for (const server of at % 2 === 0 ? [a!, b!, b!] : [b!, b!]) {
        const answer = await server.post(path, body, key).catch(() => null);
        if (answer?.status === 200) return answer.body;
      }
      throw new Error(`no server answers ${path}`);
    };
    let done = 0;
    const working = Array.from({ length: 6 }, async (_, at) => {
      const sessionId = `w${at}`;
      for (;;) {
        const { claim } = await call(at, "/api/tasks/claim-next", { sessionId, register: true });
        if (!claim) return;
        const { taskId, epoch } = claim;
        await call(at, `/api/tasks/${taskId}/complete`, { sessionId, epoch, result: sessionId });
        done++;
      }
    });
    await until("a third is done", () => done >= count / 3);
    await a!.kill();
    await Promise.all(working);
    await b!.stop();
    const { events, tasks: all } = await stored(own);
    expect(all.filter(({ state }) => state !== "completed")).toEqual([]);
    const ids = (type: string) => events.filter((event) => event.type === type).map(({ taskId }) => taskId);
    expect(new Set(ids("task:completed")).size).toBe(count);
    expect(ids("task:completed")).toHaveLength(count);
    expect(ids("task:claimed")).toHaveLength(count);
  });
});
