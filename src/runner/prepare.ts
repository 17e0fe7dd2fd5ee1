// Prepares a new task worktree: copies files into it and runs the project's setup command. What they leave is remembered, and
// never added to a commit.

import { DibsError } from "../contract/error.js";
import type { WireProject } from "../contract/shapes.js";
import { copyInto } from "./copy.js";
import { git, withoutRepository } from "./git.js";
import type { Group } from "./group.js";
import { type Exit, Unstartable } from "./watchdog-messages.js";
import { readRecord, writeRecord } from "./worktree-record.js";

export interface Preparing {
  root: string;
  settings: WireProject["settings"]["worktree"];
  env: Readonly<Record<string, string | undefined>>;
  /** Where the setup runs: it ends with the runner. */
  newGroup: () => Group;
  signal: AbortSignal;
  onTrouble(error: unknown): void;
}

/** A file must not be copied, or the setup did not succeed. */
export class NotPrepared extends Error {
  override name = "NotPrepared";
}

const setupTimeoutMs = 10 * 60_000;

/** Once for a worktree; again where it did not get to its end. */
export async function prepare(path: string, preparing: Preparing): Promise<void> {
  const record = await readRecord(path);
  if (record.isPrepared) return;
  const { root, settings, onTrouble } = preparing;
  const { paths, unmatched } = await copyInto(path, { root, patterns: settings.copy }).catch(refused);
  for (const pattern of unmatched)
    onTrouble(new Error(`worktree.copy: ${pattern} matches no file in ${root}`));
  const copied = [...new Set([...record.copied, ...paths])];
  await writeRecord(path, { copied });
  if (settings.setup) await runSetup(path, settings.setup, preparing);
  await writeRecord(path, { present: await untrackedIn(path), isPrepared: true });
}

function refused(error: unknown): never {
  if (!(error instanceof DibsError)) throw error;
  throw new NotPrepared([error.message, error.hint].filter(Boolean).join("\n"));
}

/** Ignored ones too: the command may change what git ignores. */
async function untrackedIn(path: string): Promise<string[]> {
  const words = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching"];
  const entries = (await git(path, words)).split("\0");
  return entries.filter((entry) => /^(\?\?|!!) /.test(entry)).map((entry) => entry.slice(3));
}

async function runSetup(path: string, [file = "", ...args]: readonly string[], preparing: Preparing) {
  const { env, newGroup, signal } = preparing;
  const group = newGroup();
  let tail = "";
  for (const stream of [group.output.stdout, group.output.stderr])
    stream.on("data", (chunk: Buffer) => {
      tail = `${tail}${chunk.toString()}`.slice(-tailMax);
    });
  const late = AbortSignal.timeout(setupTimeoutMs);
  const stop = AbortSignal.any([signal, late]);
  const end = () => void group.end();
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  try {
    const exit = await started(group, { file, args, cwd: path, env: setupEnv(env, path), scratch: "" });
    await group.end();
    if (exit.code === 0) return;
    const why = late.aborted ? `no end within ${setupTimeoutMs / 60_000}m` : endOf(exit);
    throw new NotPrepared(`worktree.setup (${file}) failed: ${why}\n${tail}`.trim());
  } finally {
    stop.removeEventListener("abort", end);
    await group.end();
  }
}

const tailMax = 4_000;

const endOf = ({ code, signal }: Exit) =>
  code === null ? `ended by ${signal ?? "its end"}` : `exit code ${code}`;

async function started(group: Group, request: Parameters<Group["run"]>[0]): Promise<Exit> {
  try {
    await group.run(request, "");
  } catch (error) {
    if (!(error instanceof Unstartable) || error.code === "WATCHDOG") throw error;
    throw new NotPrepared(`worktree.setup (${request.file}) cannot be started: ${error.message}`);
  }
  return group.exited;
}

/** The setup has no part in the task: nothing of Dibs is in its environment. */
function setupEnv(env: Preparing["env"], path: string): Record<string, string> {
  const all = Object.entries({ ...env, ...withoutRepository, PWD: path });
  const kept = all.filter(([name, value]) => value !== undefined && !name.startsWith("DIBS_"));
  return Object.fromEntries(kept) as Record<string, string>;
}
