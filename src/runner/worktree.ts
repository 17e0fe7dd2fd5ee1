// A working tree of its own for every task: `.dibs/worktrees/<task>` on branch `dibs/<task>`. What a failed attempt left is kept and
// gone on with; what a successful one left is removed only if nothing would be lost.

import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { HolderOf } from "../client/holding/index.js";
import { retry } from "../common/retry.js";
import { plain } from "../common/text.js";
import { DibsError } from "../contract/error.js";
import { id as idSchema } from "../contract/fields.js";
import type { WireTask } from "../contract/shapes.js";
import { GitError, git, gitOr, inTurn, withoutRepository } from "./git.js";
import { installFence, removeFence } from "./hooks.js";
import type { Start } from "./landing-worktree.js";
import type { WorktreeOptions } from "./options.js";
import { isRemembered, readRecord, writeRecord } from "./worktree-record.js";

export interface Worktree {
  root: string;
  path: string;
  branch: string;
  /** Its branch was created just now. */
  isNew: boolean;
  isRemoved: boolean;
  /** For the command: what must not be in its environment there. */
  env: Record<string, undefined>;
  /** The last commit of its branch; null if the command committed nothing. */
  commit(): Promise<string | null>;
  /** What is checked out now is where the attempt starts; `isStart`: and none of it is the task's own. */
  begin(of: { isStart(commit: string): boolean }): Promise<void>;
  /** Whether there are commits since it began. */
  hasNewCommits(): Promise<boolean>;
  /** The files that differ from where its work lands, committed or not; null: none. */
  changed(): Promise<string | null>;
  /** After a success, or if nothing was done: removes it if nothing is lost by that, else says where it is. */
  tidy(): Promise<string | null>;
  /** People who look at what is left are not held up. */
  removeFence(): Promise<void>;
}

/** Null outside of a repository, and where its git directory is not in a working tree. */
export async function mainWorktreeOf(directory: string): Promise<string | null> {
  const common = await gitOr(directory, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  return common !== null && basename(common) === ".git" ? dirname(common) : null;
}

/** The main working tree of the repository in which a directory is, which has a commit to branch from. */
export async function repositoryOf(directory: string): Promise<string> {
  const root = await mainWorktreeOf(directory);
  if (root === null) {
    throw new DibsError("VALIDATION_FAILED", `${directory} is in no git repository with a working tree.`, {
      hint: "Run `git init` and commit something, or work without worktrees.",
    });
  }
  if ((await gitOr(root, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])) === null) {
    throw new DibsError("VALIDATION_FAILED", `The repository ${root} has no commit to branch from.`, {
      hint: 'Run: git commit --allow-empty -m "Start"',
    });
  }
  return root;
}

export async function openWorktree(
  options: WorktreeOptions,
  task: Owner,
  by: HolderOf,
  landing: { start: Start; target: string } | null = null,
): Promise<Worktree> {
  refuseBadId(task.id);
  const root = await repositoryOf(options.root);
  const start = landing?.start ?? null;
  const { path, branch, isNew } = await inTurn(root, () => patiently(() => findOrAdd(root, task, start)));
  if (options.fenceCommand) {
    const fence = { command: options.fenceCommand, by, target: landing?.target ?? null };
    await inTurn(root, () => patiently(() => installFence(path, fence)));
  }
  const head = () => gitOr(path, ["rev-parse", "HEAD"]);
  let begun = await head();
  const worktree: Worktree = {
    root,
    path,
    branch,
    isNew,
    isRemoved: false,
    env: withoutRepository,
    commit: () => ownCommit(root, branch),
    begin: async ({ isStart }) => {
      begun = await head();
      if (begun === null || !isStart(begun)) return;
      const commit = begun;
      await inTurn(root, () => patiently(() => setStart(root, branch, commit)));
    },
    hasNewCommits: async () => (await head()) !== begun,
    changed: () => changedFiles(root, { path, branch }),
    tidy: () => inTurn(root, () => tidy(root, worktree)),
    removeFence: () => inTurn(root, () => removeFence(path)),
  };
  return worktree;
}

/** Ids become a directory and a branch. */
function refuseBadId(taskId: string): void {
  if (idSchema().safeParse(taskId).success && !/[/\\]/.test(taskId)) return;
  throw new DibsError("VALIDATION_FAILED", `Task id '${taskId.slice(0, 200)}' cannot name a directory.`);
}

/** Git gives up at once when another process has a lock. */
export function patiently<T>(act: () => Promise<T>): Promise<T> {
  return retry(act, {
    isTransient: (error) =>
      error instanceof GitError && /(could not|cannot) lock|unable to create .*lock/i.test(error.stderr),
    pauseMs: (failures) => 25 * (failures + 1),
    triesMax: 20,
  });
}

const suffixesMax = 100;

export const roomOf = (root: string) => join(root, ".dibs", "worktrees");
export const landingRoomOf = (root: string) => join(root, ".dibs", "landing");

export interface LeftWorktree extends Place {
  project: string;
  taskId: string;
  correlationId: string;
}

const leftMax = 500;

/** The working trees that runners made in the repository of a directory; none where there is no repository. */
export async function leftWorktrees(directory: string): Promise<LeftWorktree[]> {
  const root = await repositoryOf(directory).catch(() => null);
  if (root === null || !existsSync(roomOf(root))) return [];
  refuseLinks(roomOf(root));
  const left: LeftWorktree[] = [];
  for (const name of readdirSync(roomOf(root)).sort().slice(0, leftMax)) {
    const path = join(roomOf(root), name);
    const branch = `dibs/${name}`;
    const [project, taskId, correlationId, ...rest] = ((await ownerOf(root, branch)) ?? "").split("/");
    if (!project || !taskId || !correlationId || rest.length > 0 || !(await isWorktree(root, path))) continue;
    left.push({ root, path, branch, project, taskId, correlationId });
  }
  return left;
}

/** A link in a clone must not make us write elsewhere. */
export function refuseLinks(room: string): void {
  for (const path of [dirname(room), room, join(room, ".gitignore")]) {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    throw new DibsError(
      "STORE_NOT_TRUSTED",
      `${path} is a symbolic link, and Dibs does not write through it.`,
      {
        hint: "Remove the link, or work without worktrees.",
      },
    );
  }
}

async function findOrAdd(root: string, task: Owner, start: Start | null) {
  const room = roomOf(root);
  refuseLinks(room);
  mkdirSync(room, { recursive: true });
  const ignore = join(room, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  const owner = ownerName(task);
  for (let n = 1; n <= suffixesMax; n++) {
    const name = nameOf(task.id, n);
    const path = join(room, name);
    const branch = `dibs/${name}`;
    if (await isFree(root, path, branch, owner)) {
      const isNew = await add(root, { path, branch, owner, start });
      return { path, branch, isNew };
    }
    if (existsSync(path) && (await ownerOf(root, branch)) === owner && (await isWorktree(root, path))) {
      return { path, branch, isNew: false };
    }
  }
  throw new DibsError("VALIDATION_FAILED", `Branches dibs/${task.id}-2 and so on are all taken.`, {
    hint: "Remove the ones that are no longer needed.",
  });
}

/** A branch may not end in a dot or in `.lock`. */
function nameOf(taskId: string, n: number): string {
  const name = /(\.|\.lock)$/i.test(taskId) ? `${taskId}_` : taskId;
  return n === 1 ? name : `${name}-${n}`;
}

/** Nobody's, or this task's own branch without a working tree. */
async function isFree(root: string, path: string, branch: string, owner: string): Promise<boolean> {
  if (existsSync(path)) return false;
  return !(await hasBranch(root, branch)) || (await ownerOf(root, branch)) === owner;
}

async function hasBranch(root: string, branch: string): Promise<boolean> {
  return (await gitOr(root, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`])) !== null;
}

/** Ids start again in a new store: a branch belongs to the very task, not to its number. */
function ownerOf(root: string, branch: string): Promise<string | null> {
  return gitOr(root, ["config", "--local", "--get", `branch.${branch}.dibs-task`]);
}

type Owner = Pick<WireTask, "id" | "project" | "correlationId">;

const ownerName = ({ project, id, correlationId }: Owner) => `${project}/${id}/${correlationId}`;

export async function isOwnedBy(root: string, branch: string, task: Owner): Promise<boolean> {
  return (await ownerOf(root, branch)) === ownerName(task);
}

async function isWorktree(root: string, path: string): Promise<boolean> {
  const top = await gitOr(path, ["rev-parse", "--path-format=absolute", "--show-toplevel"]);
  const common = await gitOr(path, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  return top !== null && common !== null && resolve(top) !== resolve(root) && dirname(common) === root;
}

interface Added {
  path: string;
  branch: string;
  owner: string;
  start: Start | null;
}

/** False: its branch was there before. */
async function add(root: string, { path, branch, owner, start }: Added): Promise<boolean> {
  // Its directory was removed by hand: git still remembers it, and would refuse.
  await git(root, ["worktree", "prune"]);
  const isNew = !(await hasBranch(root, branch));
  if (isNew) {
    const { commit, base } = start ?? (await checkedOut(root));
    await git(root, ["worktree", "add", "-b", branch, "--no-track", path, commit]);
    const section = `branch.${branch}`;
    await git(root, ["config", "--local", `${section}.dibs-task`, owner]);
    await git(root, ["config", "--local", `${section}.dibs-base`, base]);
    await setStart(root, branch, commit);
  } else {
    await git(root, ["worktree", "add", path, branch]);
  }
  await writeRecord(path, { isPrepared: false });
  return isNew;
}

async function checkedOut(root: string): Promise<Start> {
  const base = (await gitOr(root, ["symbolic-ref", "--quiet", "--short", "HEAD"])) ?? "";
  return { base, commit: await git(root, ["rev-parse", "HEAD"]) };
}

async function setStart(root: string, branch: string, commit: string): Promise<void> {
  await git(root, ["config", "--local", `branch.${branch}.dibs-commit`, commit]);
}

async function ownCommit(root: string, branch: string): Promise<string | null> {
  const [start, tip] = [await startOf(root, branch), await tipOf(root, branch)];
  return tip === start ? null : tip;
}

async function tidy(root: string, worktree: Worktree): Promise<string | null> {
  const { path, branch } = worktree;
  const why = await removeUnlessLost({ root, path, branch });
  worktree.isRemoved = why === null;
  return why === null ? null : `[worktree kept: ${path}, branch ${branch}: ${why}]`;
}

export interface Place {
  root: string;
  path: string;
  branch: string;
}

type LandedPlace = Place & { landed?: string | null };

/** Removes a working tree and its branch, unless something would be lost by that; answers what. */
export async function removeUnlessLost(place: LandedPlace): Promise<string | null> {
  const { root, path, branch } = place;
  try {
    const why = await whatWouldBeLost(place);
    if (why) return why;
    // What copy and setup left is no loss, but git would refuse.
    const { present } = await readRecord(path);
    await git(root, ["worktree", "remove", ...(present.length > 0 ? ["--force"] : []), path]);
    await gitOr(root, ["branch", "-D", branch]);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Ignored files are nobody's commits, and may still be what the task was about: only these are no loss. */
const canBeMadeAgain =
  /(?:^|\/)(?:node_modules|\.venv|venv|__pycache__|\.pytest_cache|\.mypy_cache|\.cache|\.turbo|\.next|target|dist|build|coverage)\/|(?:^|\/)\.DS_Store$|\.(?:pyc|tsbuildinfo)$/;

/** Why a working tree is not clean; null: it is. */
export async function changesIn(path: string): Promise<string | null> {
  const record = await readRecord(path);
  const isOld = isRemembered(record);
  const untracked = record.present.length > 0 ? "all" : "normal";
  const words = ["status", "--porcelain", "-z", `--untracked-files=${untracked}`, "--ignored=matching"];
  const lines = (await git(path, words))
    .split("\0")
    .filter((line) => line !== "" && !(/^(\?\?|!!) /.test(line) && isOld(line.slice(3))));
  if (lines.some((line) => !line.startsWith("!! "))) return "it has changes that are not committed";
  const ignored = lines.map((line) => line.slice(3)).filter((file) => !canBeMadeAgain.test(file));
  return ignored.length > 0 ? `git ignores ${ignored.slice(0, 5).join(", ")} in it` : null;
}

/** `landed`: what the task handed in, which is on the target as another commit. */
export async function whatWouldBeLost({ root, path, branch, landed }: LandedPlace): Promise<string | null> {
  const changes = await changesIn(path);
  if (changes !== null) return changes;
  const start = await startOf(root, branch);
  const base = await gitOr(root, ["config", "--local", "--get", `branch.${branch}.dibs-base`]);
  // The command may have left another branch, or none, checked out.
  for (const commit of [await git(path, ["rev-parse", "HEAD"]), await tipOf(root, branch)]) {
    if (commit === null || commit === start || commit === landed) continue;
    const isMerged =
      base && (await gitOr(root, ["merge-base", "--is-ancestor", commit, refOf(base)])) !== null;
    if (!isMerged) return "its commits are not merged";
  }
  return null;
}

/** A branch, or a whole ref where the branch is a remote's. */
const refOf = (base: string) => (base.startsWith("refs/") ? base : `refs/heads/${base}`);

const filesNamed = 5;

/** For the next attempt: `a.ts +3 -1, b.ts (new) and 2 more`. */
async function changedFiles(root: string, { path, branch }: { path: string; branch: string }) {
  const base = await gitOr(root, ["config", "--local", "--get", `branch.${branch}.dibs-base`]);
  const since =
    (base ? await gitOr(path, ["merge-base", "HEAD", refOf(base)]) : null) ?? (await startOf(root, branch));
  if (since === null) return null;
  const stat = await gitOr(path, ["diff", "--numstat", "--no-renames", "--no-ext-diff", "-z", since]);
  const tracked = (stat ?? "").split("\0").flatMap((line) => {
    const [, added, removed, file] = /^(\S+)\t(\S+)\t(.+)$/s.exec(line) ?? [];
    return file === undefined ? [] : [`${plain(file)} +${added} -${removed}`];
  });
  const fresh = (await gitOr(path, ["ls-files", "--others", "--exclude-standard", "-z"])) ?? "";
  const untracked = fresh.split("\0").flatMap((file) => (file === "" ? [] : [`${plain(file)} (new)`]));
  const files = [...tracked, ...untracked];
  const more = files.length - filesNamed;
  const named = files.slice(0, filesNamed).join(", ");
  return files.length === 0 ? null : `${named}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The commit that the branch was created at. */
function startOf(root: string, branch: string): Promise<string | null> {
  return gitOr(root, ["config", "--local", "--get", `branch.${branch}.dibs-commit`]);
}

function tipOf(root: string, branch: string): Promise<string | null> {
  return gitOr(root, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`]);
}
