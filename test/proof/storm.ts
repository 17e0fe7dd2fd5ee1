// Workers that do random things while they are killed and stopped, readers that follow the log while they are killed, and at the
// end the whole history.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Dibs } from "../../src/index.js";
import { Child, tempDir, until } from "../faults/support.js";
import type { Call, History, LogEvent, Stream, TaskAtEnd } from "./history.js";

export interface Place {
  path?: string;
  url?: string;
  server?: string;
  token?: string;
  /** Of a client of the server. */
  timeoutMs?: number;
  silenceMs?: number;
}

export interface StormOptions {
  /** Where the worker with this number goes (from 0), and the reader after the last one; a server can move. */
  place: (at: number) => Place;
  random: () => number;
  workers: number;
  /** Of the claims. */
  ttlMs: number;
  clockSteps?: boolean;
  /** Of a worker. */
  environment?: () => Readonly<Record<string, string>>;
  /** Where the scripts of the processes are. */
  children?: string;
}

const childrenHere = resolve(import.meta.dirname, "children");

/** It starts with these variables, and this process keeps its own. */
function startIn(environment: Readonly<Record<string, string>>, start: () => Child): Child {
  const before = Object.keys(environment).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, environment);
  try {
    return start();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** A process with the file in which it records. */
class Recorded {
  constructor(
    readonly child: Child,
    readonly file: string,
  ) {}

  get lineCount(): number {
    return readFileSync(this.file, "latin1").split("\n").length - 1;
  }
}

export class Storm {
  readonly figures = {
    kills: 0,
    stops: 0,
    calls: 0,
    refused: 0,
    unknown: 0,
    events: 0,
    "claims with a resource": 0,
  };
  private readonly directory = tempDir();
  private readonly workerFiles: string[] = [];
  private readonly readerFiles: string[] = [];
  private workers: Recorded[] = [];
  private reader: Recorded | null = null;
  private count = 0;

  constructor(private readonly options: StormOptions) {}

  async start(): Promise<void> {
    await this.startWorkers();
    this.reader = await this.newReader(0);
  }

  async startWorkers(): Promise<void> {
    const { workers } = this.options;
    this.workers.push(...(await Promise.all(Array.from({ length: workers }, (_, at) => this.newWorker(at)))));
  }

  /** All workers at the same moment. */
  async killAll(): Promise<void> {
    const killed = this.workers.splice(0);
    await Promise.all(killed.map(({ child }) => child.kill()));
    this.figures.kills += killed.length;
  }

  private newFile(among: string[]): string {
    const file = join(this.directory, `${++this.count}.jsonl`);
    writeFileSync(file, "");
    among.push(file);
    return file;
  }

  private async newWorker(at: number): Promise<Recorded> {
    const {
      place,
      random,
      ttlMs,
      clockSteps,
      environment = () => ({}),
      children = childrenHere,
    } = this.options;
    const file = this.newFile(this.workerFiles);
    const name = `worker ${this.count}`;
    const seed = Math.floor(random() * 2 ** 31);
    const input = { ...place(at), file, name, seed, ttlMs, clockSteps, steps: 100_000 };
    const child = startIn(environment(), () => new Child(join(children, "worker.mjs"), input));
    await child.said("ready");
    return new Recorded(child, file);
  }

  private async newReader(after: number): Promise<Recorded> {
    const file = this.newFile(this.readerFiles);
    const child = new Child(join(childrenHere, "reader.mjs"), {
      ...this.options.place(this.options.workers),
      file,
      after,
      name: "reader",
    });
    await child.said("ready");
    return new Recorded(child, file);
  }

  /** Of the workers that run. */
  get records(): number {
    return this.workers.reduce((sum, worker) => sum + worker.lineCount, 0);
  }

  /** After so many more records of all workers. */
  async progress(records: number): Promise<void> {
    const enough = this.records + records;
    await until(`${records} more records are written`, () => this.records >= enough);
  }

  private pick(): number {
    return Math.floor(this.options.random() * this.workers.length);
  }

  /** At a random moment; another one takes its place. */
  async killWorker(): Promise<void> {
    const { random } = this.options;
    await this.progress(1 + Math.floor(random() * 40));
    await sleep(random() * 10);
    const at = this.pick();
    await this.workers[at]!.child.kill();
    this.figures.kills++;
    this.workers[at] = await this.newWorker(at);
  }

  /** It comes back where it was. */
  async killReader(): Promise<void> {
    const reader = this.reader!;
    await this.progress(1 + Math.floor(this.options.random() * 20));
    await reader.child.kill();
    this.figures.kills++;
    const { events, after } = streamIn(reader.file);
    this.reader = await this.newReader(events.at(-1)?.seq ?? after);
  }

  /** For longer than its leases, while the others go on; not while they wait for what it has locked. */
  async stopWorker(): Promise<void> {
    const { random, ttlMs } = this.options;
    for (;;) {
      await this.progress(1 + Math.floor(random() * 40));
      const { child } = this.workers[this.pick()]!;
      child.signal("SIGSTOP");
      const stoppedAt = performance.now();
      const others = this.workers.filter((worker) => worker.child !== child);
      const total = () => others.reduce((sum, worker) => sum + worker.lineCount, 0);
      const before = total();
      await until("its leases have expired", () => performance.now() - stoppedAt > 2 * ttlMs);
      const wentOn = total() > before;
      child.signal("SIGCONT");
      if (!wentOn) continue;
      this.figures.stops++;
      return;
    }
  }

  /** What all of them have seen, and what is there at the end by `dibs`. */
  async end(dibs: Dibs): Promise<History> {
    // The longer a storm, the more there are. A short one goes on until there is one.
    if (this.workers.length > 0) await until("a claim uses the resource", () => this.scarceClaims() > 0);
    for (const { child } of this.workers) child.send("stop");
    await Promise.all(this.workers.map(({ child }) => child.exited));
    if (this.reader) {
      const { child, file } = this.reader;
      const last = (await wholeLog(dibs)).at(-1)?.seq ?? 0;
      await until("the reader has everything", () => lastSeq(streamIn(file)) >= last);
      await child.kill();
    }
    // After the reader: leases still expire, and it gets the events of that.
    const store = await contentOf(dibs);
    const { log } = store;
    const calls = this.calls();
    this.figures.calls += calls.length;
    this.figures.refused += calls.filter(({ refusal }) => refusal !== undefined).length;
    this.figures.unknown += calls.filter(({ end }) => end === undefined).length;
    this.figures.events += log.length;
    this.figures["claims with a resource"] += this.scarceClaims();
    return { ...store, calls, streams: this.readerFiles.map(streamIn) };
  }

  /** All that the workers have recorded until now. */
  calls(): Call[] {
    return this.workerFiles.flatMap((file) => this.callsIn(file));
  }

  private scarceClaims(): number {
    return this.calls().filter(({ call, answer }) => isClaim(call) && usesScarce(answer)).length;
  }

  /** How many calls have failed with this code. */
  failed(code: string): number {
    return this.workerFiles.flatMap(linesOf).filter(({ error }) => error?.code === code).length;
  }

  private callsIn(file: string): Call[] {
    const calls = new Map<number, Call>();
    for (const { id, error, ...line } of linesOf(file)) {
      if (error?.code === "INTERNAL" || error?.code === "none") {
        throw new Error(
          `a call failed in a way that no caller can cause: ${JSON.stringify({ ...calls.get(id), error })}`,
        );
      }
      const known = calls.get(id);
      if (known) Object.assign(known, line);
      else calls.set(id, line as Call);
    }
    return [...calls.values()];
  }
}

// biome-ignore lint/suspicious/noExplicitAny: lines of several kinds.
function linesOf(file: string): any[] {
  const lines = readFileSync(file, "utf8").split("\n");
  // The last one is empty, or was being written when the process was killed.
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

function streamIn(file: string): Stream {
  const [{ reader, after }, ...events] = linesOf(file);
  return { reader, after, events };
}

const isClaim = (call: string) => call === "tasks.claim" || call === "tasks.claimNext";
const usesScarce = (answer: Call["answer"]) => Object.hasOwn(answer?.claim?.uses ?? {}, scarce);

const lastSeq = ({ events, after }: Stream) => events.at(-1)?.seq ?? after;

async function wholeLog(dibs: Dibs): Promise<LogEvent[]> {
  const log: LogEvent[] = [];
  for (let after = 0; ; ) {
    const { events } = await dibs.events.list({ project: "*", after, limit: 1_000 });
    if (events.length === 0) return log;
    log.push(...(events as LogEvent[]));
    after = log.at(-1)!.seq;
  }
}

/** What is in a store. */
export async function contentOf(dibs: Dibs): Promise<Pick<History, "log" | "resources" | "tasks">> {
  const { log, resources } = await logAndResources(dibs);
  return { log, resources, tasks: await allTasks(dibs) };
}

/** Of one moment: leases expire meanwhile, and give units back. */
async function logAndResources(dibs: Dibs): Promise<Pick<History, "log" | "resources">> {
  for (;;) {
    const log = await wholeLog(dibs);
    const { resources } = await dibs.resources.list();
    const { lastSeq } = await dibs.events.list({ project: "*", limit: 1 });
    if (lastSeq === (log.at(-1)?.seq ?? 0)) return { log, resources };
  }
}

async function allTasks(dibs: Dibs): Promise<TaskAtEnd[]> {
  const tasks: TaskAtEnd[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await dibs.tasks.list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    tasks.push(...page.tasks);
    if (!page.nextCursor) return tasks;
    cursor = page.nextCursor;
  }
}

const scarce = "test-db";

/** The workers create tasks that use it. */
export async function addResource(dibs: Dibs): Promise<void> {
  await dibs.resources.set({ id: scarce, capacity: 2 });
}

/** Leases expire during a test, and no task fails for good because of that. */
export async function withShortLeases(dibs: Dibs): Promise<void> {
  const retry = { delayMs: 100, maxDelayMs: 1_000 };
  const claim = { minTtlMs: 100 };
  await addResource(dibs);
  await dibs.projects.update({ settings: { claim, maxLost: 1_000, maxRetries: 20, retry } });
}
