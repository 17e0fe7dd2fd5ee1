// What `init --remove` leaves, and `--purge`, which removes that too: the store, settings, worktrees, branches and git
// settings. Everything is checked before the first removal. An interrupted purge can be repeated.

import { dirname, join, sep } from "node:path";
import { cliFor } from "../../../client/view/commands.js";
import { shellWord } from "../../../client/view/shell.js";
import { DibsError } from "../../../contract/error.js";
import { type Leftovers, leftoversOf, removeLeftovers, unmergedIn } from "../../../runner/index.js";
import { serverNamed, whereFor } from "../connection.js";
import type { Context } from "../context.js";
import { usageError } from "../spec.js";
import type { Step } from "./init-agents.js";

const command = "dibs init --remove --purge";

export interface Left {
  /** The directory of the store. */
  directory: string;
  /** Names of Dibs' own files in it. */
  files: string[];
  /** Null where there is no repository. */
  git: Leftovers | null;
}

/** Also what a crash can leave: drafts of a new store and of private files. */
const ownFile =
  /^(?:dibs\.db(?:\.new-[\da-f-]+)?(?:-wal|-shm|-journal)?|(?:dibs\.db\.token|dibs\.db\.server\.json|init\.json|config\.json)(?:\.\d+\.new)?|\.gitignore)$/;

/** The log goes before the database, or a new one would be read with it; `.gitignore` hides the others until they are gone. */
const order = (name: string) =>
  name === ".gitignore" ? 3 : name === "config.json" ? 2 : name === "dibs.db" ? 1 : 0;

export async function leftBehind(context: Context): Promise<Left> {
  const { databaseFor, cwd } = context.parts;
  const directory = dirname(await databaseFor(cwd));
  return { directory, files: await ownFiles(context, directory), git: await leftoversOf(cwd) };
}

async function ownFiles({ parts }: Context, directory: string): Promise<string[]> {
  return (await parts.files.entries(directory))
    .filter(({ name, isFile }) => isFile && ownFile.test(name))
    .map(({ name }) => name)
    .sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
}

const settings: Record<string, Step["what"]> = { "config.json": "config", ".gitignore": "gitignore" };

/** The database stands for the files next to it, such as its log and its token. */
function fileSteps(directory: string, files: readonly string[], did: "kept" | "removed"): Step[] {
  const names = new Set(files.map((name) => (name in settings ? name : "dibs.db")));
  return [...names].map((name) => ({ what: settings[name] ?? "store", did, path: join(directory, name) }));
}

export function leftSteps({ directory, files, git }: Left, did: "kept" | "removed"): Step[] {
  return [
    ...(git?.worktrees ?? []).map(({ path }): Step => ({ what: "worktree", did, path })),
    ...(git?.branches ?? []).map(({ name }): Step => ({ what: "branch", did, path: name })),
    ...(git?.sections ?? []).map((name): Step => ({ what: "git", did, path: name })),
    ...fileSteps(directory, files, did),
  ];
}

/** Before anything is read. */
export function refuseMisuse(context: Context): void {
  for (const flag of ["purge", "force"]) {
    if (context.on(flag) && !context.on(flag === "purge" ? "remove" : "purge"))
      throw usageError(
        `--${flag} needs ${flag === "purge" ? "--remove" : "--remove --purge"}.`,
        `Run: ${command}`,
      );
  }
  if (!context.on("purge")) return;
  for (const flag of ["agent", "db", "url"]) {
    if (context.list(flag) === undefined && context.text(flag) === undefined) continue;
    throw usageError(`--purge removes all of Dibs from this repository, so --${flag} does not go with it.`);
  }
}

/** Throws what stands against a purge, with the command that helps. */
export async function refusePurge(context: Context, left: Left): Promise<void> {
  await refuseServer(context, left);
  await refuseClaims(context, left);
  if (left.git === null) return;
  const { worktrees, elsewhere, root } = left.git;
  const here = worktrees.find(({ path }) => `${context.parts.cwd}${sep}`.startsWith(`${path}${sep}`));
  if (here) throw refused(`This directory is in the worktree ${here.path}.`, `cd ${shellWord(root)}`);
  const [used] = elsewhere;
  if (used) {
    throw refused(
      `Branch ${used.branch} is checked out in ${used.path}.`,
      `git -C ${shellWord(used.path)} switch --detach`,
    );
  }
  const unmerged = context.on("force") ? [] : await unmergedIn(left.git);
  if (unmerged.length > 0) {
    throw new DibsError(
      "INVALID_STATE",
      `Nothing was removed: this work is not merged.\n${unmerged.join("\n")}`,
      {
        hint: `Commit and merge it. To lose it, run: ${command} --force`,
      },
    );
  }
}

const refused = (why: string, run: string) =>
  new DibsError("INVALID_STATE", `Nothing was removed. ${why}`, { hint: `Run: ${run}` });

async function refuseServer({ parts }: Context, { directory }: Left): Promise<void> {
  const server = await parts.findServer(join(directory, "dibs.db"));
  if (server)
    throw refused(`A server runs for this store: ${server.url}, pid ${server.pid}.`, `kill ${server.pid}`);
}

interface Held {
  project: string;
  taskId: string;
}

async function refuseClaims(context: Context, left: Left): Promise<void> {
  const held = await heldTasks(context, left).catch((error) => {
    // A store that cannot be opened must be removable.
    if (context.on("force")) return [];
    throw error;
  });
  const [first] = held;
  if (!first) return;
  const [taskId, ...furtherIds] = held
    .filter(({ project }) => project === first.project)
    .map((each) => each.taskId);
  const names = held.slice(0, 20).map((each) => `${each.project}/${each.taskId}`);
  const rest = held.length > names.length ? ` and ${held.length - names.length} more` : "";
  throw refused(
    `Tasks are claimed: ${names.join(", ")}${rest}.`,
    cliFor("release", { taskId: taskId!, furtherIds, project: first.project }),
  );
}

/** In the store of this directory; of one elsewhere, only tasks with a worktree here. */
async function heldTasks(context: Context, { directory, files, git }: Left): Promise<Held[]> {
  const { parts } = context;
  const held: Held[] = [];
  if (files.includes("dibs.db")) {
    const path = join(directory, "dibs.db");
    await parts.trust.refuseUntrusted(path, { isTrusted: parts.env.DIBS_TRUST === "1" });
    const dibs = await parts.open({ path }, { create: false });
    try {
      held.push(...(await dibs.tasks.inFlight({ project: "*" })).inFlight);
    } finally {
      await dibs.close();
    }
  }
  if (!git || git.worktrees.length === 0 || !(await isElsewhere(context, directory))) return held;
  if (!(await context.hasStore())) return held;
  const dibs = await context.dibs();
  for (const { project, taskId } of git.worktrees) {
    const task = await dibs.tasks.get({ project, taskId }).then(
      (answer) => answer.task,
      (error: DibsError) => {
        if (/_NOT_FOUND$/.test(error.code)) return null;
        throw error;
      },
    );
    if (task?.claim) held.push({ project, taskId });
  }
  return held;
}

async function isElsewhere(context: Context, directory: string): Promise<boolean> {
  if ((await serverNamed(context, context.parts)) !== undefined) return true;
  return (await whereFor(context, context.parts)).path !== join(directory, "dibs.db");
}

/** True: all of it can go. */
export async function agreesToPurge(context: Context, lines: readonly string[]): Promise<boolean> {
  const { parts } = context;
  if (context.on("yes")) return true;
  if (context.isJson || !parts.stdin.isTerminal || !parts.stdout.isTerminal) {
    const flags = context.flagsAgain("yes", "remove", "purge");
    throw usageError(
      "--purge asks before it removes anything, and there is no terminal to ask at.",
      `Run: ${[command, ...flags, "--yes"].join(" ")}`,
    );
  }
  parts.out(`${["To be removed, with everything in it:", ...lines].join("\n")}\n`);
  const answer = await parts.askUser("Remove all of this? [y/N] ");
  if (answer !== null && /^y(es)?$/i.test(answer.trim())) return true;
  parts.out("Nothing was removed.\n");
  return false;
}

/** Answers what was removed, and what in the directory is not Dibs' own. */
export async function purge(context: Context, { directory, git }: Left): Promise<Step[]> {
  const { files } = context.parts;
  const steps: Step[] = [];
  if (git) {
    try {
      for (const { what, name } of await removeLeftovers(git, { force: context.on("force") }))
        steps.push({ what: what === "git settings" ? "git" : what, did: "removed", path: name });
    } catch (error) {
      throw new DibsError("INVALID_STATE", `The purge stopped: ${(error as Error).message}`, {
        hint: `Fix this and run again: ${command}`,
      });
    }
  }
  // Checking the claims and removing AGENTS.md can have created and removed some.
  const own = await ownFiles(context, directory);
  for (const name of own) await files.remove(join(directory, name));
  steps.push(...fileSteps(directory, own, "removed"));
  await files.prune(directory, dirname(directory));
  const others = (await files.entries(directory)).filter(({ name }) => name !== "worktrees" || git === null);
  const foreign = [...others.map(({ name }) => join(directory, name)), ...(git?.foreign ?? [])];
  return [...steps, ...foreign.map((path): Step => ({ what: "foreign", did: "kept", path }))];
}
