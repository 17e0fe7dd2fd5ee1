// Two servers on one PostgreSQL database: what happens through one is seen, waited for and allowed through the other.

import { expect, test } from "vitest";
import { type DibsServer, type ServeOptions, serveDibs } from "../../src/serve.js";
import { tempDir, until } from "../faults/support.js";
import { cloneDatabase } from "../postgres/database.js";
import { stored } from "../postgres/support.js";
import { type Answer, Serving } from "./program.js";
import { type Ask, Reader } from "./reader.js";

class Node {
  private constructor(readonly server: DibsServer) {}

  static async start(url: string, limits: ServeOptions["limits"] = {}): Promise<Node> {
    return new Node(await serveDibs({ url, project: "demo", port: 0, log: () => undefined, limits }));
  }

  async ask(method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
    const answer = await fetch(`${this.server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.server.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  get = (path: string, headers = {}) => this.ask("GET", path, undefined, headers);
  post = (path: string, body: unknown = {}, headers = {}) => this.ask("POST", path, body, headers);

  async task(more: object = {}): Promise<string> {
    return (await this.post("/api/tasks", { prompt: "do it", ...more })).body.task.id;
  }

  async reader(query = "", more: Partial<Ask> = {}): Promise<Reader> {
    const reader = new Reader({ url: this.server.url, token: this.server.token, query, ...more });
    await until("the stream is ready", () => reader.comments.length > 0);
    return reader;
  }

  async commits(): Promise<number> {
    const { body } = await this.get("/metrics");
    return Number(/^dibs_store_seconds_count\{operation="commit"\} (\d+)$/m.exec(body)?.[1] ?? 0);
  }

  /** A call that waits, as far as one can see from outside: it has tried, and tried again. */
  async waiting(sessionId: string): Promise<{ answer: ReturnType<Node["post"]> }> {
    const before = await this.commits();
    const answer = this.post("/api/tasks/claim-next", { sessionId, waitMs: 60_000, register: true });
    await until("the call waits", async () => (await this.commits()) >= before + 2);
    return { answer };
  }
}

function onTwoNodes(
  story: (a: Node, b: Node, url: string) => Promise<void>,
  limits?: ServeOptions["limits"],
): () => Promise<void> {
  return async () => {
    const { url, drop } = await cloneDatabase();
    const nodes: Node[] = [];
    try {
      for (let at = 0; at < 2; at++) nodes.push(await Node.start(url, limits));
      await story(nodes[0]!, nodes[1]!, url);
    } finally {
      await Promise.all(nodes.map(({ server }) => server.close()));
      await drop();
    }
  };
}

test(
  "a claim that waits on one server is woken by work that comes, or comes free, through the other",
  onTwoNodes(async (a, b) => {
    const forNew = await b.waiting("b1");
    const id = await a.task();
    expect(await forNew.answer).toMatchObject({
      status: 200,
      body: { claim: { taskId: id, sessionId: "b1" } },
    });
    const dependent = await a.task({ dependsOn: [id] });
    const forUnblocked = await b.waiting("b2");
    await a.post(`/api/tasks/${id}/complete`, { sessionId: "b1", result: "ok" });
    expect((await forUnblocked.answer).body.claim).toMatchObject({ taskId: dependent, sessionId: "b2" });
    const forReleased = await b.waiting("b3");
    await a.post(`/api/tasks/${dependent}/release`, { sessionId: "b2", reason: "enough" });
    expect((await forReleased.answer).body.claim).toMatchObject({ taskId: dependent, sessionId: "b3" });
  }),
);

test(
  "readers on both servers see what happens on both, exactly and in order, while both are written to",
  onTwoNodes(async (a, b, url) => {
    const readers = [
      await a.reader("project=*"),
      await b.reader("project=*"),
      await b.reader("project=*&after=0"),
    ];
    const from = Number(readers[1]!.comments[0]!.replace("ready ", ""));
    await Promise.all(
      Array.from({ length: 120 }, async (_, at) => {
        await (at % 3 === 0 ? b : a).task({ prompt: `part ${at}` });
      }),
    );
    const { events } = await stored(url);
    const all = events.map(({ seq }) => seq);
    const live = all.filter((seq) => seq > from);
    const seqs = ({ messages }: Reader) => messages.map(({ id }) => Number(id));
    const expected = [live, live, all];
    for (const [at, reader] of readers.entries()) {
      await until("it has seen all", () => reader.messages.length >= expected[at]!.length);
      expect(seqs(reader)).toEqual(expected[at]);
    }
    // To the letter the same on both.
    expect(readers[1]!.messages).toEqual(readers[0]!.messages);
    // One that was on A goes on at B.
    const half = readers[0]!.messages[100]!;
    readers[0]!.destroy();
    const moved = await b.reader("project=*", { lastEventId: half.id });
    await until("it has the rest", () => moved.messages.length >= readers[1]!.messages.length - 101);
    expect(moved.messages).toEqual(readers[1]!.messages.slice(101));
    for (const reader of [...readers, moved]) reader.destroy();
  }),
);

test(
  "a token made on one server works on the other at once, and stops working there soon after it is revoked",
  onTwoNodes(
    async (a, b) => {
      expect(a.server.token).toBe(b.server.token); // They found the same file.
      const { body: made } = await a.post("/api/tokens", { name: "agent", role: "worker" });
      const bearer = { authorization: `Bearer ${made.token}` };
      expect((await b.get("/api/tasks", bearer)).status).toBe(200);
      const reader = await b.reader("", { token: made.token });
      const other = await b.reader();
      const registered = { sessionId: "s", register: true };
      const waiting = b.post("/api/tasks/claim-next", { ...registered, waitMs: 60_000 }, bearer);
      await until("it waits", async () => (await b.get("/api/sessions/s")).status === 200);
      await a.ask("DELETE", `/api/tokens/${made.id}`);
      expect((await waiting).status).toBe(401);
      expect((await a.get("/api/tasks", bearer)).status).toBe(401);
      await until(
        "the other server refuses it",
        async () => (await b.get("/api/tasks", bearer)).status === 401,
      );
      expect(await reader.ended).toBe("complete");
      expect(other.isOver).toBe(false);
      other.destroy();
    },
    { commentMs: 100 },
  ),
);

test(
  "a session works through both: leases, fencing and keys hold across servers",
  onTwoNodes(async (a, b) => {
    await a.post("/api/sessions", { id: "s" });
    const id = await a.task();
    const key = { "idempotency-key": "claim-1" };
    const claimed = await b.post(`/api/tasks/${id}/claim`, { sessionId: "s" }, key);
    expect(await a.post(`/api/tasks/${id}/claim`, { sessionId: "s" }, key)).toEqual(claimed);
    expect((await a.post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: "s" })).status).toBe(200);
    const refused = await a.post(`/api/tasks/${id}/claim`, { sessionId: "t", register: true });
    expect(refused).toMatchObject({ status: 409, body: { error: "TASK_ALREADY_CLAIMED" } });
    await b.post(`/api/tasks/${id}/release`, { sessionId: "s", reason: "later" });
    await a.post(`/api/tasks/${id}/claim`, { sessionId: "t", register: true });
    const late = await b.post(`/api/tasks/${id}/complete`, { sessionId: "s", epoch: 1, result: "late" });
    expect(late).toMatchObject({ status: 403, body: { error: "NOT_CLAIM_OWNER" } });
    const done = await b.post(`/api/tasks/${id}/complete`, { sessionId: "t", epoch: 2, result: "ok" });
    expect(done.body.task.state).toBe("completed");
    expect((await a.get(`/api/tasks/${id}`)).body.task.result.output).toBe("ok");
  }),
);

test(
  "workers spread over both servers do each task once, also when one of the servers stops",
  onTwoNodes(async (a, b, url) => {
    const count = 60;
    const tasks = Array.from({ length: count }, (_, at) => ({ prompt: `part ${at}` }));
    await a.post("/api/tasks/batch", { tasks });
    let calls = 0;
    /** Who asks a server that is gone asks the other one, under the same key. */
    const call = async (at: number, path: string, body: unknown) => {
      const key = { "idempotency-key": `call-${++calls}` };
      for (const node of at % 2 === 0 ? [a, b] : [b, a]) {
        const answer = await node.post(path, body, key).catch(() => null);
        if (answer?.status === 200) return answer.body;
      }
      throw new Error(`nobody answers ${path}`);
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
    await a.server.close();
    await Promise.all(working);
    const { events, tasks: all } = await stored(url);
    expect(all.filter(({ state }) => state !== "completed")).toEqual([]);
    const completed = events.filter(({ type }) => type === "task:completed").map(({ taskId }) => taskId);
    expect(new Set(completed).size).toBe(count);
    expect(completed).toHaveLength(count);
    expect(events.filter(({ type }) => type === "task:claimed")).toHaveLength(count);
  }),
);

test("two programs that start at once on an empty database both serve; one is killed, the other goes on and stops in order", async () => {
  const { url, drop } = await cloneDatabase({ migrated: false });
  try {
    const env = { HOME: tempDir() };
    const [a, b] = await Promise.all([1, 2].map(() => new Serving(url, { env }).ready()));
    const id = await a!.task();
    await b!.post("/api/sessions", { id: "s" });
    const { claim } = (await b!.post("/api/tasks/claim-next", { sessionId: "s", waitMs: 10_000 })).body;
    expect(claim.taskId).toBe(id);
    const reader = b!.reader("project=*");
    await until("the stream is ready", () => reader.comments.length > 0);
    const waiting = b!.post("/api/tasks/claim-next", { sessionId: "t", register: true, waitMs: 60_000 });
    await a!.kill();
    expect((await b!.post(`/api/tasks/${id}/complete`, { sessionId: "s", result: "ok" })).status).toBe(200);
    const next = await b!.task();
    expect((await waiting).body.claim.taskId).toBe(next);
    const held = b!.post("/api/tasks/claim-next", { sessionId: "u", register: true, waitMs: 60_000 });
    await until("the session of the last call is there", () =>
      reader.events.some(({ type, sessionId }) => type === "session:registered" && sessionId === "u"),
    );
    expect(await b!.stop()).toEqual({ code: 0, signal: null });
    expect(await held).toMatchObject({ status: 200, body: { claim: null } });
    expect(await reader.ended).toBe("complete");
    const all = await stored(url);
    expect(all.tasks.map(({ state }) => state)).toEqual(["completed", "queued"]);
    // As kept as on a file: its successor finds the token that it left.
    const successor = await new Serving(url, { env }).ready();
    expect((await successor.get("/api/tasks")).status).toBe(200);
    expect([a!.token, b!.token]).toContain(successor.token);
  } finally {
    await drop();
  }
});
