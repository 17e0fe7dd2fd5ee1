// The target branch of a project that lands, and the names of the refs that Dibs keeps in the repository.

import { DibsError } from "../contract/error.js";
import type { WireProject } from "../contract/shapes.js";
import { GitError, git, gitOr } from "./git.js";

export type LandSettings = WireProject["settings"]["land"];

/** With landing on, where work lands. */
export interface Target {
  /** The branch. */
  target: string;
  /** Where the branch is; null: in the local repository. */
  remote: string | null;
}

export function targetOf({ target, remote }: LandSettings): Target | null {
  return target === null ? null : { target, remote };
}

/** Keeps what was handed in, whatever becomes of its branch. */
export const submissionRef = (project: string, taskId: string, number: number) =>
  `refs/dibs/submissions/${refPart(project)}/${refPart(taskId)}/${number}`;

/** The lander's intent: only the lander that wrote it may move the target. */
export const fenceRef = (target: string) => `refs/dibs/land/${target}`;

/** A part of a ref may not end in a dot or in `.lock`. */
const refPart = (id: string) => (/(\.|\.lock)$/i.test(id) ? `${id}_` : id);

/** The ref of the target in the local repository: its own branch, or what was fetched of the remote's. */
export const targetRef = ({ target, remote }: Target) =>
  remote === null ? `refs/heads/${target}` : `refs/remotes/${remote}/${target}`;

const fetchTimeoutMs = 5 * 60_000;

/** The target's commit, fetched first where there is a remote; null: there is no such branch. */
export async function targetTip(root: string, place: Target): Promise<string | null> {
  const { target, remote } = place;
  if (remote !== null) {
    const isThere = await fetchFrom(root, remote, [`+refs/heads/${target}:${targetRef(place)}`]);
    // What was fetched before it was deleted there is not the target.
    if (!isThere) return null;
  }
  return gitOr(root, ["rev-parse", "--verify", "--quiet", `${targetRef(place)}^{commit}`]);
}

/** False: the remote does not have one of the refs. */
export async function fetchFrom(root: string, remote: string, refspecs: readonly string[]): Promise<boolean> {
  try {
    await git(root, ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote, ...refspecs], {
      timeoutMs: fetchTimeoutMs,
    });
    return true;
  } catch (error) {
    if (error instanceof GitError && /couldn't find remote ref/i.test(error.stderr)) return false;
    throw error;
  }
}

/** The same, where there must be one. */
export async function tipOfTarget(root: string, place: Target): Promise<string> {
  const tip = await targetTip(root, place);
  if (tip !== null) return tip;
  const { target, remote } = place;
  throw new DibsError(
    "INVALID_STATE",
    `There is no branch ${target} ${remote === null ? "in" : `on ${remote} of`} ${root}.`,
    {
      hint: remote === null ? `Run: git branch ${target}` : `Run: git push ${remote} ${target}`,
      details: { reason: targetMissing, target },
    },
  );
}

/** Also why the lander holds everything. */
export const targetMissing = "TARGET_MISSING";

/** The commit that a repository began with, along the target. */
export async function rootCommitOf(root: string, place: Target): Promise<string> {
  // What was fetched before has the same root.
  const known = await gitOr(root, ["rev-parse", "--verify", "--quiet", `${targetRef(place)}^{commit}`]);
  const tip = known ?? (await tipOfTarget(root, place));
  return git(root, ["rev-list", "--first-parent", "--max-parents=0", tip]);
}

/** Work of a project lands in one repository: a worker or lander in another one refuses to start. */
export async function refuseOtherRepository(root: string, land: LandSettings): Promise<void> {
  if (land.repository === null) return;
  if ((await gitOr(root, ["cat-file", "-e", `${land.repository}^{commit}`])) !== null) return;
  throw new DibsError("INVALID_STATE", `${root} is not the repository that the project's work lands in.`, {
    hint: "Run it inside the project's repository. A shallow clone does not have the first commit: run git fetch --unshallow",
    details: { repository: land.repository },
  });
}

/** `git merge-tree --write-tree` came with it. */
const gitNeeded = [2, 38] as const;

export async function refuseOldGit(root: string): Promise<void> {
  const version = await git(root, ["--version"]);
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
  if (major > gitNeeded[0] || (major === gitNeeded[0] && minor >= gitNeeded[1])) return;
  throw new DibsError(
    "VALIDATION_FAILED",
    `Landing needs git ${gitNeeded.join(".")} or newer; this is ${version}.`,
    { hint: "Install a newer git." },
  );
}
