// The landing worktree: where trees are checked before they land. Each lander has one to itself: a lander that was stopped
// beyond its lease and goes on must not change the files that its successor checks.

import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { shellWord } from "../client/view/shell.js";
import { git, gitOr } from "../runner/git.js";
import type { GroupRecord } from "../runner/group.js";
import { endGroup, type Machine, ownProcess } from "../runner/processes.js";
import { refuseLinks } from "../runner/worktree.js";
import { Held } from "./hold.js";
import { ownDirectoryOf, type Repository } from "./repository.js";

interface Owner {
  host: string;
  name: string;
  pid: number;
  processStartedAt?: string;
  /** The processes that run in it. */
  group?: GroupRecord;
}

const worktreesMax = 16;
const killGraceMs = 5_000;

/** The user's hooks and sparse checkouts have no say in it. */
const options = ["-c", "core.hooksPath=/dev/null", "-c", "core.sparseCheckout=false"];

export class LandingWorktree {
  /** The commit whose files are there, if nothing has run in it since. */
  private shown: string | null = null;

  private constructor(
    readonly path: string,
    private readonly owner: Owner,
    /** The commit that was shown last. */
    private last: string,
  ) {}

  /** Takes the first one that nobody uses; creates it if it does not exist. */
  static async take(
    repository: Repository,
    target: string,
    machine: Machine,
    commit: string,
  ): Promise<LandingWorktree> {
    const { root, room } = repository;
    refuseLinks(room);
    mkdirSync(room, { recursive: true });
    const ignore = join(room, ".gitignore");
    if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
    for (let n = 1; n <= worktreesMax; n++) {
      const path = join(room, `${target.replaceAll("/", "-")}-${n}`);
      const before = ownerOf(path);
      if (before && !isGone(before, machine)) continue;
      const worktree = new LandingWorktree(path, { ...ownProcess(machine), name: hostname() }, commit);
      worktree.record();
      await endGroupOf(before, machine);
      await add(root, path, commit);
      await worktree.detach();
      return worktree;
    }
    throw new Held({
      reason: "NO_LANDING_WORKTREE",
      message: `All ${worktreesMax} landing worktrees in ${room} are in use.`,
      fix: `ls ${shellWord(room)}`,
    });
  }

  /** For whoever takes it next: what runs here, and must be ended if this lander dies. */
  running(group: GroupRecord | null): void {
    if (group) this.owner.group = group;
    else delete this.owner.group;
    this.record();
  }

  /** A command runs in it: its files can be anything from here on. */
  isChanged(): void {
    this.shown = null;
  }

  private record(): void {
    const file = ownerFile(this.path);
    writeFileSync(`${file}.new`, JSON.stringify(this.owner));
    renameSync(`${file}.new`, file);
  }

  /** Makes its files exactly those of the commit. What git ignores stays: setup made it. */
  async show(commit: string): Promise<void> {
    if (this.shown === commit) return;
    await this.detach();
    await git(this.path, [...options, "reset", "--hard", "--quiet", commit]);
    await git(this.path, [...options, "clean", "-ffdq"]);
    this.shown = commit;
    this.last = commit;
  }

  /** A command can have switched to a branch, even to the target: a reset would move it. */
  async detach(): Promise<void> {
    const directory = ownDirectoryOf(this.path);
    if (directory === null || !readFileSync(join(directory, "HEAD"), "utf8").startsWith("ref:")) return;
    await git(this.path, [...options, "update-ref", "--no-deref", "HEAD", this.last]);
  }

  giveBack(): void {
    rmSync(ownerFile(this.path), { force: true });
  }
}

const ownerFile = (path: string) => `${path}.owner`;

function ownerOf(path: string): Owner | null {
  try {
    return JSON.parse(readFileSync(ownerFile(path), "utf8")) as Owner;
  } catch {
    return null;
  }
}

/** Processes of an earlier boot are gone; those of other machines and containers cannot be seen. */
function isGone({ host, name, pid, processStartedAt }: Owner, machine: Machine): boolean {
  if (host === machine.hostId) return !machine.isAlive(pid, processStartedAt ?? null);
  return name === hostname() && bootOf(host) !== bootOf(machine.hostId);
}

const bootOf = (host: string) => host.split("/")[0];

async function endGroupOf(owner: Owner | null, machine: Machine): Promise<void> {
  const group = owner?.group;
  if (!group || group.host !== machine.hostId || !machine.isAlive(group.pid, group.processStartedAt)) return;
  await endGroup(group.pgid, killGraceMs);
}

async function add(root: string, path: string, commit: string): Promise<void> {
  // A link in a clone must not lead to another worktree.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path);
  const directory = existsSync(path) ? await gitOr(path, ["rev-parse", "--absolute-git-dir"]) : null;
  const isWorktree = directory !== null && /[\\/]worktrees[\\/][^\\/]+$/.test(directory);
  if (isWorktree) {
    // Of a git command that was killed: the worktree is ours alone.
    rmSync(join(directory, "index.lock"), { force: true });
    return;
  }
  rmSync(path, { recursive: true, force: true });
  await git(root, ["worktree", "prune"]);
  await git(root, [...options, "worktree", "add", "--detach", "--no-checkout", "--force", path, commit]);
}
