// Many readers that drop and come back while a fleet writes, and what each of them must have seen.

import { expect } from "vitest";
import { until } from "../faults/support.js";
import { Reader } from "./reader.js";
import type { World } from "./support.js";

export interface Logged {
  seq: number;
  type: string;
  project: string | null;
  taskId: string | null;
}

export interface Filter {
  query: string;
  fits: (event: Logged) => boolean;
}

/** What readers have in common: where the server is, how far the writer has come, and one text per event. */
export interface Shared {
  world: World;
  random: () => number;
  /** The data of each event as the first reader saw it; all must see the same. */
  texts: Map<number, string>;
  progress: Progress;
}

/** How far the log has come, and who waits for it. */
export class Progress {
  at = 0;
  isOver = false;
  private waiting: { seq: number; resolve: () => void }[] = [];

  reached(seq: number): Promise<void> {
    if (this.isOver || this.at >= seq) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ seq, resolve }));
  }

  advance(seq: number): void {
    this.at = seq;
    const there = this.waiting.filter((each) => this.isThere(each));
    this.waiting = this.waiting.filter((each) => !this.isThere(each));
    for (const { resolve } of there) resolve();
  }

  end(): void {
    this.isOver = true;
    this.advance(this.at);
  }

  private isThere({ seq }: { seq: number }): boolean {
    return this.isOver || this.at >= seq;
  }
}

/** Breaks off at random, mostly in the middle of something, and resumes by header or address. */
export class Returning {
  readonly seen: number[] = [];
  readonly problems: string[] = [];
  comings = 0;
  private reader: Reader | null = null;
  private stopped = false;
  readonly done: Promise<void>;

  constructor(
    private readonly shared: Shared,
    readonly filter: Filter,
    private readonly how: "header" | "address",
  ) {
    this.done = this.run();
  }

  get last(): number {
    return this.seen.at(-1) ?? 0;
  }

  private async run(): Promise<void> {
    const { world, random, progress } = this.shared;
    while (!this.stopped) {
      this.comings++;
      let left = progress.isOver ? Number.POSITIVE_INFINITY : 20 + Math.floor(random() * 2_000);
      const after = this.how === "header" ? 0 : this.last;
      const reader = new Reader({
        url: world.url,
        token: world.token,
        query: `${this.filter.query}&after=${after}`,
        // A browser keeps its first address, and tells where it is in the header, which wins.
        lastEventId: this.how === "header" && this.last > 0 ? this.last : undefined,
        onMessage: ({ id, data }) => {
          this.see(Number(id), data);
          if (--left <= 0) reader.destroy();
        },
      });
      this.reader = reader;
      await reader.ended;
      if (reader.status !== 200 && reader.status !== 0) this.problems.push(`${reader.status} ${reader.body}`);
      await this.stayAway();
      // A server that is away for a moment is not asked in a loop.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  private see(seq: number, data: string): void {
    this.seen.push(seq);
    const known = this.shared.texts.get(seq);
    if (known === undefined) this.shared.texts.set(seq, data);
    else if (known !== data) this.problems.push(`event ${seq} read ${data} here, and ${known} elsewhere`);
  }

  /** Some come back soon, others when a good part of the log has passed. */
  private async stayAway(): Promise<void> {
    const { random, progress } = this.shared;
    await progress.reached(this.last + (random() < 0.5 ? 0 : Math.floor(random() * 500)));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.reader?.destroy();
    await this.done;
  }
}

/** The whole log, by pages. */
export async function wholeLog(world: World): Promise<{ events: Logged[]; texts: Map<number, string> }> {
  const events: Logged[] = [];
  const texts = new Map<number, string>();
  for (let after = 0; ; ) {
    const { body } = await world.get(`/api/events?project=*&limit=1000&after=${after}`);
    for (const event of body.events) {
      events.push(event);
      texts.set(event.seq, JSON.stringify(event));
    }
    if (body.events.length < 1000) return { events, texts };
    after = body.nextAfter;
  }
}

export async function expectExact(readers: Returning[], world: World, texts: Map<number, string>) {
  const log = await wholeLog(world);
  expect(log.events.map(({ seq }) => seq)).toEqual(log.events.map((_, at) => at + 1));
  const expected = new Map<Filter, number[]>();
  for (const { filter } of readers) {
    if (!expected.has(filter))
      expected.set(
        filter,
        log.events.filter(filter.fits).map(({ seq }) => seq),
      );
  }
  const behind = () =>
    readers.filter((reader) => reader.last < (expected.get(reader.filter)!.at(-1) ?? 0)).length;
  await until("every reader has come to the end", () => behind() === 0);
  for (const reader of readers) {
    expect(reader.problems).toEqual([]);
    const right = expected.get(reader.filter)!;
    const at = reader.seen.findIndex((seq, index) => seq !== right[index]);
    const where = `${reader.filter.query}: first wrong at ${at}: ${reader.seen.slice(Math.max(0, at - 3), at + 3)}`;
    expect(at === -1 && reader.seen.length === right.length, where).toBe(true);
  }
  for (const [seq, text] of texts) expect(JSON.parse(text)).toEqual(JSON.parse(log.texts.get(seq)!));
  return log;
}
