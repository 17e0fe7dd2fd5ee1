// What worktree runs leave in a repository: worktrees in `.dibs/worktrees`, branches `dibs/<task>` and settings in git's
// config. A branch is Dibs' own if git's config names its task; everything else is left alone.

import { existsSync, lstatSync, readdirSync, realpathSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { git, gitOr } from "./git.js";
import { changesIn, landingRoomOf, mainWorktreeOf, roomOf } from "./worktree.js";

export interface OwnWorktree {
  path: string;
  branch: string;
  project: string;
  taskId: string;
}

export interface Leftovers {
  root: string;
  worktrees: OwnWorktree[];
  branches: { name: string; commit: string }[];
  /** Of git's config, such as `branch.dibs/0001`; its branch may be gone. */
  sections: string[];
  /** Paths in `.dibs/worktrees` that Dibs did not create. */
  foreign: string[];
  /** Where else a branch of Dibs is checked out. */
  elsewhere: { branch: string; path: string }[];
}

/** Null where there is no repository. */
export async function leftoversOf(directory: string): Promise<Leftovers | null> {
  const root = await mainWorktreeOf(directory).catch(() => null);
  if (root === null) return null;
  const owners = await ownersOf(root);
  const listed = await listedWorktrees(root);
  const room = roomOf(root);
  const worktrees: OwnWorktree[] = [];
  const elsewhere: Leftovers["elsewhere"] = [];
  for (const { path, branch } of listed) {
    const own = `dibs/${basename(path)}`;
    const owner = owners.get(own);
    if (owner && isIn(room, path)) worktrees.push({ path, branch: own, ...owner });
    else if (branch && owners.has(branch)) elsewhere.push({ branch, path });
  }
  const branches: Leftovers["branches"] = [];
  for (const name of owners.keys()) {
    const commit = await gitOr(root, ["rev-parse", "--verify", "--quiet", `refs/heads/${name}`]);
    if (commit !== null) branches.push({ name, commit });
  }
  const known = new Set(worktrees.map(({ path }) => basename(path)));
  const foreign = entriesOf(room).filter((name) => name !== ".gitignore" && !known.has(name));
  return {
    root,
    worktrees,
    branches,
    sections: [...owners.keys()].map((name) => `branch.${name}`),
    foreign: foreign.map((name) => join(room, name)),
    elsewhere,
  };
}

/** Branches with the task that git's config names for them. */
async function ownersOf(root: string): Promise<Map<string, Pick<OwnWorktree, "project" | "taskId">>> {
  const found = await gitOr(root, [
    ...["config", "--local", "--null", "--get-regexp"],
    "^branch\\.dibs/.*\\.dibs-task$",
  ]);
  const owners = new Map<string, Pick<OwnWorktree, "project" | "taskId">>();
  for (const entry of (found ?? "").split("\0").filter((text) => text !== "")) {
    const [key = "", value = ""] = entry.split("\n");
    const [project = "", taskId = ""] = value.split("/");
    owners.set(key.slice("branch.".length, -".dibs-task".length), { project, taskId });
  }
  return owners;
}

async function listedWorktrees(root: string): Promise<{ path: string; branch: string | null }[]> {
  const listed = (await git(root, ["worktree", "list", "--porcelain"])).split("\n\n");
  return listed.map((entry) => ({
    path: /^worktree (.+)$/m.exec(entry)?.[1] ?? "",
    branch: /^branch refs\/heads\/(.+)$/m.exec(entry)?.[1] ?? null,
  }));
}

/** Directly in the room, and no link to another place. Its directory may be gone: git still lists it. */
function isIn(room: string, path: string): boolean {
  if (dirname(path) !== room && !(existsSync(room) && dirname(path) === realpathSync(room))) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found === undefined || found.isDirectory();
}

function entriesOf(room: string): string[] {
  return lstatSync(room, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(room).sort() : [];
}

/** One sentence for each worktree and branch whose removal would lose work. */
export async function unmergedIn({ root, worktrees, branches }: Leftovers): Promise<string[]> {
  const others = [...branches.map(({ name }) => `--exclude=${name}`), "--branches", "--remotes"];
  const commitsOnlyAt = async (commit: string) =>
    Number(await git(root, ["rev-list", "--count", commit, "--not", ...others]));
  const problems: string[] = [];
  const tips = new Map(branches.map(({ name, commit }) => [name, commit]));
  for (const { path, branch } of worktrees) {
    if (!existsSync(path)) continue;
    const head = await gitOr(path, ["rev-parse", "HEAD"]);
    const changes = head === null ? "it cannot be read by git" : await changesIn(path);
    if (changes !== null) problems.push(`Worktree ${path}: ${changes}.`);
    // The command may have committed without a branch.
    if (head === null || head === tips.get(branch)) continue;
    const count = await commitsOnlyAt(head);
    if (count > 0) problems.push(`Worktree ${path}: ${commits(count)} on no branch.`);
  }
  for (const { name, commit } of branches) {
    const count = await commitsOnlyAt(commit);
    if (count > 0) problems.push(`Branch ${name}: ${commits(count)} on no other branch.`);
  }
  return problems;
}

const commits = (count: number) => (count === 1 ? "1 commit is" : `${count} commits are`);

export interface Removed {
  what: "worktree" | "branch" | "git settings";
  name: string;
}

/**
 * In an order that can be repeated after an interruption: what git's config says about a branch goes last. A branch that
 * moved since `leftoversOf` is not removed: git compares its commit.
 */
export async function removeLeftovers(
  { root, worktrees, branches, sections }: Leftovers,
  { force }: { force: boolean },
): Promise<Removed[]> {
  const removed: Removed[] = [];
  for (const { path } of worktrees) {
    await git(root, ["worktree", "remove", ...(force ? ["--force"] : []), path]);
    removed.push({ what: "worktree", name: path });
  }
  if (sections.length > 0 && (await removeWorktreeConfig(root)))
    removed.push({ what: "git settings", name: "extensions.worktreeConfig" });
  for (const { name, commit } of branches) {
    await git(root, ["update-ref", "-d", `refs/heads/${name}`, commit]);
    removed.push({ what: "branch", name });
  }
  for (const section of sections) {
    await git(root, ["config", "--local", "--remove-section", section]);
    removed.push({ what: "git settings", name: section });
  }
  removed.push(...(await removeLandingWorktrees(root)));
  const room = roomOf(root);
  if (entriesOf(room).join() === ".gitignore") rmSync(join(room, ".gitignore"));
  if (existsSync(room) && entriesOf(room).length === 0) rmdirSync(room);
  return removed;
}

/** Nothing of anybody's is in them: every landing resets them. Refs of submissions stay: they keep work. */
async function removeLandingWorktrees(root: string): Promise<Removed[]> {
  const room = landingRoomOf(root);
  const paths = (await listedWorktrees(root)).map(({ path }) => path).filter((path) => isIn(room, path));
  for (const path of paths) await git(root, ["worktree", "remove", "--force", path]);
  if (entriesOf(room).length > 0) rmSync(room, { recursive: true, force: true });
  const fences = (await gitOr(root, ["for-each-ref", "--format=%(refname)", "refs/dibs/land/"])) ?? "";
  for (const ref of fences.split("\n").filter((name) => name !== ""))
    await gitOr(root, ["update-ref", "-d", ref]);
  return paths.map((name) => ({ what: "worktree" as const, name }));
}

/** Set for the hooks of worktrees; without a `config.worktree` it has no effect, and with one somebody uses it. */
async function removeWorktreeConfig(root: string): Promise<boolean> {
  const common = join(root, ".git");
  const isUsed = [
    common,
    ...entriesOf(join(common, "worktrees")).map((name) => join(common, "worktrees", name)),
  ]
    .map((directory) => join(directory, "config.worktree"))
    .some((file) => existsSync(file));
  if (isUsed) return false;
  return (await gitOr(root, ["config", "--local", "--unset", "extensions.worktreeConfig"])) !== null;
}
