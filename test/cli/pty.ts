// A person at a real terminal: the program runs in a pseudo-terminal of its own, and a terminal emulator shows what is to be seen.

import { type IPty, spawn } from "@lydell/node-pty";
import headless, { type Terminal } from "@xterm/headless";
import { onTestFinished } from "vitest";
import { bin, type Place, until } from "./run-place.js";

export const keys = { enter: "\r", tab: "\t", ctrlC: "\u0003", ctrlD: "\u0004", ctrlU: "\u0015" } as const;

export interface Sitting {
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

export class Screen {
  /** Every byte that was written to the terminal. */
  raw = "";
  title = "";
  bells = 0;
  readonly ended: Promise<number>;
  private shown: Promise<void> = Promise.resolve();
  private isOver = false;

  constructor(
    private readonly pty: IPty,
    private readonly terminal: Terminal,
  ) {
    terminal.onTitleChange((title) => {
      this.title = title;
    });
    terminal.onBell(() => {
      this.bells++;
    });
    // What a terminal is asked for it answers, as if it were typed.
    terminal.onData((text) => this.type(text));
    pty.onData((text) => {
      this.raw += text;
      this.shown = new Promise((resolve) => terminal.write(text, resolve));
    });
    this.ended = new Promise<number>((resolve) => {
      pty.onExit(({ exitCode, signal }) => {
        this.isOver = true;
        resolve(signal ? 128 + signal : exitCode);
      });
    }).then(async (code) => {
      await this.shown;
      return code;
    });
    onTestFinished(async () => {
      if (!this.isOver) pty.kill("SIGKILL");
      await this.ended;
      terminal.dispose();
    });
  }

  /** Lines as they are seen, with those that have scrolled away; empty ones at the end are left out. */
  get lines(): string[] {
    const { active } = this.terminal.buffer;
    const lines = Array.from({ length: active.length }, (_, at) =>
      active.getLine(at)!.translateToString(true),
    );
    while (lines.at(-1) === "") lines.pop();
    return lines;
  }

  get text(): string {
    return this.lines.join("\n");
  }

  /** Whether a line was too long for the terminal. */
  get isWrapped(): boolean {
    const { active } = this.terminal.buffer;
    return Array.from({ length: active.length }, (_, at) => active.getLine(at)!.isWrapped).includes(true);
  }

  get isCursorHidden(): boolean {
    return this.raw.lastIndexOf("\u001b[?25l") > this.raw.lastIndexOf("\u001b[?25h");
  }

  async shows(what: string | RegExp): Promise<void> {
    const isThere = () => (typeof what === "string" ? this.text.includes(what) : what.test(this.text));
    await until(`${what} is on the screen`, isThere).catch((error: Error) => {
      throw new Error(`${error.message}:\n${this.text}`);
    });
  }

  type(text: string): void {
    if (!this.isOver) this.pty.write(text);
  }

  resize(columns: number, rows = this.terminal.rows): void {
    this.terminal.resize(columns, rows);
    this.pty.resize(columns, rows);
  }
}

export function sitAt(
  place: Place,
  file: string,
  args: string[],
  { columns = 80, rows = 24, env }: Sitting = {},
) {
  const terminal = new headless.Terminal({
    cols: columns,
    rows,
    scrollback: 5_000,
    allowProposedApi: true,
  });
  const pty = spawn(file, args, {
    name: env?.TERM ?? "xterm-256color",
    cols: columns,
    rows,
    cwd: place.cwd,
    env: { ...place.env, ...env },
  });
  return new Screen(pty, terminal);
}

/** The program, called at the terminal. */
export const type = (place: Place, args: string[], sitting?: Sitting) =>
  sitAt(place, process.execPath, [bin, ...args], sitting);

/** A line of a shell, which survives what is done to the program. */
export const typeLine = (place: Place, line: string, sitting?: Sitting) =>
  sitAt(place, "sh", ["-c", `trap : INT; ${line}`], sitting);
