// Runs the steps of a Dockerfile without a container runtime: each stage is a directory, COPY copies into it, RUN runs a
// shell in it. Absolute paths of the image become paths below that directory. Base images are not loaded.

import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { tempDir } from "../support.js";

export interface Instruction {
  name: string;
  text: string;
}

export function instructionsOf(dockerfile: string): Instruction[] {
  const lines = dockerfile.replace(/^#.*\n/gm, "").replace(/\\\n\s*/g, "");
  return [...lines.matchAll(/^([A-Z]+) (.+)$/gm)].map(([, name, text]) => ({ name: name!, text: text! }));
}

interface Stage {
  directory: string;
  workdir: string;
}

/** Whether .dockerignore keeps a file out: the last pattern that matches decides. */
export function isIgnored(path: string, dockerignore: string): boolean {
  const patterns = dockerignore.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const last = patterns.findLast((pattern) => {
    const expression = pattern
      .replace(/^!/, "")
      .replaceAll(".", "\\.")
      .replace(/^\*\*\//, "(.*/)?")
      .replace(/^\*$/, "[^/]*");
    return new RegExp(`^${expression}(/|$)`).test(path);
  });
  return last !== undefined && !last.startsWith("!");
}

/** Returns the directory of the last stage. `context` holds the files that .dockerignore lets through. */
export async function build(
  instructions: Instruction[],
  context: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const stages = new Map<string, Stage>();
  let stage: Stage = { directory: "", workdir: "/" };
  for (const { name, text } of instructions) {
    if (name === "FROM") {
      stage = { directory: tempDir(), workdir: "/" };
      mkdirSync(join(stage.directory, "tmp"));
      stages.set(/ AS (\w+)$/.exec(text)?.[1] ?? "", stage);
    } else if (name === "WORKDIR") {
      stage.workdir = text;
      mkdirSync(join(stage.directory, text), { recursive: true });
    } else if (name === "COPY") {
      const [, from, paths] = /^(?:--from=(\w+) )?(.+)$/.exec(text)!;
      copy(from ? stages.get(from)!.directory : context, paths!.split(" "), stage);
    } else if (name === "RUN") {
      await run(text, stage, env);
    }
  }
  return stage.directory;
}

function copy(source: string, paths: string[], { directory, workdir }: Stage): void {
  const target = paths.pop()!;
  const into = join(directory, target.startsWith("/") ? "" : workdir, target);
  for (const pattern of paths) {
    for (const path of matching(join(source, pattern))) {
      const isDirectory = statSync(path).isDirectory();
      cpSync(path, isDirectory ? into : join(into, basename(path)), { recursive: true });
    }
  }
}

/** `*` in the last part of a path is understood. */
function matching(path: string): string[] {
  if (!path.includes("*")) return [path];
  const [start, end] = basename(path).split("*") as [string, string];
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(start) && name.endsWith(end));
  if (names.length === 0) throw new Error(`COPY ${path}: no such file`);
  return names.map((name) => join(dirname(path), name));
}

/** Users of the image do not exist here: chown does nothing. */
async function run(command: string, { directory, workdir }: Stage, env: NodeJS.ProcessEnv): Promise<void> {
  const programs = tempDir();
  writeFileSync(join(programs, "chown"), "#!/bin/sh\n");
  chmodSync(join(programs, "chown"), 0o755);
  await promisify(execFile)("sh", ["-ec", command.replaceAll(/(?<= )\/(?=\w)/g, `${directory}/`)], {
    cwd: join(directory, workdir),
    env: {
      ...env,
      PATH: `${programs}:${env.PATH}`,
      TMPDIR: join(directory, "tmp"),
      npm_config_prefix: join(directory, "usr/local"),
    },
  });
}
