// Turns landing on: looked at, refused and asked about before anything is created.

import { join } from "node:path";
import { shellWord } from "../../../client/view/shell.js";
import { DibsError } from "../../../contract/error.js";
import type { WireProject } from "../../../contract/shapes.js";
import { gitOr } from "../../../runner/git.js";
import { refuseOldGit, refuseOtherRepository, rootCommitOf } from "../../../runner/target.js";
import { type Proposal, proposedCheck } from "../check-proposals.js";
import { type Context, given } from "../context.js";
import { commitOf, refuseCopyInto, repositoryRoot } from "../repository.js";
import { usageError } from "../spec.js";
import { commandLine } from "./check.js";
import type { Step } from "./init-agents.js";

type Land = WireProject["settings"]["land"];

export interface LandingPlan {
  /** What changes in the settings. */
  changes: Partial<Land>;
  steps: Step[];
}

/** Null: it is not wanted, or on already. */
export async function plannedLanding(context: Context): Promise<LandingPlan | null> {
  const asked = context.text("land");
  if (asked === undefined && !isAtTerminal(context)) return null;
  const settings = await settingsOf(context);
  const land = settings?.land ?? null;
  if (asked === undefined) {
    const offered = (land?.target ?? null) === null ? await offeredBranch(context) : null;
    if (offered === null || !(await agrees(context, `Land finished work on ${offered}? [y/N] `, false)))
      return null;
    return planFor(context, offered, settings);
  }
  if (asked === "") throw usageError("--land needs a branch.", "Run: dibs init --land main");
  return planFor(context, asked, settings);
}

const isAtTerminal = (context: Context) => {
  const { stdin, stdout } = context.parts;
  return !context.isJson && !context.on("yes") && stdin.isTerminal && stdout.isTerminal;
};

async function agrees({ parts }: Context, question: string, byDefault: boolean): Promise<boolean> {
  const answer = (await parts.askUser(question))?.trim();
  if (answer === undefined) return false;
  return byDefault ? !/^n/i.test(answer) : /^y/i.test(answer);
}

/** Settings of the project, if it exists; looking creates nothing. */
async function settingsOf(context: Context): Promise<WireProject["settings"] | null> {
  if (!(await context.hasStore())) return null;
  const dibs = await context.dibs();
  try {
    const { project } = await dibs.projects.get(given({ id: context.text("project") }));
    return project.settings;
  } catch (error) {
    if (error instanceof DibsError && error.code === "PROJECT_NOT_FOUND") return null;
    throw error;
  }
}

/** The current branch, where landing on it can work. */
async function offeredBranch({ parts: { cwd } }: Context): Promise<string | null> {
  const root = await repositoryRoot(cwd).catch(() => null);
  if (root === null || (await problemOf(root)) !== null || (await commitOf(root, "HEAD")) === null)
    return null;
  const branch = await gitOr(root, ["symbolic-ref", "--quiet", "--short", "HEAD"]);
  // The branch of a task is no target.
  return branch?.startsWith("dibs/") ? null : branch;
}

/** What is wrong with a repository, whichever branch is the target. */
async function problemOf(root: string): Promise<DibsError | null> {
  try {
    await refuseOldGit(root);
  } catch (error) {
    return error as DibsError;
  }
  if ((await gitOr(root, ["rev-parse", "--is-shallow-repository"])) !== "true") return null;
  return new DibsError("VALIDATION_FAILED", "Landing needs the whole history, and this clone is shallow.", {
    hint: "Run: git fetch --unshallow",
  });
}

async function repositoryFor(cwd: string, target: string, land: Land | null): Promise<string> {
  const root = await repositoryRoot(cwd);
  if (root === null)
    throw new DibsError("VALIDATION_FAILED", "Landing needs a git repository.", { hint: "Run: git init" });
  const problem = await problemOf(root);
  if (problem) throw problem;
  if (land) await refuseOtherRepository(root, land);
  if ((land?.remote ?? null) === null && (await commitOf(root, `refs/heads/${target}`)) === null)
    throw await noBranch(root, target);
  return root;
}

async function noBranch(root: string, target: string): Promise<DibsError> {
  const isEmpty = (await commitOf(root, "HEAD")) === null;
  const current = isEmpty ? null : await gitOr(root, ["symbolic-ref", "--quiet", "--short", "HEAD"]);
  // The branch of a task is no target.
  const other = current?.startsWith("dibs/") ? null : current;
  const help = `${other ? `dibs init --land ${shellWord(other)}, or: ` : ""}git branch ${target}`;
  return new DibsError(
    "VALIDATION_FAILED",
    isEmpty
      ? `Branch ${target} not found: the repository has no commits.`
      : `Branch ${target} not found in ${root}.`,
    { hint: isEmpty ? 'Run: git commit --allow-empty -m "First commit"' : `Run: ${help}` },
  );
}

async function planFor(
  context: Context,
  target: string,
  settings: WireProject["settings"] | null,
): Promise<LandingPlan> {
  const { parts } = context;
  const land = settings?.land ?? null;
  const root = await repositoryFor(parts.cwd, target, land);
  if (settings) await refuseCopyInto(root, settings.worktree.copy, land);
  const remote = land?.remote ?? null;
  const first = await rootCommitOf(root, { target, remote });
  const wanted: Partial<Land> = { target, repository: land?.repository ?? first };
  const isSame = (name: string) => land !== null && land[name as keyof Land] === wanted[name as keyof Land];
  const changes = Object.fromEntries(Object.entries(wanted).filter(([name]) => !isSame(name)));
  const checks = await plannedChecks(context, root, land);
  return {
    changes: { ...changes, ...checks.changes },
    steps: [
      {
        what: "landing",
        did: land?.target === target ? "kept" : (land?.target ?? null) === null ? "created" : "changed",
        path: target,
        ...(checks.hasAny ? {} : { warning: "without checks, landing only merges" }),
      },
      ...checks.steps,
    ],
  };
}

interface PlannedChecks extends LandingPlan {
  hasAny: boolean;
}

/** Checks that are set are kept. */
async function plannedChecks(context: Context, root: string, land: Land | null): Promise<PlannedChecks> {
  if (land && land.checks.length > 0) return { changes: {}, steps: [], hasAny: true };
  const { files } = context.parts;
  // A file that cannot be read suggests nothing.
  const proposal = await proposedCheck((name) => files.read(join(root, name)).catch(() => null));
  const path = `check ${proposal?.check.name ?? ""}`;
  if (!proposal) {
    const note = "to add one: dibs check add <name> -- <command>";
    return { changes: {}, steps: [{ what: "landing", did: "skipped", path: "checks", note }], hasAny: false };
  }
  const line = commandLine(proposal.check.run);
  if (!(await isAccepted(context, line))) {
    const note = `to add it: dibs check add ${proposal.check.name} -- ${line}`;
    return { changes: {}, steps: [{ what: "landing", did: "skipped", path, note }], hasAny: false };
  }
  return { ...accepted(proposal, land), hasAny: true };
}

const isAccepted = async (context: Context, line: string) =>
  context.on("yes") ||
  (isAtTerminal(context) && agrees(context, `Run ${line} before a change lands? [Y/n] `, true));

function accepted({ check, setup }: Proposal, land: Land | null): LandingPlan {
  const ownSetup = land?.setup ? null : setup;
  const what = "landing" as const;
  return {
    // The default timeout and every path.
    changes: { checks: [check as Land["checks"][number]], ...(ownSetup ? { setup: ownSetup } : {}) },
    steps: [
      { what, did: "created", path: `check ${check.name}`, note: commandLine(check.run) },
      ...(ownSetup
        ? [
            {
              what,
              did: "created" as const,
              path: "setup",
              note: `${commandLine(ownSetup.run)}, before checks`,
            },
          ]
        : []),
    ],
  };
}

/** Before files are written: a refusal of the store leaves nothing half done. */
export async function turnOnLanding(
  context: Context,
  plan: LandingPlan | null,
  project: WireProject,
): Promise<Step[]> {
  if (plan === null) return keptLanding(project);
  if (Object.keys(plan.changes).length > 0) {
    const dibs = await context.dibs();
    await dibs.projects.update({ id: project.id, settings: { land: plan.changes } });
  }
  return plan.steps;
}

function keptLanding({ settings: { land } }: WireProject): Step[] {
  return land.target === null ? [] : [{ what: "landing", did: "kept", path: land.target }];
}
