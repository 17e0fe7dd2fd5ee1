// Commits what a command left uncommitted in its worktree, without what copy and setup put there.

import { git, gitOr } from "./git.js";
import { identityFor } from "./identity.js";
import { inProgress, withoutHooks } from "./merge.js";
import { isRemembered, readRecord, type WorktreeRecord } from "./worktree-record.js";

interface Commit {
  message: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Without: nobody is asked, and nothing is signed. */
  hasHooks: boolean;
}

/** The message of what Dibs commits without hooks, when a later attempt starts. */
export const unfinished = "Unfinished work of an earlier attempt";

const timeoutMs = 10 * 60_000;

/** Concludes a merge whose conflicts are resolved. False: there was nothing to commit. */
export async function commitRest(path: string, { message, env, hasHooks }: Commit): Promise<boolean> {
  const record = await readRecord(path);
  await stageRest(path, record);
  const isMerge = (await inProgress(path)) === "merge";
  if (!isMerge) await unstageCopied(path, record);
  if (!isMerge && (await gitOr(path, ["diff", "--cached", "--quiet"])) !== null) return false;
  await commitStaged(path, { message, env, hasHooks });
  return true;
}

async function commitStaged(path: string, { message, env, hasHooks }: Commit): Promise<void> {
  const words = ["commit", "--quiet", "--cleanup=whitespace", "--file=-"];
  await git(path, hasHooks ? words : [...withoutHooks, ...words, "--no-gpg-sign"], {
    input: `${message}\n`,
    env: { ...env, ...(await identityFor(path, env)) },
    timeoutMs,
  });
}

/**
 * What was committed without the user's hooks goes through them: everything since `base`, committed as one for the time of that.
 * What the hooks change is committed on top; the commits themselves stay. Killed in the middle, everything is staged.
 */
export async function passHooks(
  path: string,
  { base, message, env }: { base: string; message: string; env: Commit["env"] },
): Promise<void> {
  const before = await git(path, ["rev-parse", "HEAD"]);
  const goTo = (commit: string) => git(path, [...withoutHooks, "reset", "--quiet", "--soft", commit]);
  const treeOf = (commit: string) => git(path, ["rev-parse", `${commit}^{tree}`]);
  let end = before;
  try {
    await goTo(base);
    await commitStaged(path, { message, env, hasHooks: true });
    const tree = await treeOf("HEAD");
    if (tree !== (await treeOf(before))) {
      const words = ["commit-tree", tree, "-p", before, "-F", "-"];
      const identity = { ...env, ...(await identityFor(path, env)) };
      end = await git(path, words, { input: `${message}\n`, env: identity });
    }
  } finally {
    await goTo(end);
  }
}

const literal = { GIT_LITERAL_PATHSPECS: "1" };
const fromInput = ["--pathspec-from-file=-", "--pathspec-file-nul"];

/** A repository inside of it is left out: its files would not be in the commit. */
async function stageRest(path: string, record: WorktreeRecord): Promise<void> {
  await git(path, ["add", "--update", "--", "."]);
  const isOld = isRemembered(record);
  const untracked = (await listed(path, ["ls-files", "--others", "--exclude-standard", "-z"])).filter(
    (file) => !file.endsWith("/") && !isOld(file),
  );
  if (untracked.length === 0) return;
  await git(path, ["add", ...fromInput], { input: untracked.join("\0"), env: literal });
}

/** The command may have added them. */
async function unstageCopied(path: string, { copied }: WorktreeRecord): Promise<void> {
  if (copied.length === 0) return;
  const isCopied = new Set(copied);
  const added = await listed(path, [
    "diff",
    "--cached",
    "--name-only",
    "--no-renames",
    "--diff-filter=A",
    "-z",
  ]);
  const staged = added.filter((file) => isCopied.has(file));
  if (staged.length === 0) return;
  await git(path, ["rm", "--cached", "--quiet", "--force", ...fromInput], {
    input: staged.join("\0"),
    env: literal,
  });
}

async function listed(path: string, words: readonly string[]): Promise<string[]> {
  return (await git(path, words)).split("\0").filter((file) => file !== "");
}
