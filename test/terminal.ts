// A program in a real pseudo terminal, and what a terminal emulator shows of it. All tests of terminals go through this file.
//
// Linux drops output that was not read yet when the first process of a terminal ends, and node-pty stops reading 200 ms after
// that, read or not. So the first process is a shell that stays: it runs the program, then writes a mark with the exit code. When
// the mark arrives, everything before it has arrived too.

import { type IPty, spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { afterwards, onFailure, until } from "./support.js";

export const keys = {
  enter: "\r",
  escape: "\x1b",
  tab: "\t",
  down: "\x1b[B",
  pageDown: "\x1b[6~",
  ctrlC: "\x03",
  ctrlD: "\x04",
  ctrlU: "\x15",
} as const;

export interface TerminalOptions {
  cwd: string;
  env: Record<string, string>;
  columns?: number | undefined;
  rows?: number | undefined;
}

/** An operating system command (OSC) that no program uses. Terminals show nothing of it. */
const markCode = 7427;
const mark = (text: string) => `\\033]${markCode};${text}\\007`;
const marks = new RegExp(`\x1b\\]${markCode};[^\x07]*\x07`, "g");

/** The inner shell becomes the program. Keys that interrupt the program do not end the outer one. */
const shell = `
  trap : INT QUIT HUP TERM TSTP
  sh -c 'printf "${mark("pid=%s")}" "$$"; exec "$@"' sh "$@"
  printf "${mark("code=%s")}" "$?"
  exec sleep 600`;

export class Terminal {
  title = "";
  bells = 0;
  /** The exit code, once everything that was written is on the screen; 128 and the number of a signal that ended it. */
  readonly ended: Promise<number>;
  private written = "";
  private programPid: number | null = null;
  private isOver = false;
  private readonly pty: IPty;
  private readonly screen: headless.Terminal;

  constructor([file = "", ...args]: string[], { cwd, env, columns = 80, rows = 24 }: TerminalOptions) {
    const screen = new headless.Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true });
    const name = env.TERM ?? "xterm-256color";
    const pty = spawn("sh", ["-c", shell, "sh", file, ...args], { name, cols: columns, rows, cwd, env });
    this.pty = pty;
    this.screen = screen;
    screen.onTitleChange((title) => {
      this.title = title;
    });
    screen.onBell(() => {
      this.bells++;
    });
    // What a terminal is asked for it answers, as if it were typed.
    screen.onData((text) => this.press(text));
    pty.onData((text) => {
      this.written += text;
      screen.write(text);
    });
    const shellEnded = new Promise<void>((resolve) => pty.onExit(() => resolve()));
    this.ended = new Promise<number>((resolve) => {
      // Without a mark the shell itself was killed.
      void shellEnded.then(() => resolve(137));
      screen.parser.registerOscHandler(markCode, (text) => {
        const [, what, number] = /^(pid|code)=(\d+)$/.exec(text) ?? [];
        if (what === "pid") this.programPid = Number(number);
        if (what === "code") {
          this.end();
          resolve(Number(number));
        }
        return true;
      });
    });
    onFailure(`terminal-${pty.pid}.txt`, () => `${this.allText}\n\n${JSON.stringify(this.written)}`);
    afterwards(async () => {
      this.end();
      await shellEnded;
      screen.dispose();
    });
  }

  /** The shell and what runs in its process group. */
  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    try {
      process.kill(-this.pty.pid, "SIGKILL");
    } catch {
      // They have ended by themselves.
    }
  }

  /** Every byte that the program wrote. */
  get raw(): string {
    return this.written.replace(marks, "");
  }

  /** The process of the program; it is known before the program writes anything. */
  get pid(): number {
    if (this.programPid === null) throw new Error("The program has not started.");
    return this.programPid;
  }

  press(...typed: string[]): void {
    if (!this.isOver) for (const text of typed) this.pty.write(text);
  }

  resize(columns: number, rows = this.screen.rows): void {
    this.screen.resize(columns, rows);
    this.pty.resize(columns, rows);
  }

  /** Lines in the window. */
  get lines(): string[] {
    const { viewportY } = this.buffer;
    return Array.from({ length: this.screen.rows }, (_, at) => this.line(viewportY + at));
  }

  get text(): string {
    return this.lines.join("\n");
  }

  /** Lines in the window and those that scrolled out of it, without empty ones at the end. */
  get allLines(): string[] {
    const lines = Array.from({ length: this.buffer.length }, (_, at) => this.line(at));
    while (lines.at(-1) === "") lines.pop();
    return lines;
  }

  get allText(): string {
    return this.allLines.join("\n");
  }

  private get buffer() {
    return this.screen.buffer.active;
  }

  private line(at: number): string {
    return this.buffer.getLine(at)?.translateToString(true) ?? "";
  }

  /** Whether a line was too long for the terminal. */
  get isWrapped(): boolean {
    return Array.from({ length: this.buffer.length }, (_, at) => this.buffer.getLine(at)!.isWrapped).includes(
      true,
    );
  }

  get isCursorHidden(): boolean {
    return this.written.lastIndexOf("\x1b[?25l") > this.written.lastIndexOf("\x1b[?25h");
  }

  get isOnOtherScreen(): boolean {
    return this.buffer.type === "alternate";
  }

  /** At which column of the window's line a text starts, in cells. */
  columnOf(line: number, text: string): number {
    const row = this.buffer.getLine(this.buffer.viewportY + line);
    const cells = Array.from({ length: this.screen.cols }, (_, at) => row?.getCell(at)?.getChars() ?? "");
    return cells.findIndex((_, at) => cells.slice(at).join("").startsWith(text));
  }

  async shows(...texts: (string | RegExp)[]): Promise<void> {
    await this.until(`the terminal shows ${texts.join(", ")}`, () => texts.every((text) => this.has(text)));
  }

  async hides(text: string): Promise<void> {
    await this.until(`the terminal does not show ${text}`, () => !this.has(text));
  }

  async until(what: string, isSo: () => boolean): Promise<void> {
    await until(what, isSo).catch((error: Error) => {
      throw new Error(`${error.message}:\n${this.allText}`);
    });
  }

  private has(text: string | RegExp): boolean {
    const shown = this.isOnOtherScreen ? this.text : this.allText;
    return typeof text === "string" ? shown.includes(text) : text.test(shown);
  }
}
