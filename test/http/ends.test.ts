// What ends early: waits and streams of tokens that were revoked, waits of sessions that are over, starts that fail half way.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serveDibs } from "../../src/serve.js";
import { eventually } from "../eventually.js";
import { tempDir } from "../support.js";
import { on, storeNames } from "./support.js";

const kinds = ["task", "review"] as const;
const waits = storeNames.flatMap((store) => kinds.map((kind) => [kind, store] as const));

test.each(waits)(
  "a claim of a %s that waits ends with its token, and is handed nothing, on %s",
  (kind, store) =>
    on(store, async (world) => {
      const { token, id } = (await world.post("/api/tokens", { role: "worker" })).body;
      await world.post("/api/sessions", { id: "a" }, { token });
      const claim = { sessionId: "a", kind, waitMs: 60_000 };
      const waiting = world.post("/api/tasks/claim-next", claim, { token });
      // What comes after it on the way is answered before: it waits.
      for (let at = 0; at < 5; at++) expect((await world.get("/api/sessions/a")).status).toBe(200);
      await world.delete(`/api/tokens/${id}`);
      const { status, body } = await waiting;
      expect([status, body.error]).toEqual([401, "UNAUTHENTICATED"]);
      const taskId = await world.task();
      expect((await world.get(`/api/tasks/${taskId}`)).body.task.state).toBe("queued");
    })(),
);

test.each(storeNames)("a stream ends with its token, on %s", (store) =>
  on(store, async (world) => {
    const { token, id } = (await world.post("/api/tokens", { role: "viewer" })).body;
    const answer = await fetch(`${world.url}/api/events/stream`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const reader = answer.body!.getReader();
    await reader.read();
    await world.delete(`/api/tokens/${id}`);
    for (;;) if ((await reader.read()).done) break;
  })(),
);

test.each(waits)("a claim of a %s that waits for a session that is over ends at once, on %s", (kind, store) =>
  on(store, async (world) => {
    await world.session("a");
    const waiting = world.post("/api/tasks/claim-next", { sessionId: "a", kind, waitMs: 60_000 });
    const under = async () =>
      /dibs_store_seconds_count\{operation="commit"\} (\d+)/.exec((await world.get("/metrics")).body)?.[1];
    const before = await under();
    await eventually(async () => Number(await under())).toBeGreaterThanOrEqual(Number(before ?? 0));
    await world.delete("/api/sessions/a");
    expect((await waiting).body.error).toBe("SESSION_NOT_FOUND");
  })(),
);

test("a start that fails at its last step leaves nothing behind", async () => {
  const directory = tempDir();
  try {
    const path = join(directory, "dibs.db");
    mkdirSync(`${path}.server.json/in-the-way`, { recursive: true });
    const options = { path, port: 0, log: () => undefined };
    await expect(serveDibs(options)).rejects.toThrow();
    rmSync(`${path}.server.json`, { recursive: true });
    const server = await serveDibs(options); // Neither the port nor the lock is held.
    await server.close();
  } finally {
  }
});

test("the same in other words: a lock by its path, a lock given back by a body, filters by type and task", () =>
  on("sqlite", async (world) => {
    const lock = await world.post("/api/locks/build", { sessionId: "s1" });
    expect(lock.body.lock.name).toBe("build");
    const released = await world.ask("DELETE", "/api/locks/build", { sessionId: "s1" });
    expect(released.body).toEqual({ success: true, released: true });
    const id = await world.task();
    await world.task();
    const { events } = (await world.get(`/api/events?type=task:created&task=${id}`)).body;
    expect(events.map(({ type, taskId }: { type: string; taskId: string }) => [type, taskId])).toEqual([
      ["task:created", id],
    ]);
    expect((await world.get("/api/tasks?project=")).status).toBe(200);
  })());

test("a progress report without words renews the lease and keeps what was said", () =>
  on("sqlite", async (world) => {
    await world.session("a");
    const id = await world.task();
    await world.post(`/api/tasks/${id}/claim`, { sessionId: "a", start: true });
    await world.post(`/api/tasks/${id}/progress`, { sessionId: "a", note: "half", percent: 50 });
    const { task } = (await world.post(`/api/tasks/${id}/progress`, { sessionId: "a" })).body;
    expect(task.claim.progress).toMatchObject({ note: "half", percent: 50 });
  })());
