// `dibs watch` in a real pseudo terminal, and what such a terminal shows.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { expect, onTestFinished, vi } from "vitest";

export const bin = resolve(import.meta.dirname, "../../dist/bin.js");

/** A repository with a database in it, gone after the test. */
export function repository(): { directory: string; database: string } {
  if (!existsSync(bin)) throw new Error("dist/bin.js is missing: run `npm run build` first.");
  const directory = join(mkdtempSync(join(tmpdir(), "dibs-watch-")), "shop");
  mkdirSync(join(directory, ".dibs"), { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd: directory });
  onTestFinished(() => rmSync(join(directory, ".."), { recursive: true, force: true }));
  return { directory, database: join(directory, ".dibs", "dibs.db") };
}

export function environment(more: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(DIBS_|npm_|NO_COLOR|FORCE_COLOR|NODE_|VITEST|CI$|TERM)/.test(name),
  );
  return { ...(Object.fromEntries(kept) as Record<string, string>), TERM: "xterm-256color", ...more };
}

export const keys = {
  enter: "\r",
  escape: "\x1b",
  tab: "\t",
  down: "\x1b[B",
  pageDown: "\x1b[6~",
  ctrlC: "\x03",
};

interface Options {
  directory: string;
  args?: string[];
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

export class Terminal {
  /** All that was written. */
  raw = "";
  exit: { exitCode: number; signal?: number | undefined } | null = null;
  private readonly pty: IPty;
  private readonly screen: xterm.Terminal;

  constructor(command: string[], { directory, env = {}, columns = 80, rows = 24 }: Options) {
    this.screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
    const [file = "", ...args] = command;
    this.pty = spawn(file, args, { cols: columns, rows, cwd: directory, env: environment(env) });
    this.pty.onData((text) => {
      this.raw += text;
      this.screen.write(text);
    });
    this.pty.onExit((exit) => {
      this.exit = exit;
    });
    onTestFinished(() => {
      if (!this.exit) process.kill(this.pty.pid, "SIGKILL");
      this.screen.dispose();
    });
  }

  get pid(): number {
    return this.pty.pid;
  }

  press(...typed: string[]): void {
    for (const text of typed) this.pty.write(text);
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    this.pty.resize(columns, rows);
  }

  get lines(): string[] {
    const { active } = this.screen.buffer;
    return Array.from(
      { length: this.screen.rows },
      (_, at) => active.getLine(active.viewportY + at)?.translateToString(true) ?? "",
    );
  }

  get text(): string {
    return this.lines.join("\n");
  }

  get isOnOtherScreen(): boolean {
    return this.screen.buffer.active.type === "alternate";
  }

  /** At which column something stands, in cells. */
  columnOf(line: number, text: string): number {
    const { active } = this.screen.buffer;
    const cells = Array.from(
      { length: this.screen.cols },
      (_, at) =>
        active
          .getLine(active.viewportY + line)
          ?.getCell(at)
          ?.getChars() ?? "",
    );
    return cells.findIndex((_, at) => cells.slice(at).join("").startsWith(text));
  }

  async until(check: (terminal: this) => unknown): Promise<void> {
    await vi.waitFor(() => check(this), { timeout: 20_000, interval: 15 });
  }

  async shows(...texts: (string | RegExp)[]): Promise<void> {
    await this.until(() => {
      for (const text of texts) if (!this.has(text)) throw new Error(`${text} is not there:\n${this.text}`);
    });
  }

  async hides(text: string): Promise<void> {
    await this.until(() => {
      if (this.has(text)) throw new Error(`${text} is still there:\n${this.text}`);
    });
  }

  private has(text: string | RegExp): boolean {
    return typeof text === "string" ? this.text.includes(text) : text.test(this.text);
  }

  async ends(): Promise<void> {
    await this.until(() => expect(this.exit).not.toBeNull());
  }
}

export function watch({ args = [], ...options }: Options): Terminal {
  return new Terminal([process.execPath, bin, "watch", ...args], options);
}

/**
 * In a shell that says afterwards in which state the terminal was left, and stays until Enter is pressed: what a program says last
 * before it ends may be lost with its terminal.
 */
export function watchInShell(options: Options): Terminal {
  const script = `"$0" "$1" watch; echo "left with $?"; stty -a; echo "that is all"; read -r _`;
  return new Terminal(["/bin/sh", "-c", script, process.execPath, bin], options);
}

/** The program that a shell has started. */
export function childOf(pid: number): number {
  const all = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const pairs = all
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.find(([, parent]) => parent === pid)![0]!;
}
