// kill -9 of a server under load. Clients that repeat a call under its key until it is answered see everything happen once.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { databaseIn, Serving } from "../http/program.js";
import { Reader } from "../http/reader.js";
import { checkStore, randomFrom, tempDir, until } from "./support.js";

const clients = 8;
const tasks = 200;
const kills = 3;

/** The server that runs now; it moves from process to process, on one port. */
class Place {
  server!: Serving;
  readonly db = databaseIn(tempDir());

  async start(): Promise<void> {
    const args = this.server ? ["--port", String(this.server.port)] : [];
    this.server = await new Serving(this.db, { args: [...args, "--log-level", "error"] }).ready();
  }

  /** Again and again, until somebody has answered. */
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  async call(key: string, path: string, body: unknown): Promise<any> {
    for (;;) {
      const answer = await this.server.post(path, body, { "idempotency-key": key }).catch(() => null);
      if (answer && answer.status < 300) return answer.body;
      if (answer && answer.status < 500) throw new Error(`${path} answered ${JSON.stringify(answer.body)}`);
      await sleep(5);
    }
  }
}

interface Done {
  taskId: string;
  epoch: number;
  sessionId: string;
}

class Client {
  readonly done: Done[] = [];
  private calls = 0;

  constructor(
    private readonly place: Place,
    readonly sessionId: string,
  ) {}

  async work(): Promise<void> {
    const { sessionId } = this;
    await this.call("/api/sessions", { id: sessionId });
    for (;;) {
      const { claim } = await this.call("/api/tasks/claim-next", { sessionId });
      if (!claim) return;
      const { taskId, epoch } = claim;
      const held = { sessionId, epoch };
      await this.call(`/api/tasks/${taskId}/progress`, { ...held, note: `by ${sessionId}` });
      const { task } = await this.call(`/api/tasks/${taskId}/complete`, { ...held, result: sessionId });
      expect(task).toMatchObject({ id: taskId, state: "completed" });
      this.done.push({ taskId, epoch, sessionId });
    }
  }

  private call(path: string, body: unknown) {
    return this.place.call(`${this.sessionId} ${++this.calls}`, path, body);
  }
}

/** Everything it sees, through all restarts. */
class Follower {
  readonly seen: string[] = [];
  private last = 0;
  private isOver = false;
  private reader: Reader | null = null;
  private readonly following: Promise<void>;

  constructor(private readonly place: Place) {
    this.following = this.follow();
  }

  private async follow(): Promise<void> {
    while (!this.isOver) {
      const { url, token } = this.place.server;
      this.reader = new Reader({
        url,
        token,
        query: `project=*&after=${this.last}`,
        onMessage: ({ id, data }) => {
          this.last = Number(id);
          this.seen.push(data);
        },
      });
      await this.reader.ended;
      await sleep(5);
    }
  }

  async end(seq: number): Promise<string[]> {
    await until("the reader has seen everything", () => this.last >= seq);
    this.isOver = true;
    this.reader?.destroy();
    await this.following;
    return this.seen;
  }
}

test("a server killed three times under load does everything once and loses nothing it has acknowledged", async () => {
  const seed = Number(process.env.DIBS_SEED) || Math.floor(Math.random() * 2 ** 31);
  console.info(`server-killed.test.ts: seed ${seed} (set DIBS_SEED to repeat)`);
  const random = randomFrom(seed);
  const place = new Place();
  await place.start();
  const batch = Array.from({ length: tasks }, (_, at) => ({ prompt: `part ${at}` }));
  const created = await place.call("batch", "/api/tasks/batch", { tasks: batch });
  const follower = new Follower(place);
  const all = Array.from({ length: clients }, (_, at) => new Client(place, `client-${at}`));
  const working = Promise.all(all.map((client) => client.work()));
  working.catch(() => undefined); // Told below.
  const acknowledged = () => all.flatMap(({ done }) => done);
  for (let kill = 1; kill <= kills; kill++) {
    const enough = Math.floor((tasks * kill) / (kills + 1));
    await until(`${enough} tasks are done`, () => acknowledged().length >= enough);
    await sleep(random() * 20);
    await place.server.kill();
    await place.start();
  }
  await working;

  const seen: string[] = [];
  const { server } = place;
  for (let after = 0; ; ) {
    const { events, nextAfter } = (await server.get(`/api/events?project=*&limit=1000&after=${after}`)).body;
    seen.push(...events.map((event: unknown) => JSON.stringify(event)));
    if (events.length === 0) break;
    after = nextAfter;
  }
  // The reader was shown nothing that was lost afterwards, and missed nothing.
  expect(await follower.end(seen.length)).toEqual(seen);
  expect(await server.stop()).toEqual({ code: 0, signal: null });

  const { events, tasks: stored, claims } = await checkStore(place.db);
  expect(stored.map(({ id }) => id).sort()).toEqual(created.tasks.map(idOf).sort());
  expect(stored.filter(({ state }) => state !== "completed")).toEqual([]);
  expect(claims).toEqual([]);
  const told = (type: string) =>
    events
      .filter((event) => event.type === type)
      .map(({ taskId, epoch, sessionId }) => `${taskId} ${epoch} ${sessionId}`)
      .sort();
  const expected = acknowledged()
    .map(({ taskId, epoch, sessionId }) => `${taskId} ${epoch} ${sessionId}`)
    .sort();
  expect(expected).toHaveLength(tasks);
  for (const type of ["task:claimed", "task:progress", "task:completed"])
    expect(told(type)).toEqual(expected);
  expect(events.filter(({ type }) => type === "task:created")).toHaveLength(tasks);
  expect(events.filter(({ type }) => type === "session:registered")).toHaveLength(clients);
}, 300_000);

function idOf({ id }: { id: string }): string {
  return id;
}
