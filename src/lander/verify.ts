// Whether what landed is what was submitted: its commit is on the target, and its tree is what the merge gives.

import { gitOr } from "../runner/git.js";
import { type Target, targetRef } from "../runner/target.js";
import { Held, saidByGit, shortSha } from "./hold.js";
import { isAncestor, tipOf } from "./look.js";
import type { Merger } from "./merge.js";
import type { Repository } from "./repository.js";
import { fetchSubmission, type Submitted } from "./submissions.js";
import type { LandingWorktree } from "./worktree.js";

export const notVerified = "LANDING_NOT_VERIFIED";

interface Landing {
  id: string;
  base: string | null;
  commit: string | null;
  tasks: { project: string; taskId: string; submission: number; commit: string | null }[];
}

export interface VerifierParts {
  repository: Repository;
  place: Target;
  worktree: LandingWorktree;
  merger: Merger;
  treeOf(commit: string): Promise<string>;
  /** The commit of a submission; null: it changes nothing. */
  submissionOf(of: { project: string; taskId: string; number: number }): Promise<string | null>;
}

export class Verifier {
  constructor(private readonly parts: VerifierParts) {}

  /** Throws a hold if it is not; `known`: the submissions of its tasks that the caller has merged. */
  async verify(landing: Landing, known: ReadonlyMap<string, string | null>): Promise<void> {
    const { repository, place, worktree } = this.parts;
    const { root } = repository;
    const base = landing.base!;
    // After a fetch, where there is a remote.
    const tip = place.remote === null ? targetRef(place) : await tipOf(repository, place);
    const problem = (what: string) =>
      new Held({
        reason: notVerified,
        message: `Landing ${landing.id} is not what was submitted: ${what}`,
        fix: "dibs doctor",
      });
    // What was merged one onto the other is there if the last one is.
    const isChain = known.size > 0 && (await isAncestor(root, landing.commit!, tip));
    for (const { project, taskId, submission: number, commit } of landing.tasks) {
      if (commit === null) continue;
      if (!isChain && !(await isAncestor(root, commit, tip)))
        throw problem(`${shortSha(commit)} is not on ${place.target}`);
      const of = { project, taskId, number };
      const merged = known.get(`${project}/${taskId}`);
      const submitted = merged === undefined ? await this.parts.submissionOf(of) : merged;
      if (submitted === null) continue;
      if (merged === undefined) await this.need(landing.id, { ...of, commit: submitted });
      const isAsSubmitted = () => this.isMerge({ commit, submitted, base }, taskId);
      // Attributes count: those of the tree that it was merged on.
      if (await isAsSubmitted()) continue;
      await worktree.show(base);
      if (!(await isAsSubmitted())) throw problem(`task ${taskId}`);
    }
  }

  /** Without the commit nobody can say what landed: another lander may have carried it out, on another machine. */
  private async need(id: string, submitted: Submitted): Promise<void> {
    const { repository, place } = this.parts;
    if (await fetchSubmission(repository.root, place, submitted, { isKept: true })) return;
    const { taskId, commit } = submitted;
    throw unknown(id, taskId, `commit ${shortSha(commit)} is not in ${repository.root}`);
  }

  /** Whether a commit of the target is what merging a submission gives. One that added nothing has no commit of its own. */
  private async isMerge(
    { commit, submitted, base }: { commit: string; submitted: string; base: string },
    taskId: string,
  ): Promise<boolean> {
    const { merger, repository } = this.parts;
    const tree = await this.parts.treeOf(commit);
    for (const onto of commit === base ? [commit] : [`${commit}^`, commit]) {
      const merged = await merger.merge(onto, submitted);
      if (merged.type === "trouble") {
        const isRoot = (await gitOr(repository.root, ["rev-parse", "--verify", "--quiet", onto])) === null;
        if (!isRoot) throw unknown(shortSha(commit), taskId, saidByGit(merged.error));
      }
      if (merged.type === "merged" && merged.tree === tree) return true;
    }
    return false;
  }
}

function unknown(landing: string, taskId: string, why: string): Held {
  return new Held({
    reason: "LANDING_UNKNOWN",
    message: `Whether ${landing} is what task ${taskId} submitted cannot be verified: ${why}`,
    fix: "git fetch --all",
  });
}
