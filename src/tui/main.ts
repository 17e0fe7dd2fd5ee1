// `dibs watch`: the terminal, the keyboard and the frames between them. React and ink lay out a frame as text; the screen writes
// what changed of it. However it ends, the terminal is restored first.

import type { ReadStream, WriteStream } from "node:tty";
import type { Dibs } from "../client/client.js";
import { frameOf } from "./app.js";
import { press } from "./keyboard.js";
import { KeyReader } from "./keys.js";
import { Screen } from "./screen.js";
import { State, type View } from "./state.js";

export interface WatchRequest {
  dibs: Dibs;
  /** A project, or * for all; default: the client's own. */
  project?: string | undefined;
  view: Exclude<View, "task">;
  filter: string;
  /** The agent that watches; verdicts are its own. Absent: a person does. */
  sessionId?: string | undefined;
}

export interface Terminal {
  stdin: ReadStream;
  stdout: WriteStream;
  isColoured: boolean;
  /** Ends it. */
  stopping: AbortSignal;
}

const frameMs = 40;
/** Times and leases go on by themselves. */
const tickMs = 1_000;
/** Half a key for longer than this was the escape key. */
const keyMs = 40;

export async function watch(request: WatchRequest, terminal: Terminal): Promise<void> {
  const { dibs } = request;
  // What is wrong with the store or the project is said before the screen is ours.
  const { projects } = await dibs.projects.list({ limit: 1000 });
  const project = request.project ?? (await dibs.projects.get()).project.id;
  if (project !== "*") await dibs.projects.get({ id: project });
  const watching = new WatchTerminal(
    terminal,
    (redraw) => new State(dibs, { ...request, project, projects }, redraw),
  );
  await watching.run();
}

class WatchTerminal {
  private readonly screen: Screen;
  private readonly keys = new KeyReader();
  private readonly state: State;
  private readonly cleanups: (() => void)[] = [];
  private frame: NodeJS.Timeout | null = null;
  private pendingKeys: NodeJS.Timeout | null = null;
  private drawnAt = Number.NEGATIVE_INFINITY;
  private end: (error?: unknown) => void = () => undefined;

  constructor(
    private readonly terminal: Terminal,
    open: (redraw: () => void) => State,
  ) {
    this.screen = new Screen(terminal.stdin, terminal.stdout);
    this.state = open(() => this.redraw());
  }

  async run(): Promise<void> {
    const { stdin, stdout, stopping } = this.terminal;
    const over = new Promise<void>((resolve, reject) => {
      this.end = (error) => (error === undefined ? resolve() : reject(error));
    });
    const giveBack = () => this.screen.leave();
    // The first is told before an error is printed, the second whenever the process ends.
    this.on(process, "uncaughtExceptionMonitor", giveBack);
    this.on(process, "exit", giveBack);
    this.on(process, "SIGQUIT", () => this.quit());
    this.on(process, "SIGCONT", () => this.comeBack());
    this.on(stdout, "resize", () => this.resized());
    this.on(stdout, "error", () => this.end());
    this.on(stdin, "data", (chunk) => this.typed(String(chunk)));
    for (const event of ["end", "close", "error"]) this.on(stdin, event, () => this.end());
    const stop = () => this.end();
    stopping.addEventListener("abort", stop);
    const tick = setInterval(() => this.state.tick(), tickMs);
    this.cleanups.push(
      () => stopping.removeEventListener("abort", stop),
      () => clearInterval(tick),
    );
    try {
      if (stopping.aborted) return;
      stdin.setEncoding("utf8");
      this.screen.enter();
      stdin.resume();
      this.resized();
      await over;
    } finally {
      this.close();
    }
  }

  private on(emitter: NodeJS.EventEmitter, event: string, act: (...given: never[]) => void): void {
    emitter.on(event, act as (...given: unknown[]) => void);
    this.cleanups.push(() => emitter.removeListener(event, act as (...given: unknown[]) => void));
  }

  private close(): void {
    this.screen.leave();
    this.state.close();
    for (const timer of [this.frame, this.pendingKeys]) if (timer) clearTimeout(timer);
    this.end = () => undefined;
    for (const cleanup of this.cleanups.splice(0)) cleanup();
    this.terminal.stdin.pause();
    this.terminal.stdin.unref();
  }

  private resized(): void {
    const { columns, rows } = this.terminal.stdout;
    this.state.columns = columns || 80;
    this.state.rows = rows || 24;
    this.screen.forget();
    this.terminal.stdout.write("\x1b[2J");
    this.redraw();
  }

  private typed(chunk: string): void {
    if (this.pendingKeys) clearTimeout(this.pendingKeys);
    this.take(this.keys.feed(chunk));
    if (this.keys.isWaiting) this.pendingKeys = setTimeout(() => this.take(this.keys.flush()), keyMs);
  }

  private take(keys: ReturnType<KeyReader["feed"]>): void {
    for (const key of keys) {
      if (key.name === "ctrl" && key.text === "z") this.goAway();
      else if (key.name === "ctrl" && key.text === "l") this.resized();
      else press(this.state, key);
      if (this.state.isOver) break;
    }
    if (this.state.isOver) this.end();
  }

  /** To the shell, until it says to go on. */
  private goAway(): void {
    this.screen.leave();
    process.kill(process.pid, "SIGTSTP");
  }

  /** At once, and by the signal itself: whoever sends this one does not want to wait for anything else. */
  private quit(): void {
    this.screen.leave();
    process.removeAllListeners("SIGQUIT");
    process.kill(process.pid, "SIGQUIT");
  }

  private comeBack(): void {
    this.screen.enter();
    this.resized();
  }

  /** Soon, and not too often: many changes are one frame. */
  private redraw(): void {
    if (this.frame) return;
    const ms = Math.max(0, this.drawnAt + frameMs - performance.now());
    this.frame = setTimeout(() => this.draw(), ms);
  }

  private draw(): void {
    this.frame = null;
    try {
      this.screen.draw(frameOf(this.state, this.terminal.isColoured));
    } catch (error) {
      this.end(error);
    }
    this.drawnAt = performance.now();
  }
}
