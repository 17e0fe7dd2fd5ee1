// Several tests on one server: each works in a project of its own, so that they share nothing but the clock and the log.

import { afterAll, beforeAll } from "vitest";
import { onAbort } from "../../src/common/abort.js";
import type { ServeOptions } from "../../src/serve.js";
import { type Answer, type Asking, openWorld, type StoreName, type World } from "./support.js";

export const minutes = (count: number) => count * 60_000;
export const seconds = (count: number) => count * 1_000;

/** Its methods can be taken apart. */
export class Desk {
  constructor(
    readonly world: World,
    readonly project: string,
  ) {}

  get clock() {
    return this.world.clock;
  }

  /** What the server's clock shows in `ms`, as answers write it. */
  at = (ms = 0): string => new Date(this.clock.now() + ms).toISOString();

  private here = (asking: Asking = {}): Asking => ({
    ...asking,
    headers: { "dibs-project": this.project, ...asking.headers },
  });

  get = (path: string, asking?: Asking) => this.world.get(path, this.here(asking));
  post = (path: string, body: unknown = {}, asking?: Asking) =>
    this.world.post(path, body, this.here(asking));
  patch = (path: string, body: unknown, asking?: Asking) => this.world.patch(path, body, this.here(asking));
  delete = (path: string, asking?: Asking) => this.world.delete(path, this.here(asking));

  /** Its id. */
  task = async (more: object = {}): Promise<string> =>
    must(await this.post("/api/tasks", { prompt: "do it", ...more })).task.id;

  /** Registered; its id. */
  session = async (id: string, more: object = {}): Promise<string> =>
    must(await this.post("/api/sessions", { id, ...more })).session.id;

  claim = async (taskId: string, sessionId: string, more: object = {}) =>
    must(await this.post(`/api/tasks/${taskId}/claim`, { sessionId, ...more })).claim;

  /** A task that a fresh session works on. */
  running = async (sessionId: string, more: object = {}): Promise<string> => {
    await this.session(sessionId);
    const id = await this.task(more);
    await this.claim(id, sessionId, { start: true });
    return id;
  };

  /** As it is shown now. */
  shown = async (taskId: string) => must(await this.get(`/api/tasks/${taskId}`)).task;

  timeline = async (taskId: string): Promise<Told[]> =>
    must(await this.get(`/api/tasks/${taskId}/events?limit=1000`)).events;

  /** The types alone, such as `task:created`. */
  told = async (taskId: string): Promise<string[]> => (await this.timeline(taskId)).map(({ type }) => type);

  settings = async (settings: object) =>
    must(await this.patch(`/api/projects/${this.project}`, { settings })).project.settings;
}

export interface Told {
  seq: number;
  type: string;
  at: string;
  actor: string;
  project: string | null;
  taskId: string | null;
  sessionId: string | null;
  epoch: number | null;
  data: Record<string, unknown>;
}

/** The body of an answer that must be a success: what a test builds on. */
export function must({ status, body }: Answer) {
  if (status >= 300) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** One server for the tests of a describe; each call opens a fresh project on it. */
export function desks(store: StoreName, options: ServeOptions = {}): () => Promise<Desk> {
  let world: World;
  let count = 0;
  beforeAll(async () => {
    world = await openWorld(store, options);
  });
  afterAll(() => world?.close());
  return async () => {
    const project = `p${++count}`;
    must(await world.post("/api/projects", { id: project }));
    return new Desk(world, project);
  };
}

/** Server-sent events as they arrive. */
export class Following {
  private readonly stopping = new AbortController();
  private rest = "";
  private readonly frames: string[] = [];
  private constructor(
    readonly answer: Response,
    private readonly reader: ReadableStreamDefaultReader<Uint8Array>,
  ) {}

  /** Resolved once the server has said from where it tells. */
  static async open(world: World, path = "/api/events/stream", headers: Record<string, string> = {}) {
    const stopping = new AbortController();
    const answer = await fetch(`${world.url}${path}`, {
      headers: { authorization: `Bearer ${world.token}`, ...headers },
      signal: stopping.signal,
    });
    const following = new Following(answer, answer.body!.getReader());
    onAbort(following.stopping.signal, () => stopping.abort());
    await following.frame(); // the greeting
    return following;
  }

  /** The next block of lines. */
  async frame(): Promise<string> {
    const decoder = new TextDecoder();
    while (this.frames.length === 0) {
      const { done, value } = await this.reader.read();
      if (done) throw new Error("the stream ended");
      const blocks = (this.rest + decoder.decode(value, { stream: true })).split("\n\n");
      this.rest = blocks.pop()!;
      this.frames.push(...blocks);
    }
    return this.frames.shift()!;
  }

  /** The next event; comments are passed over. */
  async next(): Promise<{ id: string; text: string; event: Told }> {
    for (;;) {
      const text = await this.frame();
      const id = /^id: (.*)$/m.exec(text)?.[1];
      const data = /^data: (.*)$/m.exec(text)?.[1];
      if (id !== undefined && data !== undefined) return { id, text, event: JSON.parse(data) };
    }
  }

  /** Events up to and including the first of this type. */
  async until(type: string): Promise<Told[]> {
    const seen: Told[] = [];
    do seen.push((await this.next()).event);
    while (seen.at(-1)!.type !== type);
    return seen;
  }

  close(): void {
    this.stopping.abort();
  }
}
