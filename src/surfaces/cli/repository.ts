// The git repository of the current directory.

import { DibsError } from "../../contract/error.js";
import { refuseCopyable } from "../../runner/copy.js";
import { GitError, git, gitOr } from "../../runner/git.js";
import type { LandSettings } from "../../runner/target.js";

/** Where its working tree begins; null: there is no repository. */
export async function repositoryRoot(cwd: string): Promise<string | null> {
  try {
    return await gitOr(cwd, ["rev-parse", "--show-toplevel"]);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new DibsError("VALIDATION_FAILED", "Git cannot be started.", {
      hint: "Install git, and check that it is on the PATH.",
      cause: error,
    });
  }
}

/** Refuses `worktree.copy` with files that git does not ignore, inside the project's repository. */
export async function refuseCopyInto(
  cwd: string,
  copy: readonly string[],
  land: LandSettings | null,
): Promise<void> {
  const root = await repositoryRoot(cwd).catch(() => null);
  if (root === null) return;
  const first = land?.repository ?? null;
  if (first !== null && (await commitOf(root, first)) === null) return;
  await refuseCopyable(root, copy);
}

/** The target, if it is to be a branch of this repository and is not there; null: it is, or cannot be known here. */
export async function missingTarget(cwd: string, land: LandSettings): Promise<string | null> {
  const { target, remote, repository } = land;
  if (target === null || remote !== null) return null;
  const root = await repositoryRoot(cwd).catch(() => null);
  if (root === null) return null;
  if (repository !== null && (await commitOf(root, repository)) === null) return null;
  return (await commitOf(root, `refs/heads/${target}`)) === null ? target : null;
}

/** The full id of a commit; null: the repository has none of this name. */
export function commitOf(cwd: string, name: string): Promise<string | null> {
  return gitOr(cwd, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]);
}

export interface Origin {
  commit: string;
  project: string;
  taskId: string;
  attempt: number;
  /** The commit that was handed in. */
  submitted: string | null;
}

const trailers = ["Dibs-Task", "Dibs-Submission"]
  .map((key) => `%(trailers:key=${key},valueonly,unfold)`)
  .join("%x00");

/** What the lander wrote into the message of a commit. */
export async function originOf(cwd: string, name: string): Promise<Origin> {
  if ((await repositoryRoot(cwd)) === null) {
    throw new DibsError("VALIDATION_FAILED", `${cwd} is not in a git repository.`, {
      hint: "Run the command inside the repository of the commit.",
    });
  }
  const commit = await commitOf(cwd, name);
  if (commit === null)
    throw new DibsError("NOT_FOUND", `Commit ${name} not found in this repository.`, {
      hint: "Run: git fetch, then the command again; or git log",
    });
  const message = await git(cwd, ["show", "--no-patch", `--format=${trailers}`, commit]);
  const [task = "", submitted = ""] = message.split("\0").map((text) => text.trim().split("\n").at(-1) ?? "");
  const [, project, taskId, attempt] = /^([^/#\s]+)\/([^/#\s]+)#(\d+)$/.exec(task) ?? [];
  if (project === undefined || taskId === undefined) {
    throw new DibsError(
      "NOT_FOUND",
      `Commit ${commit.slice(0, 12)} has no trailer Dibs-Task: it was not landed by Dibs.`,
      {
        hint: `Run: git show ${commit.slice(0, 12)}`,
      },
    );
  }
  return { commit, project, taskId, attempt: Number(attempt), submitted: submitted || null };
}
