// Everybody at once: agents that claim and complete in the store, an editor that takes no lock, and a program that takes it. The two
// writers take turns with each other, so that whatever gets lost was lost by the sync.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { startSync } from "../../src/bridges/tasks-json/index.js";
import { type Dibs, openDibs } from "../../src/index.js";
import { afterwards, tempDir, until } from "../support.js";
import { type Entry, eventually, machine } from "./support.js";

const turns = process.env.DIBS_LONG ? 2_000 : 120;

/** A process that writes the file when it is its turn, and tells what it wrote. */
class Writer {
  readonly wrote: string[] = [];
  private readonly process: ChildProcess;

  constructor(
    file: string,
    readonly way: "rename" | "truncate" | "locked",
  ) {
    this.process = fork(resolve(import.meta.dirname, "children/writer.mjs"), [file, way]);
    const ended = once(this.process, "exit");
    afterwards(() => {
      this.process.kill("SIGKILL");
      return ended;
    });
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

/** Claims and completes until it is told to stop; the tasks come from the file. */
async function agent(dibs: Dibs, sessionId: string, isOver: () => boolean, onDone: () => void) {
  await dibs.sessions.register({ id: sessionId });
  while (!isOver()) {
    const { claim } = await dibs.tasks.claimNext({ sessionId, waitMs: 100, start: true });
    if (!claim) continue;
    await dibs.tasks.complete({ taskId: claim.taskId, sessionId, epoch: claim.epoch });
    onDone();
  }
}

test(
  "an editor, a program and ten agents: no update is lost and the file is never broken",
  async () => {
    const directory = tempDir();
    const file = join(directory, "tasks.json");
    const dibs = await openDibs({ path: join(directory, "dibs.db"), project: "demo" });
    afterwards(() => dibs.close());
    const news: string[] = [];
    const tell = ({ what, message }: { what: string; message: string }) =>
      void news.push(`${what} ${message}`);
    const sync = await startSync({ dibs, project: "demo", file, machine, tell });
    afterwards(() => sync.stop().catch(() => undefined));
    await eventually(() => existsSync(file)).toBe(true);

    let done = 0;
    let hasEnded = false;
    const isOver = () => hasEnded;
    afterwards(() => {
      hasEnded = true;
    });
    const agents = Array.from({ length: 10 }, (_, at) => agent(dibs, `agent-${at}`, isOver, () => done++));
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
    // Rounds, not seconds: however slow the machine is, all sides have had their turns.
    for (let turn = 0; turn < turns; turn++) {
      const writer = writers[turn % writers.length]!;
      if (writer.way === "truncate") truncating++;
      await writer.turn();
      if (writer.way === "truncate") truncating++;
    }
    await until("all sides have worked", () => reads > 100 && done > 10);
    hasEnded = true;
    await Promise.all([reader, ...agents]);

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
  },
  120_000 + turns * 500,
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
