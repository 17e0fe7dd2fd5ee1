// The ref that keeps what was handed in. Ids start again in a new store, so the ref can have another commit already: that one
// gets a ref of its own, because nothing that was handed in is lost.

import { type GitOptions, git, gitOr } from "./git.js";
import { withoutHooks } from "./merge.js";
import { changeRefs, type RefChange } from "./ref-transaction.js";

export interface Kept {
  ref: string;
  commit: string;
}

const replacedRef = ({ ref, commit }: Kept) => `${ref}-old-${commit.slice(0, 12)}`;

export async function keepCommit(root: string, kept: Kept): Promise<void> {
  const before = await gitOr(root, ["rev-parse", "--verify", "--quiet", kept.ref]);
  await changeRefs(root, changesToKeep(kept, before), { options: withoutHooks });
}

export function changesToKeep({ ref, commit }: Kept, before: string | null): RefChange[] {
  const change = { ref, to: commit, from: before };
  if (before === null || before === commit) return [change];
  return [{ ref: replacedRef({ ref, commit: before }), to: before }, change];
}

/** With the branch that has it, if one does. The remote's own ref of that name is kept in the same way. */
export async function pushCommit(
  path: string,
  { ref, commit, remote, branch }: Kept & { remote: string; branch?: string | undefined },
  options: GitOptions,
): Promise<void> {
  const push = (before: string | null, ...more: string[]) => {
    const ofBranch = branch === undefined ? [] : [`+${commit}:refs/heads/${branch}`];
    const refspecs = [...ofBranch, `${commit}:${ref}`, ...more];
    const lease = `--force-with-lease=${ref}:${before ?? ""}`;
    return git(path, ["push", "--quiet", lease, remote, ...refspecs], options);
  };
  try {
    await push(null);
  } catch (error) {
    const [before] = (await git(path, ["ls-remote", remote, ref], options)).split(/\s/);
    if (!before) throw error;
    // An attempt before this one came as far.
    if (before === commit) return void (await push(before));
    const replaced = replacedRef({ ref, commit: before });
    const fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote];
    await git(path, [...fetch, `+${ref}:${replaced}`], options);
    await push(before, `${replaced}:${replaced}`);
  }
}
