// A task's worktree where work lands: it starts at the target, and every later attempt starts with the target merged in. Without
// landing, a new worktree starts with the branches of its task's dependencies.

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Dibs } from "../client/client.js";
import { DibsError } from "../contract/error.js";
import { isSameMachine } from "../contract/host.js";
import type { WireProject, WireTask } from "../contract/shapes.js";
import { commitRest, unfinished } from "./commit-rest.js";
import { gitOr } from "./git.js";
import { type Conflict, conflictsWith, inProgress, mergeInto, unmergedPaths, withMarkers } from "./merge.js";
import type { Machine } from "./processes.js";
import {
  fetchFrom,
  refuseOldGit,
  refuseOtherRepository,
  submissionRef,
  type Target,
  targetOf,
  targetRef,
  tipOfTarget,
} from "./target.js";
import { readRecord, writeRecord } from "./worktree-record.js";

type Env = Readonly<Record<string, string | undefined>>;

/** What the project says about worktrees. */
export interface ProjectPlan {
  project: string;
  settings: WireProject["settings"];
  /** Null: landing is off. */
  target: Target | null;
  /** The machine of the lander that works; null: none. */
  landerHost: string | null;
}

export async function planOf(dibs: Dibs, id: string | undefined): Promise<ProjectPlan> {
  const { project } = await dibs.projects.get(id === undefined ? {} : { id });
  const target = targetOf(project.settings.land);
  const { lease } = target ? await dibs.landings.list({ project: project.id, limit: 1 }) : { lease: null };
  return { project: project.id, settings: project.settings, target, landerHost: lease?.host ?? null };
}

/** Before anything is claimed, and again for every task: settings can change meanwhile. */
export async function refuseUnlandable(
  root: string,
  { project, settings: { land }, landerHost }: ProjectPlan,
  { hostId }: Pick<Machine, "hostId">,
): Promise<void> {
  await refuseOldGit(root);
  await refuseOtherRepository(root, land);
  if (land.remote !== null || isSameMachine(landerHost, hostId)) return;
  throw new DibsError(
    "REMOTE_REQUIRED",
    `The lander of project ${project} is on another machine, and land.remote is not set.`,
    { hint: "Run: dibs project set land.remote origin", details: { project, host: landerHost } },
  );
}

export interface Start {
  commit: string;
  /** The branch or ref that its commits are to be merged into. */
  base: string;
}

/** Where a new branch begins: what was handed in before, else the target. */
export async function startFor(
  root: string,
  target: Target,
  task: Pick<WireTask, "project" | "id" | "submission">,
): Promise<Start & { tip: string }> {
  const tip = await tipOfTarget(root, target);
  const base = target.remote === null ? target.target : targetRef(target);
  return { tip, base, commit: (await handedInBefore(root, target, task)) ?? tip };
}

async function handedInBefore(
  root: string,
  { remote }: Target,
  { project, id, submission }: Pick<WireTask, "project" | "id" | "submission">,
): Promise<string | null> {
  if (!submission?.commit) return null;
  const ref = submissionRef(project, id, submission.number);
  const known = () => gitOr(root, ["rev-parse", "--verify", "--quiet", `${submission.commit}^{commit}`]);
  if (remote !== null && (await known()) === null) await fetchFrom(root, remote, [`+${ref}:${ref}`]);
  return known();
}

export interface Conflicts {
  paths: Conflict[];
  /** What was merged when they came up. */
  with: string;
  /** Branches that are not merged because of them. */
  left: string[];
}

/** Brings a worktree up to the target, whatever an earlier attempt left in it. Null: there are no conflicts. */
export async function startOnTarget(
  path: string,
  { start, target, env }: { start: Start & { tip: string }; target: Target; env: Env },
): Promise<Conflicts | null> {
  // Of a git command that was killed with an earlier attempt, whose processes have ended.
  const directory = await gitOr(path, ["rev-parse", "--absolute-git-dir"]);
  if (directory !== null) rmSync(join(directory, "index.lock"), { force: true });
  const record = await readRecord(path);
  let paths: Conflict[];
  const unmerged = await unmergedPaths(path);
  if (unmerged.length > 0 || (await inProgress(path)) !== null) {
    paths = await conflictsWith(path, unmerged, "MERGE_HEAD");
  } else {
    // Before it is prepared, no command has run in it.
    if (record.isPrepared && (await commitRest(path, { message: unfinished, env, hasHooks: false })))
      await writeRecord(path, { isUnchecked: true });
    if (target.remote !== null) await followSubmission(path, start.commit, env);
    const found = await mergeInto(path, { commit: start.tip, message: `Merge ${target.target}`, env });
    paths = await conflictsWith(path, found, start.tip);
  }
  // An earlier attempt may have committed or staged what it did not resolve.
  const known = new Set(paths.map((each) => each.path));
  for (const each of withMarkers(path, record.conflicts))
    if (!known.has(each)) paths.push({ path: each, tasks: [] });
  await writeRecord(path, { conflicts: paths.map((each) => each.path) });
  return paths.length === 0 ? null : { paths, with: target.target, left: [] };
}

/** Another machine went on with the branch. */
async function followSubmission(path: string, commit: string, env: Env): Promise<void> {
  const isBehind = (await gitOr(path, ["merge-base", "--is-ancestor", "HEAD", commit])) !== null;
  if (isBehind) await mergeInto(path, { commit, message: "", env });
}

/** Branches of dependencies that exist and are not in what is checked out. */
export async function startOnDependencies(
  path: string,
  branches: readonly string[],
  env: Env,
): Promise<Conflicts | null> {
  for (const [at, branch] of branches.entries()) {
    const tip = await gitOr(path, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}^{commit}`]);
    if (tip === null || (await gitOr(path, ["merge-base", "--is-ancestor", tip, "HEAD"])) !== null) continue;
    const found = await mergeInto(path, { commit: tip, message: `Merge ${branch}`, env });
    if (found.length === 0) continue;
    const paths = await conflictsWith(path, found, tip);
    await writeRecord(path, { conflicts: found });
    return { paths, with: branch, left: branches.slice(at + 1) };
  }
  return null;
}

const dependenciesMax = 40;

/** As named in the results of the dependencies. */
export async function branchesOf(dibs: Dibs, { project, dependsOn }: WireTask): Promise<string[]> {
  const branches: string[] = [];
  for (const taskId of dependsOn.slice(0, dependenciesMax)) {
    const found = await dibs.tasks.get({ project, taskId }).catch(() => null);
    const branch = found?.task.result?.branch;
    if (branch) branches.push(branch);
  }
  return branches;
}
