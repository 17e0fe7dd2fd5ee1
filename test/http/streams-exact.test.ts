// Readers that drop and resume at random, a writer that never pauses, a server that restarts in the middle: each reader sees the
// log, or its part of it, exactly once and in order. DIBS_STREAMS=10 makes ten times as many events.

import { expect, test } from "vitest";
import { seeded } from "../postgres/support.js";
import { expectExact, type Filter, Progress, Returning } from "./fleet.js";
import { on, type StoreName, type World } from "./support.js";

const times = Number(process.env.DIBS_STREAMS) || 1;
const elsewhere = { headers: { "dibs-project": "other" } };

test.each<[StoreName, number, number]>([
  ["sqlite", 200, 5_000],
  ["postgres", 40, 1_000],
])(
  "on %s, while %d readers drop and resume, %d events pass and the server restarts, each reader sees its log exactly",
  (store, count, events) =>
    on(store, async (world) => {
      const random = seeded("streams-exact.test.ts");
      const progress = new Progress();
      const writer = await Writer.begin(world, random, progress);
      const shared = { world, random, progress, texts: new Map<number, string>() };
      const filters = filtersFor(writer.watched);
      const readers = Array.from({ length: count }, (_, at) => {
        // Most see everything; each filter has its share.
        const filter = filters[at % 3 === 0 ? (at / 3) % filters.length : 0]!;
        return new Returning(shared, filter, at % 4 === 1 ? "address" : "header");
      });
      try {
        await writer.writeUntil((events * times) / 2);
        const restarted = world.restart();
        await writer.writeUntil(events * times);
        await restarted;
        progress.end();
        const { events: log } = await expectExact(readers, world, shared.texts);
        expect(log.length).toBeGreaterThanOrEqual(events * times);
        for (const { fits } of filters) expect(log.filter(fits).length).toBeGreaterThan(events / 50);
        // All of them had to come back once, when the server did; how often they drop besides depends on the machine's pace.
        expect(readers.reduce((sum, { comings }) => sum + comings, 0)).toBeGreaterThan(count * 2);
      } finally {
        progress.end();
        await Promise.all(readers.map((reader) => reader.stop()));
      }
    })(),
  240_000 * times,
);

function filtersFor(watched: string): Filter[] {
  const moves = ["task:claimed", "task:completed"];
  return [
    { query: "project=*", fits: () => true },
    { query: "project=demo", fits: ({ project }) => project === "demo" },
    { query: "project=other", fits: ({ project }) => project === "other" },
    { query: `project=*&types=${moves.join(",")}`, fits: ({ type }) => moves.includes(type) },
    {
      query: `project=demo&taskId=${watched}`,
      fits: ({ project, taskId }) => project === "demo" && taskId === watched,
    },
    {
      query: "project=demo&types=task:progress",
      fits: ({ project, type }) => project === "demo" && type === "task:progress",
    },
  ];
}

/** Creates, claims, reports and completes in two projects; while the server is away it tries again under the same key. */
class Writer {
  private calls = 0;

  private constructor(
    private readonly world: World,
    private readonly random: () => number,
    private readonly progress: Progress,
    /** A task of `demo` about which much is reported. */
    readonly watched: string,
  ) {}

  static async begin(world: World, random: () => number, progress: Progress): Promise<Writer> {
    await world.post("/api/projects", { id: "other" });
    await world.session("talker");
    await world.session("worker", { capacity: 1000 });
    const watched = await world.task({ priority: 100 });
    await world.post(`/api/tasks/${watched}/claim`, { sessionId: "talker" });
    return new Writer(world, random, progress, watched);
  }

  async writeUntil(seq: number): Promise<void> {
    const { progress } = this;
    while (progress.at < seq) {
      await Promise.all(Array.from({ length: 8 }, () => this.step()));
      const page = await this.call("GET", `/api/events?project=*&limit=1000&after=${progress.at}`);
      progress.advance(page.nextAfter);
    }
  }

  private async step(): Promise<void> {
    const chance = this.random();
    if (chance < 0.3) {
      await this.call("POST", `/api/tasks/${this.watched}/progress`, { sessionId: "talker", note: "on it" });
    } else if (chance < 0.5) {
      await this.call("POST", "/api/tasks/batch", { tasks: this.tasks(10) }, elsewhere.headers);
    } else if (chance < 0.7) {
      await this.call("POST", "/api/tasks/batch", { tasks: this.tasks(5) });
    } else {
      const { claim } = await this.call("POST", "/api/tasks/claim-next", { sessionId: "worker" });
      if (!claim) return;
      const { taskId, epoch } = claim;
      await this.call("POST", `/api/tasks/${taskId}/complete`, { sessionId: "worker", epoch, result: "ok" });
    }
  }

  private tasks(max: number): { prompt: string }[] {
    return Array.from({ length: 1 + Math.floor(this.random() * max) }, (_, at) => ({
      prompt: `part ${at} of ${++this.calls}: ünïcödé, "quotes" and\nlines\r\n\u2028`,
    }));
  }

  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  private async call(method: string, path: string, body?: unknown, headers = {}): Promise<any> {
    const key = { "idempotency-key": `call-${++this.calls}` };
    for (;;) {
      const answer = await this.world
        .ask(method, path, body, { headers: { ...key, ...headers } })
        .catch(gone);
      if (answer && answer.status < 300) return answer.body;
      if (answer && answer.status < 500) throw new Error(`${path} answered ${JSON.stringify(answer.body)}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** The server is away: the connection is refused, or ends in the middle. */
function gone(error: unknown): null {
  if (error instanceof TypeError) return null;
  throw error;
}
