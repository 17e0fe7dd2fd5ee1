// Everybody at once: agents that claim and complete in the store, an editor that takes no lock, and a program that takes it. The two
// writers take turns with each other, so that whatever gets lost was lost by the sync.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startSync } from "../../src/bridges/tasks-json/index.js";
import { type Dibs, openDibs } from "../../src/index.js";
import { type Entry, eventually, machine } from "./support.js";

const seconds = process.env.DIBS_LONG ? 60 : 3;

/** A process that writes the file when it is its turn, and tells what it wrote. */
class Writer {
  readonly wrote: string[] = [];
  private readonly process: ChildProcess;

  constructor(
    file: string,
    readonly way: "rename" | "truncate" | "locked",
  ) {
    this.process = fork(resolve(import.meta.dirname, "children/writer.mjs"), [file, way]);
    onTestFinished(() => void this.process.kill("SIGKILL"));
  }

  async turn(): Promise<void> {
    this.process.send("write");
    const [id] = await once(this.process, "message");
    this.wrote.push(id);
  }

  /** Its own task, whose title it changes every turn and which nobody may claim. */
  get own(): string {
    return `own-${this.process.pid}`;
  }
}

/** Claims and completes until it is told to stop; what there is to do comes from the file. */
async function agent(dibs: Dibs, sessionId: string, isOver: () => boolean): Promise<number> {
  await dibs.sessions.register({ id: sessionId });
  let done = 0;
  while (!isOver()) {
    const { claim } = await dibs.tasks.claimNext({ sessionId, waitMs: 100, start: true });
    if (!claim) continue;
    await dibs.tasks.complete({ taskId: claim.taskId, sessionId, epoch: claim.epoch });
    done++;
  }
  return done;
}

test(
  "an editor, a program and ten agents: no update is lost and the file is never broken",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "dibs-sync-"));
    const file = join(directory, "tasks.json");
    const dibs = await openDibs({ path: join(directory, "dibs.db"), project: "demo" });
    onTestFinished(async () => {
      await dibs.close();
      rmSync(directory, { recursive: true, force: true });
    });
    const news: string[] = [];
    const tell = ({ what, message }: { what: string; message: string }) =>
      void news.push(`${what} ${message}`);
    const sync = await startSync({ dibs, project: "demo", file, machine, tell });
    onTestFinished(() => sync.stop().catch(() => undefined));
    await eventually(() => existsSync(file)).toBe(true);

    const deadline = Date.now() + seconds * 1000;
    const isOver = () => Date.now() > deadline;
    const agents = Array.from({ length: 10 }, (_, at) => agent(dibs, `agent-${at}`, isOver));
    const writers = (["rename", "locked", "truncate", "locked"] as const).map((way) => new Writer(file, way));
    let reads = 0;
    let truncating = 0;
    const reader = (async () => {
      while (!isOver()) {
        const before = truncating;
        const text = readFileSync(file, "utf8");
        // An editor that truncates leaves it empty or half for a moment: that is its own doing.
        if (before % 2 === 0 && before === truncating) expect(JSON.parse(text).tasks).toBeDefined();
        reads++;
        await new Promise(setImmediate);
      }
    })();
    for (let turn = 0; !isOver(); turn++) {
      const writer = writers[turn % writers.length]!;
      if (writer.way === "truncate") truncating++;
      await writer.turn();
      if (writer.way === "truncate") truncating++;
    }
    await reader;
    const done = (await Promise.all(agents)).reduce((sum, each) => sum + each, 0);

    const wrote = writers.flatMap((writer) => [writer.own, ...writer.wrote]);
    const created = async () => (await allTasks(dibs)).map(({ id }) => id).sort();
    await eventually(created).toEqual([...wrote].sort());
    await sync.stop();
    const { tasks } = JSON.parse(readFileSync(file, "utf8")) as { tasks: Entry[] };
    const inStore = new Map((await allTasks(dibs)).map((task) => [task.id, task]));
    for (const { own, wrote } of writers) {
      expect(inStore.get(own)).toMatchObject({ title: `Turn ${wrote.length}`, state: "queued" });
    }
    // And the store's word is in the file.
    expect(tasks.map(({ id }) => id).sort()).toEqual([...inStore.keys()].sort());
    for (const { id, title, status } of tasks) {
      const isDone = inStore.get(id)!.state === "completed";
      expect([id, title, status]).toEqual([id, inStore.get(id)!.title, isDone ? "completed" : "pending"]);
    }
    expect(done).toBe(tasks.filter(({ status }) => status === "completed").length);
    expect(news.filter((each) => /^(conflict|refused|trouble|removed|broken)/.test(each))).toEqual([]);
    expect(readdirSync(directory).filter((name) => /tmp|lock|next/.test(name))).toEqual([]);
    expect([wrote.length > 10, reads > 100, done > 0]).toEqual([true, true, true]);
  },
  (seconds + 60) * 1000,
);

async function allTasks(dibs: Dibs) {
  const all = [];
  let cursor: string | undefined;
  do {
    const page = await dibs.tasks.list({ limit: 1000, ...(cursor ? { cursor } : {}) });
    all.push(...page.tasks);
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  return all;
}
