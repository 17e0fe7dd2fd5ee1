// Whether a runner is where its tasks can be worked on, before it claims one.

import { DibsError } from "../contract/error.js";
import { planOf, refuseUnlandable } from "./landing-worktree.js";
import type { RunnerOptions } from "./options.js";
import { tipOfTarget } from "./target.js";
import { mainWorktreeOf, repositoryOf } from "./worktree.js";

export async function refuseWrongPlace(options: RunnerOptions): Promise<void> {
  const { dibs, worktree, machine } = options;
  const plan = await planOf(dibs, options.project);
  const { target } = plan.target ?? { target: null };
  if (target === null) {
    if (worktree && !worktree.onlyToLand) await repositoryOf(worktree.root);
    return;
  }
  const root = worktree?.root ?? options.cwd ?? process.cwd();
  if (!worktree || (await mainWorktreeOf(root)) === null) {
    throw new DibsError(
      "VALIDATION_FAILED",
      `The work of project ${plan.project} lands on branch ${target}, and ${root} is in no git repository with a working tree.`,
      { hint: `Run it inside the project's repository: cd <repository>` },
    );
  }
  const repository = await repositoryOf(root);
  await refuseUnlandable(repository, plan, machine);
  // Before anything is claimed. A remote is asked when a task starts.
  if (plan.target!.remote === null) await tipOfTarget(repository, plan.target!);
}

/** Whether tasks of a project get a worktree without being asked for. */
export async function landsWork(dibs: RunnerOptions["dibs"], project: string | undefined): Promise<boolean> {
  return (await planOf(dibs, project)).target !== null;
}
