// Readers that stop reading: they cost the server no memory, hold nobody up, are cut off, and see exactly the rest when they
// come back.

import { expect, test } from "vitest";
import { Reader } from "../http/reader.js";
import { Child, tempFile, until } from "./support.js";

const MiB = 1024 * 1024;
/** How much passes while they do not read; more with DIBS_LONG=1. */
const passing = (process.env.DIBS_LONG ? 60 : 24) * MiB;
/** As large as one may be. */
const note = "n".repeat(16_000);
const talkers = 16;

// biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
type Call = (method: string, path: string, body?: unknown) => Promise<any>;

class Serving {
  readonly child: Child;
  url = "";
  token = "";
  private looks = 0;

  constructor(limits: Record<string, number>) {
    this.child = new Child("server.mjs", { path: tempFile(), port: 0, project: "demo", limits });
  }

  async ready(): Promise<this> {
    const { url, token } = await this.child.said("ready");
    this.url = url;
    this.token = token;
    return this;
  }

  call: Call = async (method, path, body) => {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status} ${text}`);
    return text.startsWith("{") ? JSON.parse(text) : text;
  };

  reader(after: number): Reader {
    return new Reader({ url: this.url, token: this.token, query: `after=${after}` });
  }

  /** Memory after a collection, and the most that ever waited for one reader. */
  async look(): Promise<{ rss: number; held: number; unsentMax: number }> {
    const id = ++this.looks;
    this.child.send("look", { id });
    const found = await this.child.message((each) => each.type === "looked" && each.id === id, "its memory");
    return found as never;
  }

  async readers(): Promise<number> {
    const text: string = await this.call("GET", "/metrics");
    return Number(/^dibs_sse_clients (\d+)$/m.exec(text)![1]);
  }

  async hold(): Promise<string[]> {
    return Promise.all(
      Array.from({ length: talkers }, async (_, at) => {
        const sessionId = `talker-${at}`;
        await this.call("POST", "/api/sessions", { id: sessionId });
        await this.call("POST", "/api/tasks", { prompt: "talk" });
        const { claim } = await this.call("POST", "/api/tasks/claim-next", { sessionId });
        return claim.taskId as string;
      }),
    );
  }

  /** As many bytes of events. */
  async talk(tasks: string[], bytes: number): Promise<void> {
    let left = Math.ceil(bytes / note.length);
    await Promise.all(
      tasks.map(async (taskId) => {
        const { sessionId } = (await this.call("GET", `/api/tasks/${taskId}`)).task.claim;
        while (left-- > 0) await this.call("POST", `/api/tasks/${taskId}/progress`, { sessionId, note });
      }),
    );
  }

  async lastSeq(): Promise<number> {
    const reader = this.reader(0);
    await until("the log's end is told", () => reader.comments.length > 0);
    reader.destroy();
    return Number(reader.comments[0]!.replace("ready ", ""));
  }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + 1 + at);
const seqs = (...readers: Reader[]) =>
  readers.flatMap(({ messages }) => messages.map(({ id }) => Number(id)));

test("forty readers that do not read while many megabytes of events pass cost neither memory nor the others' time", async () => {
  const serving = await new Serving({ stallMs: 600_000 }).ready();
  const tasks = await serving.hold();
  await serving.talk(tasks, 2 * MiB); // What is loaded and cached once is there now.
  const from = await serving.lastSeq();
  const healthy = serving.reader(from);
  const stalled = Array.from({ length: 20 }, () => serving.reader(from));
  await Promise.all([healthy, ...stalled].map(({ opened }) => opened));
  for (const reader of stalled) reader.pause();
  const before = await serving.look();
  await serving.talk(tasks, passing);
  const to = await serving.lastSeq();
  await until("the reader that reads has everything", () => healthy.messages.length >= to - from);
  expect(seqs(healthy)).toEqual(numbers(from, to));
  // Others come back to where these began, and stop reading there.
  const returned = Array.from({ length: 20 }, () => serving.reader(from));
  await Promise.all(returned.map(({ opened }) => opened));
  for (const reader of returned) reader.pause();
  expect(await serving.readers()).toBe(41);
  const after = await serving.look();
  // Each of them would have been as far behind.
  expect(after.unsentMax).toBeLessThan(MiB);
  expect(after.held - before.held).toBeLessThan(48 * MiB);
  expect(after.rss - before.rss).toBeLessThan(500 * MiB);
  // They have lost nothing by waiting.
  const [patient] = stalled;
  patient!.resume();
  await until("the one that reads again has everything", () => patient!.messages.length >= to - from);
  expect(seqs(patient!)).toEqual(numbers(from, to));
}, 300_000);

test("a reader that takes nothing for a while is cut off, and by its number sees exactly the rest", async () => {
  // As long as the reader that reads may stand still together with this process.
  const serving = await new Serving({ stallMs: 10_000 }).ready();
  const tasks = await serving.hold();
  const from = await serving.lastSeq();
  const healthy = serving.reader(from);
  const stalled = serving.reader(from);
  await Promise.all([healthy.opened, stalled.opened]);
  await until("both are counted", async () => (await serving.readers()) === 2);
  stalled.pause();
  await serving.talk(tasks, 24 * MiB); // More than the sockets take.
  await until("it is cut off", async () => (await serving.readers()) === 1);
  expect(healthy.isOver).toBe(false);
  stalled.resume();
  expect(await stalled.ended).toBe("cut off");
  const last = Number(stalled.messages.at(-1)?.id ?? from);
  const again = serving.reader(last);
  await serving.talk(tasks, MiB);
  const to = await serving.lastSeq();
  await until("it has everything", () => stalled.messages.length + again.messages.length >= to - from);
  await until("the other has everything", () => healthy.messages.length >= to - from);
  expect(seqs(stalled, again)).toEqual(numbers(from, to));
  expect(seqs(healthy)).toEqual(numbers(from, to));
  expect(last).toBeLessThan(to);
}, 300_000);
