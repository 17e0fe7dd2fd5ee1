// A submission merged onto a commit without a working tree, and the commit that it becomes on the target.

import { GitError, git, gitOr } from "../runner/git.js";
import { Held } from "./hold.js";
import { isObjectId } from "./submissions.js";

/** Attributes and the user's settings must not change what a merge gives. */
const pinned: [string, string][] = [
  ["merge.renames", "true"],
  ["merge.renameLimit", "7000"],
  ["merge.directoryRenames", "conflict"],
  ["merge.renormalize", "false"],
  ["merge.conflictStyle", "merge"],
  ["merge.default", "text"],
  ["core.attributesFile", "/dev/null"],
];

/** In place of a driver of the user's own: what git does without one. */
const textDriver = "git merge-file --quiet %A %O %B";

export type Merged =
  | { type: "merged"; tree: string }
  | { type: "conflict"; paths: string[] }
  /** Git could not merge: a commit is missing, for example. */
  | { type: "trouble"; error: unknown };

const mergeTimeoutMs = 5 * 60_000;

/** Run in the landing worktree, checked out at the target: its attributes count. */
export class Merger {
  private constructor(
    private readonly cwd: string,
    private readonly env: Record<string, string>,
  ) {}

  static async in(cwd: string): Promise<Merger> {
    const drivers = await gitOr(cwd, [
      "config",
      "--null",
      "--name-only",
      "--get-regexp",
      "^merge\\..*\\.driver$",
    ]);
    const names = new Set((drivers ?? "").split("\0").filter((name) => name !== ""));
    const settings = [...pinned, ...[...names].map((name): [string, string] => [name, textDriver])];
    // In the environment: a driver's name can contain any character.
    const pairs = settings.flatMap(([key, value], n) => [
      [`GIT_CONFIG_KEY_${n}`, key],
      [`GIT_CONFIG_VALUE_${n}`, value],
    ]);
    const count = String(settings.length);
    return new Merger(cwd, {
      ...(Object.fromEntries(pairs) as Record<string, string>),
      GIT_CONFIG_COUNT: count,
      GIT_ATTR_NOSYSTEM: "1",
    });
  }

  async merge(onto: string, commit: string): Promise<Merged> {
    const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", onto, commit];
    try {
      const out = await git(this.cwd, args, { env: this.env, timeoutMs: mergeTimeoutMs });
      return { type: "merged", tree: out.split("\0")[0]! };
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      // Exit 1 is also a missing commit: only with a tree it is a conflict.
      const [tree = "", ...paths] = error.stdout.split("\0");
      if (error.exitCode !== 1 || !isObjectId(tree)) return { type: "trouble", error };
      return { type: "conflict", paths: paths.filter((path) => path.trim() !== "") };
    }
  }
}

export interface Candidate {
  tree: string;
  parent: string;
  /** The commit that was handed in. */
  submission: string;
  title: string;
  summary: string | null;
  /** `<project>/<id>#<attempt>`. */
  task: string;
}

export class Committer {
  private constructor(
    private readonly cwd: string,
    private readonly env: Record<string, string>,
    private readonly signs: boolean,
    private readonly timeoutMs: number,
  ) {}

  /** With git's own identity, if it has one. `signMs`: how long a signer can take. */
  static async in(cwd: string, signMs: number): Promise<Committer> {
    const own = await gitOr(cwd, ["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"]);
    const signs = await gitOr(cwd, ["config", "--type=bool", "--get", "commit.gpgSign"]);
    const env = own === null ? { GIT_COMMITTER_NAME: "Dibs", GIT_COMMITTER_EMAIL: "dibs@localhost" } : {};
    return new Committer(cwd, env as Record<string, string>, signs === "true", signMs);
  }

  async commit({ tree, parent, submission, title, summary, task }: Candidate): Promise<string> {
    const [name = "", email = "", date = ""] = (
      await git(this.cwd, [
        "show",
        "-s",
        "--no-show-signature",
        "--format=%an%x00%ae%x00%ad",
        "--date=raw",
        submission,
      ])
    ).split("\0");
    const env = {
      ...this.env,
      GIT_AUTHOR_NAME: name || "Dibs",
      GIT_AUTHOR_EMAIL: email,
      GIT_AUTHOR_DATE: `@${date}`,
    };
    const message = [title, summary, `Dibs-Task: ${task}\nDibs-Submission: ${submission}`]
      .filter((part) => part !== null && part.trim() !== "")
      .map((part) => part!.replaceAll("\0", "").trim())
      .join("\n\n");
    const args = ["commit-tree", tree, "-p", parent, ...(this.signs ? ["-S"] : []), "-F", "-"];
    try {
      return await git(this.cwd, args, { env, input: `${message}\n`, timeoutMs: this.timeoutMs });
    } catch (error) {
      if (this.signs && error instanceof GitError && error.exitCode === null) throw signerHangs(error);
      throw error;
    }
  }
}

/** It would hang for the next submission, too. */
function signerHangs(error: GitError): Held {
  return new Held({
    reason: "SIGNER_HANGS",
    message: `Commits of landings cannot be signed: ${error.stderr.trim()}. Unlock the key, or turn signing off.`,
    fix: "git config commit.gpgSign false",
  });
}

/** Null: they have no commit in common. */
export const mergeBase = (cwd: string, one: string, other: string): Promise<string | null> =>
  gitOr(cwd, ["merge-base", one, other]);
