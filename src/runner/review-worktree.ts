// Where a reviewer's command runs: a detached worktree at the submission's commit, gone afterwards.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git, gitOr, inTurn } from "./git.js";
import { withoutHooks } from "./merge.js";
import type { Machine } from "./processes.js";
import { mainWorktreeOf, patiently, refuseLinks } from "./worktree.js";

export interface ReviewWorktree {
  path: string;
  remove(): Promise<void>;
}

interface Submitted {
  taskId: string;
  number: number;
  commit: string;
}

const roomOf = (root: string) => join(root, ".dibs", "reviews");

/** Null: the directory is in no repository, or that one does not have the commit. */
export async function openReviewWorktree(
  directory: string,
  { taskId, number, commit }: Submitted,
  machine: Machine,
): Promise<ReviewWorktree | null> {
  const root = await mainWorktreeOf(directory);
  if (root === null || (await gitOr(root, ["cat-file", "-e", `${commit}^{commit}`])) === null) return null;
  const room = roomOf(root);
  refuseLinks(room);
  mkdirSync(room, { recursive: true });
  const ignore = join(room, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  const own = `${ownerOf(machine, process.pid)}-`;
  return inTurn(root, async () => {
    await removeAbandoned(root, machine);
    const path = join(room, `${own}${taskId.replace(/[^\w.-]/g, "-")}-${number}`);
    await remove(root, path);
    // Hooks can be part of the submission, which nobody has reviewed yet.
    await patiently(() =>
      git(root, [...withoutHooks, "worktree", "add", "--quiet", "--detach", path, commit]),
    );
    return { path, remove: () => inTurn(root, () => remove(root, path)) };
  });
}

/** Pids mean something only on their host. */
const ownerOf = ({ hostId }: Machine, pid: number | string) =>
  `${createHash("sha256").update(hostId).digest("hex").slice(0, 8)}-${pid}`;

/** Of runners of this host that were killed. */
async function removeAbandoned(root: string, machine: Machine): Promise<void> {
  for (const name of readdirSync(roomOf(root))) {
    const pid = /^[0-9a-f]{8}-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || !name.startsWith(`${ownerOf(machine, pid)}-`)) continue;
    if (!machine.isAlive(Number(pid), null)) await remove(root, join(roomOf(root), name));
  }
}

async function remove(root: string, path: string): Promise<void> {
  if (!existsSync(path)) return;
  await gitOr(root, ["worktree", "remove", "--force", "--force", path]);
  // With submodules git refuses.
  rmSync(path, { recursive: true, force: true });
  await gitOr(root, ["worktree", "prune"]);
}
