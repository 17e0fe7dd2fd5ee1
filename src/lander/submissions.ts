// What was handed in: the queue as the store lists it, and its commits in the repository.

import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import { GitError, git, gitOr } from "../runner/git.js";
import { withoutHooks } from "../runner/merge.js";
import { changeRefs } from "../runner/ref-transaction.js";
import { changesToKeep, keepCommit } from "../runner/submission-ref.js";
import { fetchFrom, submissionRef, type Target } from "../runner/target.js";

export type Queued = OutputOf<OperationNamed<"landings.list">>["queue"][number];

export const nameOf = ({ project, taskId, number }: Queued) => ({ project, taskId, submission: number });
export const keyOf = ({ project, taskId, number }: Queued) => `${project}/${taskId}/${number}`;

export const isObjectId = (text: string) => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

export function candidateOf({ project, taskId, epoch, title, summary, commit }: Queued) {
  return { submission: commit!, title, summary, task: `${project}/${taskId}#${epoch}` };
}

/** A submission's commit, by the name under which it is kept. */
export interface Submitted {
  project: string;
  taskId: string;
  number: number;
  commit: string;
}

const refOf = ({ project, taskId, number }: Pick<Submitted, "project" | "taskId" | "number">) =>
  submissionRef(project, taskId, number);

/** What was handed in past the runner has no ref yet that keeps it. */
export async function keepSubmissions(root: string, submitted: readonly Submitted[]): Promise<void> {
  if (submitted.length === 0) return;
  const format = "--format=%(refname) %(objectname)";
  const listed = await git(root, ["for-each-ref", format, ...submitted.map(refOf)]);
  const known = new Map(listed.split("\n").map((line) => line.split(" ") as [string, string]));
  const changes = submitted
    .map((each) => ({ ref: refOf(each), commit: each.commit }))
    .filter(({ ref, commit }) => known.get(ref) !== commit)
    .map((each) => changesToKeep(each, known.get(each.ref) ?? null));
  if (changes.length === 0) return;
  const change = async (part: typeof changes) => {
    try {
      await changeRefs(root, part.flat(), { options: withoutHooks });
      return true;
    } catch (error) {
      if (error instanceof GitError && error.exitCode !== null) return false;
      throw error;
    }
  };
  // Together; if one of the commits is missing, one by one.
  if (!(await change(changes))) for (const each of changes) await change([each]);
}

/** Gets a commit from the remote if it is not here; false: it cannot be had. */
export async function fetchSubmission(
  root: string,
  { remote }: Target,
  submitted: Submitted,
  { isKept }: { isKept: boolean },
): Promise<boolean> {
  const { commit } = submitted;
  const isHere = async () => (await gitOr(root, ["cat-file", "-e", `${commit}^{commit}`])) !== null;
  if (await isHere()) return true;
  if (remote === null) return false;
  const ref = refOf(submitted);
  // Not into the ref itself: the remote's can be of another store.
  await fetchFrom(root, remote, [ref]).catch(() => undefined);
  if (!(await isHere())) return false;
  if (isKept) await keepCommit(root, { ref, commit });
  return true;
}
