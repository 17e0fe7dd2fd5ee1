// A fence that reaches git: in the task's working tree, and only there, git asks before it commits, moves a branch or pushes
// whether the claim is still held. An agent that lost its task finds out before it has published anything. Where work lands, the
// target is refused in any case.
//
// With --no-verify git asks no hook but reference-transaction. So nothing can be committed, on a branch or on none, but `push
// --no-verify` goes through with what was committed while the claim was held: git has no other place that could refuse it.
// `git -c core.hooksPath=…` runs no hook at all. The fence is for agents that do not know that they lost their task.

import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { HolderOf } from "../client/holding/index.js";
import { git, gitOr } from "./git.js";

const fenced = ["pre-commit", "pre-merge-commit", "pre-push", "reference-transaction"];

const hooksPathOf = (gitDirectory: string) => join(gitDirectory, "dibs-hooks");

export interface Fence {
  command: readonly string[];
  by: HolderOf;
  /** The branch that only the lander moves; null: landing is off. */
  target: string | null;
}

export async function installFence(worktree: string, fence: Fence): Promise<void> {
  const directory = hooksPathOf(await git(worktree, ["rev-parse", "--path-format=absolute", "--git-dir"]));
  const own = await ownHooks(worktree, directory);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const name of new Set([...fenced, ...existingHooks(worktree, own)])) {
    const file = join(directory, name);
    writeFileSync(file, scriptFor(name, own, fence));
    chmodSync(file, 0o755);
  }
  await git(worktree, ["config", "--local", "extensions.worktreeConfig", "true"]);
  await git(worktree, ["config", "--worktree", "core.hooksPath", directory]);
  await git(worktree, ["config", "--worktree", "dibs.ownHooks", own]);
}

/** The repository's own hooks stay in force: git knows one directory only, so ours calls theirs. */
async function ownHooks(worktree: string, ours: string): Promise<string> {
  const known = await gitOr(worktree, ["config", "--worktree", "--get", "dibs.ownHooks"]);
  if (known) return known;
  const set = await gitOr(worktree, ["config", "--type=path", "--get", "core.hooksPath"]);
  if (set && resolve(worktree, set) !== ours) return set;
  return join(await git(worktree, ["rev-parse", "--path-format=absolute", "--git-common-dir"]), "hooks");
}

function existingHooks(worktree: string, own: string): string[] {
  const directory = isAbsolute(own) ? own : join(worktree, own);
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter(
    (name) => /^[a-z-]+$/.test(name) && isExecutable(join(directory, name)),
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The environment says which attempt at this task it is. Where it was lost on the way, or is of another task whose worker came by,
 * it is the attempt for which the hook was made.
 */
function scriptFor(name: string, own: string, { command, by, target }: Fence): string {
  const identity = {
    DIBS_PROJECT: by.project ?? "",
    DIBS_TASK: by.taskId,
    DIBS_SESSION: by.sessionId,
    DIBS_EPOCH: String(by.epoch),
  };
  const isOther = [
    `[ "\${DIBS_TASK:-}" != ${quoted(by.taskId)} ]`,
    ...(by.project === undefined ? [] : [`[ "\${DIBS_PROJECT:-}" != ${quoted(by.project)} ]`]),
    `[ -z "\${DIBS_SESSION:-}" ]`,
    `[ -z "\${DIBS_EPOCH:-}" ]`,
  ];
  const made = Object.entries(identity).map(([key, value]) => `${key}=${quoted(value)}`);
  const ask = [
    `if ${isOther.join(" || ")}; then ${made.join("; ")}; fi`,
    `export ${Object.keys(identity).join(" ")}`,
    `${command.map(quoted).join(" ")} </dev/null >&2 || {`,
    `  echo "dibs: ${name} refused: the claim on task $DIBS_TASK is not held (DIBS_FENCE=off switches this off)." >&2`,
    "  exit 1",
    "}",
  ];
  const readsChanges = name === "reference-transaction" || name === "pre-push";
  return [
    "#!/bin/sh",
    "# Created by dibs for one attempt at a task; removed with it.",
    `own=${quoted(`${own}/${name}`)}`,
    ...(readsChanges ? ["changes=$(cat)", listChanges] : []),
    ...(readsChanges && target !== null ? targetGuarded(name, target) : []),
    ...(fenced.includes(name) ? guarded(name, ask) : []),
    ...(readsChanges
      ? [`if [ -x "$own" ]; then listChanges | "$own" "$@"; fi`]
      : [`if [ -x "$own" ]; then exec "$own" "$@"; fi`]),
    "",
  ].join("\n");
}

const listChanges = `listChanges() { [ -z "$changes" ] || printf '%s\\n' "$changes"; }`;
const isOn = `[ "\${DIBS_FENCE:-}" != off ]`;

/** The target moves by landing only, whoever holds the claim. */
function targetGuarded(name: string, target: string): string[] {
  const isTransaction = name === "reference-transaction";
  const ref = quoted(`refs/heads/${target}`);
  const moves = isTransaction
    ? `[ "$third" = ${ref} ] && [ "$first" != "$second" ]`
    : `[ "$third" = ${ref} ]`;
  const message = `dibs: ${name} refused: only the lander moves ${target}. Run: dibs submit (DIBS_FENCE=off switches this off).`;
  return [
    "movesTarget() {",
    "  while read -r first second third fourth; do",
    `    if ${moves}; then return 0; fi`,
    "  done",
    "  return 1",
    "}",
    `if ${isOn}${isTransaction ? ' && [ "$1" = prepared ]' : ""} && listChanges | movesTarget; then`,
    `  printf '%s\\n' ${quoted(message)} >&2`,
    "  exit 1",
    "fi",
  ];
}

/** Fetching and stashing change nothing for others. Without a branch a commit moves HEAD itself. */
const changesGuarded = [
  "changesGuarded() {",
  "  while read -r old new ref; do",
  '    case "$ref" in',
  "      refs/heads/* | refs/tags/*) return 0 ;;",
  '      HEAD) [ "$old" = "$new" ] || return 0 ;;',
  "    esac",
  "  done",
  "  return 1",
  "}",
];

/** Only what can still be refused. */
function guarded(name: string, ask: string[]): string[] {
  const question = ask.map((line) => `  ${line}`);
  if (name !== "reference-transaction") return [`if ${isOn}; then`, ...question, "fi"];
  const condition = `${isOn} && [ "$1" = prepared ] && listChanges | changesGuarded`;
  return [...changesGuarded, `if ${condition}; then`, ...question, "fi"];
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The attempt is over, and what it left is for people: their hooks are the repository's own again. */
export async function removeFence(worktree: string): Promise<void> {
  const directory = await gitOr(worktree, ["rev-parse", "--path-format=absolute", "--git-dir"]);
  await gitOr(worktree, ["config", "--worktree", "--unset", "core.hooksPath"]);
  await gitOr(worktree, ["config", "--worktree", "--unset", "dibs.ownHooks"]);
  if (directory) rmSync(hooksPathOf(directory), { recursive: true, force: true });
}
