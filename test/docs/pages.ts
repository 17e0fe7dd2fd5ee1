// Commands and programs in the documentation, and a place to run them as a reader would.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { onFailure, sendInput, tempDir } from "../support.js";

export const root = resolve(import.meta.dirname, "../..");

export const page = (path: string) => readFileSync(join(root, path), "utf8");

/** The code after `<!-- example: name -->`. */
export function exampleOf(path: string, name: string): string {
  const marker = `<!-- example: ${name} -->\n`;
  const [, code] = /^```\w+\n([\s\S]*?)^```/m.exec(page(path).split(marker)[1] ?? "") ?? [];
  if (code === undefined) throw new Error(`${path} has no example ${name}`);
  return code;
}

export interface Block {
  language: string;
  code: string;
  /** Why it is printed only. */
  notRun?: string;
  /** The name of an example that another test runs. */
  example?: string;
}

export function blocksOf(text: string): Block[] {
  const found = text.matchAll(/(?:<!-- (not run|example): (.*?) -->\n)?^```(\w*)\n([\s\S]*?)^```/gm);
  return [...found].map(([, mark, what, language, code]) => ({
    language: language!,
    code: code!,
    ...(mark ? { [mark === "example" ? mark : "notRun"]: what } : {}),
  }));
}

export interface Ran {
  code: number | null;
  /** Standard output and errors, in the order they were written. */
  output: string;
}

/** Runs a script in an empty git repository with one commit, with `dibs` on the PATH and a home of its own. */
export async function run(script: string): Promise<Ran> {
  const home = tempDir();
  const directory = join(home, "repository");
  const bin = join(home, "bin");
  for (const path of [directory, bin]) mkdirSync(path);
  const program = `#!/bin/sh\nexec "${process.execPath}" "${join(root, "dist/bin.js")}" "$@"\n`;
  writeFileSync(join(bin, "dibs"), program, { mode: 0o755 });
  writeFileSync(join(home, ".gitconfig"), "[user]\n\tname = Reader\n\temail = reader@example.com\n");
  const begin = "git init --quiet && git commit --quiet --allow-empty -m first\n";
  const { TMPDIR } = process.env;
  const child = spawn("bash", ["-eu"], {
    cwd: directory,
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: home, ...(TMPDIR ? { TMPDIR } : {}) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part) => (output += part));
  onFailure("output.txt", () => output);
  sendInput(child, begin + script);
  const [code] = await once(child, "close");
  return { code, output };
}
