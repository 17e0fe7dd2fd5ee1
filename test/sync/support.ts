// A store and a tasks.json in a directory of their own, and words to look at both sides.

import { readFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type News,
  type Sync,
  type SyncOptions,
  startSync,
  syncOnce,
} from "../../src/bridges/tasks-json/index.js";
import { type Dibs, openDibs } from "../../src/index.js";
import * as machine from "../../src/runtime/liveness.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { tempDir } from "../support.js";

// biome-ignore lint/suspicious/noExplicitAny: a task in a file may have anything.
export type Entry = Record<string, any>;
// biome-ignore lint/suspicious/noExplicitAny: so may the file.
export type Content = Record<string, any> & { tasks: Entry[] };

/** A store that was made at another time is another store. */
export function laterClock(): TestClock {
  const clock = new TestClock();
  clock.advance(1_000);
  return clock;
}

/** Short enough for tests, long enough to be what they are. */
export const timings = { debounceMs: 5, writeEveryMs: 5, pollMs: 50, refreshMs: 100, settleMs: 100 };

export class Scene {
  readonly news: News[] = [];
  readonly file: string;

  constructor(
    readonly directory: string,
    readonly dibs: Dibs,
    readonly clock: TestClock,
    private readonly more: Partial<SyncOptions>,
  ) {
    this.file = join(directory, "tasks.json");
  }

  private get options(): SyncOptions {
    return {
      dibs: this.dibs,
      project: "demo",
      file: this.file,
      machine,
      tell: (news) => void this.news.push(news),
      timings,
      ...this.more,
    };
  }

  /** One exchange, and what there was to tell of it. */
  async sync(more: Partial<SyncOptions> = {}): Promise<News[]> {
    this.news.length = 0;
    await syncOnce({ ...this.options, ...more });
    return [...this.news];
  }

  /** Is it so that nobody need look at anything? */
  isClean(more: Partial<SyncOptions> = {}): Promise<boolean> {
    return syncOnce({ ...this.options, ...more });
  }

  async start(more: Partial<SyncOptions> = {}): Promise<Sync> {
    const sync = await startSync({ ...this.options, ...more });
    onTestFinished(() => sync.stop().catch(() => undefined));
    return sync;
  }

  get text(): string {
    return readFileSync(this.file, "utf8");
  }

  get content(): Content {
    return JSON.parse(this.text);
  }

  get entries(): Entry[] {
    const { content } = this;
    return Array.isArray(content) ? content : content.tasks;
  }

  entry(id: string): Entry {
    return this.entries.find((each) => each.id === id || each.TaskId === id)!;
  }

  /** As an editor does it: all of it into another file, which then takes its place. */
  write(content: unknown): void {
    const draft = join(this.directory, "draft");
    writeFileSync(draft, typeof content === "string" ? content : JSON.stringify(content, null, 2));
    renameSync(draft, this.file);
  }

  edit(change: (content: Content) => unknown): void {
    const { content } = this;
    change(content);
    this.write(content);
  }

  editEntry(id: string, changes: Entry): void {
    this.edit((content) => {
      const entries: Entry[] = Array.isArray(content) ? content : content.tasks;
      Object.assign(entries.find((each) => each.id === id || each.TaskId === id)!, changes);
    });
  }

  /** When the file was saved, by the store's clock. */
  savedAt(ms: number): void {
    utimesSync(this.file, ms / 1000, ms / 1000);
  }

  async task(taskId: string) {
    return (await this.dibs.tasks.get({ taskId })).task;
  }

  async create(title: string, more: object = {}) {
    return (await this.dibs.tasks.create({ prompt: title, ...more })).task;
  }

  async claim(taskId: string, sessionId: string) {
    return (await this.dibs.tasks.claim({ taskId, sessionId, register: true, start: true })).claim;
  }
}

/** Gone after the test. */
export async function openScene(more: Partial<SyncOptions> = {}, clock = new TestClock()): Promise<Scene> {
  const directory = tempDir();
  const dibs = await openDibs({ memory: true, project: "demo", clock });
  onTestFinished(async () => {
    await dibs.close();
  });
  return new Scene(directory, dibs, clock, more);
}

export const told = (news: readonly News[], what: News["what"]): News[] =>
  news.filter((each) => each.what === what);

export { eventually } from "../eventually.js";
export { machine };
