// `dibs watch` in a real pseudo terminal, in a repository of its own.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { tempDir } from "../support.js";
import { Terminal } from "../terminal.js";

export { keys, type Terminal } from "../terminal.js";

export const bin = resolve(import.meta.dirname, "../../dist/bin.js");

/** A repository with room for a database, gone after the test. */
export function repository(): { directory: string; database: string } {
  if (!existsSync(bin)) throw new Error("dist/bin.js is missing: run `npm run build` first.");
  const directory = join(tempDir(), "shop");
  mkdirSync(join(directory, ".dibs"), { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd: directory });
  return { directory, database: join(directory, ".dibs", "dibs.db") };
}

export function environment(more: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(DIBS_|npm_|NO_COLOR|FORCE_COLOR|NODE_|VITEST|CI$|TERM)/.test(name),
  );
  return { ...(Object.fromEntries(kept) as Record<string, string>), TERM: "xterm-256color", ...more };
}

interface Options {
  directory: string;
  args?: string[];
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

export function watch({ directory, args = [], env, ...size }: Options): Terminal {
  return new Terminal([process.execPath, bin, "watch", ...args], {
    cwd: directory,
    env: environment(env),
    ...size,
  });
}

/** In a shell that prints afterwards in which state the terminal was left. */
export function watchInShell({ directory, env }: Options): Terminal {
  const script = `"$0" "$1" watch; echo "left with $?"; stty -a`;
  return new Terminal(["sh", "-c", script, process.execPath, bin], {
    cwd: directory,
    env: environment(env),
  });
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
