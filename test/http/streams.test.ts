// The event stream from outside: what it says first, what it sends, whom it refuses, and when it ends.

import { Agent, request } from "node:http";
import { describe, expect, test } from "vitest";
import { until } from "../faults/support.js";
import { type Ask, Reader } from "./reader.js";
import { on, storeNames, type World } from "./support.js";

const hourMs = 3_600_000;

function read(world: World, query = "", more: Partial<Ask> = {}): Reader {
  return new Reader({ url: world.url, token: world.token, query, ...more });
}

/** When it is there, the stream follows the log. */
async function following(world: World, query = "", more: Partial<Ask> = {}): Promise<Reader> {
  const reader = read(world, query, more);
  await until("the stream is ready", () => reader.comments.length > 0 || reader.isOver);
  expect(reader.status, reader.body).toBe(200);
  return reader;
}

async function refused(world: World, query: string, more: Partial<Ask> = {}) {
  const reader = read(world, query, more);
  await reader.ended;
  return { status: reader.status, contentType: reader.contentType, ...JSON.parse(reader.body) };
}

const seqs = ({ messages }: Reader) => messages.map(({ id }) => Number(id));

async function lastSeq(world: World): Promise<number> {
  const reader = await following(world);
  reader.destroy();
  return Number(reader.comments[0]!.replace("ready ", ""));
}

async function clients(world: World): Promise<number> {
  return Number(/^dibs_sse_clients (\d+)$/m.exec((await world.get("/metrics")).body)![1]);
}

describe.each(storeNames)("a stream on %s", (store) => {
  test(
    "says when to come back and where the log ends, and sends each event as the page shows it",
    on(store, async (world) => {
      await world.task();
      const end = await lastSeq(world);
      const reader = await following(world);
      expect(reader.retry).toBeGreaterThan(0);
      expect(reader.comments[0]).toBe(`ready ${end}`);
      expect(reader.contentType).toMatch(/^text\/event-stream/);
      const id = await world.task({ prompt: "lines\nand\r\nmore\u2028" });
      await until("two events came", () => reader.messages.length === 2);
      const { body } = await world.get(`/api/events?after=${end}`);
      expect(reader.messages).toEqual(
        body.events.map((event: { seq: number }) => ({ id: String(event.seq), data: JSON.stringify(event) })),
      );
      expect(JSON.parse(reader.messages[0]!.data)).toMatchObject({
        type: "task:created",
        taskId: id,
        project: "demo",
        data: { taskId: id },
      });
      reader.destroy();
    }),
  );

  test(
    "goes on after the number in the header, which wins over the one in the address",
    on(store, async (world) => {
      for (let at = 0; at < 5; at++) await world.task();
      const end = await lastSeq(world);
      const all = (from: number) => Array.from({ length: end - from }, (_, at) => from + 1 + at);
      const cases: [string, number | string | undefined, number][] = [
        ["after=0", undefined, 0],
        ["after=4", undefined, 4],
        ["after=0", 6, 6],
        ["", 3, 3],
        ["after=7", "", 7],
      ];
      for (const [query, lastEventId, from] of cases) {
        const reader = await following(world, `project=*&${query}`, { lastEventId });
        await until("the rest came", () => reader.messages.length >= end - from);
        expect(seqs(reader)).toEqual(all(from));
        reader.destroy();
      }
      const nothing = await following(world, `after=${end}`);
      await world.task();
      await until("only what is new came", () => nothing.messages.length === 2);
      expect(seqs(nothing)).toEqual([end + 1, end + 2]);
      nothing.destroy();
    }),
  );

  test(
    "shows a project, all of them, some types, or one task",
    on(store, async (world) => {
      await world.post("/api/projects", { id: "other" });
      const end = await lastSeq(world);
      const headers = { "dibs-project": "other" };
      const here = await world.task();
      await world.post("/api/tasks", { prompt: "elsewhere" }, { headers });
      await world.session("a");
      await world.post(`/api/tasks/${here}/claim`, { sessionId: "a", start: true });
      await world.task();
      await world.tokenFor("viewer");
      const last = await lastSeq(world);
      const { body } = await world.get(`/api/events?project=*&after=${end}`);
      type Event = { seq: number; type: string; project: string | null; taskId: string };
      const fitting = (fits: (event: Event) => boolean) =>
        (body.events as Event[]).filter(fits).map(({ seq }) => seq);
      const inDemo = ({ project }: Event) => project === "demo";
      const cases: [string, number[]][] = [
        ["", fitting(inDemo)],
        ["project=demo", fitting(inDemo)],
        ["project=other", fitting(({ project }) => project === "other")],
        ["project=*", fitting(() => true)],
        ["types=task:claimed,task:started", fitting(({ type }) => /claimed|started/.test(type))],
        ["types=task:claimed&types=task:started", fitting(({ type }) => /claimed|started/.test(type))],
        ["project=*&types=task:created", fitting(({ type }) => type === "task:created")],
        [`taskId=${here}`, fitting((event) => inDemo(event) && event.taskId === here)],
        [`taskId=${here}&types=task:queued`, [end + 2]],
        ["project=*&types=token:created", [last]],
      ];
      // From the store, and live.
      const live = await Promise.all(cases.map(([query]) => following(world, query)));
      for (const [query, expected] of cases) {
        expect(expected.length).toBeGreaterThan(0);
        const reader = await following(world, `${query}&after=${end}`);
        await until(`${query} came`, () => reader.messages.length >= expected.length);
        expect(seqs(reader), query).toEqual(expected);
        reader.destroy();
      }
      const again = await world.task();
      await until("what happens came", () => live[3]!.messages.length >= 2);
      expect(live[0]!.events.map(({ taskId }) => taskId)).toEqual([again, again]);
      expect(live[2]!.messages).toEqual([]);
      expect(live[6]!.events.map(({ type }) => type)).toEqual(["task:created"]);
      expect(live[7]!.messages).toEqual([]);
      for (const reader of live) reader.destroy();
      const byHeader = await world.get("/api/events?limit=1", { headers });
      expect(byHeader.body.events[0].project).toBe("other");
    }),
  );

  test(
    "tells a reader that was away too long, or comes from the future, to forget what it knows",
    on(
      store,
      async (world) => {
        for (let at = 0; at < 10; at++) await world.task();
        world.clock.advance(2 * hourMs);
        for (let at = 0; at < 3; at++) await world.task();
        await world.restart(); // Which looks for old events soon.
        const ends = { firstAvailable: 1, lastSeq: await lastSeq(world) };
        await until("the old events are archived", async () => {
          ends.firstAvailable = (await world.get("/api/events")).body.firstAvailable;
          return ends.firstAvailable > 1;
        });
        const { firstAvailable, lastSeq: end } = ends;
        expect(firstAvailable).toBe(end - 5);
        const kept = [end - 5, end - 4, end - 3, end - 2, end - 1, end];
        const tooOld = await following(world, "project=*", { lastEventId: 4 });
        await until("the kept ones came", () => tooOld.messages.length === 7);
        expect(seqs(tooOld)).toEqual([firstAvailable - 1, ...kept]);
        expect(JSON.parse(tooOld.messages[0]!.data)).toEqual({ type: "reset", data: ends });
        // Who has seen all that went, or some of what is there, need not forget.
        for (const [after, expected] of [
          [firstAvailable - 1, kept],
          [firstAvailable, kept.slice(1)],
        ] as const) {
          const inTime = await following(world, `after=${after}`);
          await until("the rest came", () => inTime.messages.length >= expected.length);
          expect(seqs(inTime)).toEqual(expected);
          inTime.destroy();
        }
        // As after a restore from a backup.
        const ahead = await following(world, "", { lastEventId: end + 100 });
        await world.task();
        await until("what is new came", () => ahead.messages.length === 3 && tooOld.messages.length === 9);
        expect(seqs(ahead)).toEqual([end, end + 1, end + 2]);
        expect(JSON.parse(ahead.messages[0]!.data)).toEqual({ type: "reset", data: ends });
        for (const reader of [ahead, tooOld]) reader.destroy();
      },
      { retainEventsMs: hourMs },
    ),
  );

  test(
    "refuses what is no number, no type and no project, and strangers",
    on(store, async (world) => {
      for (const after of ["-1", "x", "1.5", "1e3", "0x10", "9".repeat(16), "%20"]) {
        const byAddress = await refused(world, `after=${after}`);
        expect(byAddress).toMatchObject({ status: 400, error: "VALIDATION_FAILED", success: false });
        if (after === "%20") continue; // A header's blanks are no part of it.
        const byHeader = await refused(world, "", { lastEventId: after });
        expect(byHeader).toMatchObject({ status: 400, error: "VALIDATION_FAILED" });
      }
      expect(await refused(world, "types=task:nothing")).toMatchObject({ error: "VALIDATION_FAILED" });
      expect(await refused(world, "project=nowhere")).toMatchObject({
        status: 404,
        error: "PROJECT_NOT_FOUND",
        contentType: "application/problem+json",
      });
      expect(await refused(world, "", { token: null })).toMatchObject({ status: 401 });
      expect(await refused(world, "", { token: "dibs~default~x~y" })).toMatchObject({ status: 401 });
      const viewer = await world.tokenFor("viewer");
      (await following(world, "", { token: viewer })).destroy();
    }),
  );

  test(
    "is kept alive by comments",
    on(
      store,
      async (world) => {
        const reader = await following(world);
        await until("three comments came", () => reader.comments.length >= 4);
        expect(reader.comments.slice(1)).toContain("");
        expect(reader.messages).toEqual([]);
        await world.task();
        await until("the events came among them", () => reader.messages.length === 2);
        reader.destroy();
      },
      { limits: { commentMs: 20 } },
    ),
  );

  test(
    "ends soon after its token was revoked or has expired, and only then",
    on(
      store,
      async (world) => {
        const made = await world.post("/api/tokens", { name: "gone soon", role: "viewer" });
        const short = await world.post("/api/tokens", { name: "short", role: "viewer", expiresInMs: 60_000 });
        const [revoked, expired, other] = await Promise.all([
          following(world, "", { token: made.body.token }),
          following(world, "", { token: short.body.token }),
          following(world),
        ]);
        await until("they are told that all is well", () => revoked.comments.length > 2);
        await world.delete(`/api/tokens/${made.body.id}`);
        expect(await revoked.ended).toBe("complete");
        const comments = expired.comments.length;
        await until("the others go on", () => expired.comments.length > comments + 1);
        world.clock.advance(61_000);
        expect(await expired.ended).toBe("complete");
        await until("the other goes on", () => other.comments.length > comments + 4);
        expect(other.isOver).toBe(false);
        expect(await refused(world, "", { token: made.body.token })).toMatchObject({ status: 401 });
        other.destroy();
      },
      { limits: { commentMs: 25 } },
    ),
  );

  test(
    "is one of a bounded number per token; whoever vanishes makes room at once",
    on(
      store,
      async (world) => {
        const token = await world.tokenFor("viewer");
        const readers = await Promise.all([1, 2, 3].map(() => following(world, "", { token })));
        expect(await refused(world, "", { token })).toMatchObject({
          status: 429,
          error: "RATE_LIMITED",
          retryable: true,
        });
        const another = await following(world);
        expect(await clients(world)).toBe(4);
        readers[1]!.destroy();
        await until("it is no longer counted", async () => (await clients(world)) === 3);
        readers[1] = await following(world, "", { token });
        expect(await refused(world, "", { token })).toMatchObject({ status: 429 });
        for (const reader of [...readers, another]) reader.destroy();
        await until("nobody is counted", async () => (await clients(world)) === 0);
      },
      { limits: { streamsMax: 3 } },
    ),
  );

  test(
    "of a hundred readers that come and break off at any moment leaves nothing behind",
    on(
      store,
      async (world) => {
        for (let round = 0; round < 10; round++) {
          const readers = Array.from({ length: 10 }, () => read(world, "after=0"));
          // Some before they were answered, some after.
          const [first] = readers;
          for (const reader of readers.slice(5)) reader.destroy();
          await first!.opened;
          for (const reader of readers) reader.destroy();
          await until("all are gone", async () => (await clients(world)) === 0);
        }
        (await following(world)).destroy();
      },
      { limits: { streamsMax: 10 } },
    ),
  );

  test(
    "ends as the protocol says when the server stops",
    on(store, async (world) => {
      const readers = await Promise.all([1, 2, 3].map(() => following(world)));
      await world.task();
      await world.server.close();
      for (const reader of readers) {
        expect(await reader.ended).toBe("complete");
        expect(reader.messages.length === 2 || reader.messages.length === 0).toBe(true);
      }
    }),
  );
});

test(
  "asked for its headers only, a stream answers and ends, and its connection goes on",
  on("sqlite", async (world) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (method: string, path: string) =>
      new Promise<{ status: number; type: string | undefined }>((resolve, reject) => {
        const headers = { authorization: `Bearer ${world.token}` };
        const asking = request(`${world.url}${path}`, { method, headers, agent });
        asking.setTimeout(40_000, () => asking.destroy(new Error(`no answer to ${method} ${path}`)));
        asking.on("error", reject);
        asking.on("response", (got) => {
          got.resume();
          got.on("end", () => resolve({ status: got.statusCode!, type: got.headers["content-type"] }));
        });
        asking.end();
      });
    try {
      const head = await ask("HEAD", "/api/events/stream");
      expect(head).toEqual({ status: 200, type: expect.stringMatching(/^text\/event-stream/) });
      expect((await ask("GET", "/healthz")).status).toBe(200);
      expect(await clients(world)).toBe(0);
    } finally {
      agent.destroy();
    }
  }),
);
