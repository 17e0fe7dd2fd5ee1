// What the worktree of an attempt has changed so far, reported with heartbeats: other tasks can be changing the same files. It is read
// at intervals of its own, because heartbeats must not wait for git.

import { changedPathsMax } from "../contract/tasks/heartbeat.js";
import { git, gitOr } from "./git.js";
import type { Worktree } from "./worktree.js";
import { isRemembered, readRecord } from "./worktree-record.js";

const timeoutMs = 30_000;

/** Committed or not, without what git ignores and what was there before the command; a renamed file counts as two. */
async function changedPaths({ path, branch, root }: Worktree): Promise<string[]> {
  const start = await gitOr(root, ["config", "--local", "--get", `branch.${branch}.dibs-commit`]);
  const since = start ?? "HEAD";
  const list = async (args: string[]) =>
    (await git(path, args, { timeoutMs })).split("\0").filter((each) => each !== "");
  const tracked = await list(["diff", "--name-only", "--no-renames", "-z", since, "--"]);
  const isOld = isRemembered(await readRecord(path));
  const untracked = (await list(["ls-files", "--others", "--exclude-standard", "-z"])).filter(
    (each) => !isOld(each),
  );
  const paths = [...new Set([...tracked, ...untracked])].filter((each) => each.length <= lengthMax);
  return paths.sort().slice(0, changedPathsMax);
}

const lengthMax = 1_000;

/** Looks at intervals; a heartbeat takes what was not reported yet. */
export class ChangedPaths {
  private timer: NodeJS.Timeout | null = null;
  private looking: Promise<void> | null = null;
  private found: string[] = [];
  private reported = "";
  private isEnded = false;

  constructor(
    private readonly worktree: Worktree,
    private readonly everyMs: number,
    private readonly onFound: () => void,
  ) {
    this.plan();
  }

  /** To be sent along, if there is something to say. */
  get unreported(): string[] | null {
    return this.found.join("\0") === this.reported ? null : this.found;
  }

  wereReported(paths: readonly string[]): void {
    this.reported = paths.join("\0");
  }

  look(): Promise<void> {
    this.looking ??= this.read().finally(() => {
      this.looking = null;
    });
    return this.looking;
  }

  end(): void {
    this.isEnded = true;
    if (this.timer) clearTimeout(this.timer);
  }

  private plan(): void {
    if (this.isEnded) return;
    this.timer = setTimeout(() => void this.look().finally(() => this.plan()), this.everyMs);
    this.timer.unref();
  }

  private async read(): Promise<void> {
    try {
      this.found = await changedPaths(this.worktree);
      if (!this.isEnded && this.unreported) this.onFound();
    } catch {
      // Git can be between two states. The next look comes.
    }
  }
}
