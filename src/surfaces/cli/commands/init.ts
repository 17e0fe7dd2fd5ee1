// From nothing to a working fleet: the store, the settings, what git must not see, and what agents must know. Nothing that is
// there is overwritten, and it can be called again.

import { basename, dirname, join, relative } from "node:path";
import { shellWord } from "../../../client/view/shell.js";
import { DibsError } from "../../../contract/error.js";
import type { WireProject } from "../../../contract/shapes.js";
import { databaseKind } from "../address.js";
import { hasBlock, withBlock, withoutBlock } from "../agents-md.js";
import type { SingleCommand } from "../command.js";
import { serverNamed, whereFor } from "../connection.js";
import type { Context } from "../context.js";
import { beginWith, type IntegrationName, integrationNames } from "../integrations/index.js";
import { everybody } from "../integrations/record.js";
import { type Display, displayOf } from "../print/display.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";
import {
  edited,
  plannedFiles,
  readable,
  readInside,
  removeFiles,
  type Step,
  writeFiles,
} from "./init-agents.js";
import { plannedLanding, turnOnLanding } from "./init-landing.js";
import {
  agreesToPurge,
  type Left,
  leftBehind,
  leftSteps,
  purge,
  refuseMisuse,
  refusePurge,
} from "./init-purge.js";
import { OwnRecord } from "./init-record.js";

const init: SingleCommand["run"] = async (context) => {
  if (context.on("no-agents") && context.on("agents-md")) {
    throw usageError("--agents-md and --no-agents cannot be combined.");
  }
  refuseMisuse(context);
  const { parts } = context;
  await parts.trust.refuseLinks(await parts.databaseFor(parts.cwd));
  if (context.on("remove")) {
    if (context.text("land") !== undefined) throw usageError("--land and --remove cannot be combined.");
    return remove(context);
  }
  const files = await plannedFiles(context);
  const block = await plannedBlock(context);
  const before = await whatIsThere(context);
  const plan = await plannedLanding(context);
  const project = await openStore(context);
  const landing = await turnOnLanding(context, plan, project);
  const settings = await settle(context, project, before.hasIgnore);
  const record = await OwnRecord.open(context);
  const agents = await writeBlock(context, block, record);
  const hasAgentsMd = await context.parts.files.exists(agents.path);
  const written = await writeFiles(context, files, { hasAgentsMd, record });
  const steps = [before.store, ...settings, agents, ...written, ...landing];
  context.say({ success: true, project: project.id, steps }, (display) => {
    const head = `project ${display.paint(plain(project.id), "bold")}`;
    return [
      head,
      ...stepLines(steps, context, display),
      ...steps.flatMap(({ warning }) => (warning ? [display.paint(`warning: ${warning}`, "yellow")] : [])),
      "",
      ...nextSteps(context, landing.length > 0 ? toCommit(steps, context) : null, display),
    ].join("\n");
  });
};

/** Says what it leaves; with --purge nothing is left that is Dibs' own. */
async function remove(context: Context): Promise<void> {
  const left = await leftBehind(context);
  const isPurge = context.on("purge");
  if (isPurge) {
    await refusePurge(context, left);
    const planned = stepLines(leftSteps(left, "removed"), context, displayOf(context.parts));
    if (!(await agreesToPurge(context, planned))) return;
  }
  const taken = await removeAll(context);
  const rest = isPurge ? await purge(context, left) : restOf(context, await leftBehind(context));
  const steps = [...taken, ...rest];
  context.say({ success: true, steps }, (display) => {
    const hint = rest.some(({ did }) => did === "kept") && !isPurge;
    return [
      ...stepLines(steps, context, display),
      ...(hint ? ["To remove the rest: dibs init --remove --purge"] : []),
    ].join("\n");
  });
}

/** With --agent only what concerns this agent is removed, and everything else is in use. */
const restOf = (context: Context, left: Left) => (context.list("agent") ? [] : leftSteps(left, "kept"));

/** Before anything is made. */
async function whatIsThere(context: Context): Promise<{ store: Step; hasIgnore: boolean }> {
  const { parts } = context;
  const ignore = join(dirname(await parts.databaseFor(parts.cwd)), ".gitignore");
  const hasIgnore = await parts.files.exists(ignore);
  const { path, url } = await whereFor(context, parts);
  const elsewhere =
    (await serverNamed(context, parts)) ?? (url === undefined ? undefined : databaseKind(url));
  if (elsewhere !== undefined || path === undefined) {
    return { store: { what: "store", did: "kept", path: elsewhere! }, hasIgnore };
  }
  const isThere = await parts.files.exists(path);
  return { store: { what: "store", did: isThere ? "kept" : "created", path }, hasIgnore };
}

/** Opening makes it; a project that was named and is not there yet is made, too. */
async function openStore(context: Context): Promise<WireProject> {
  const wanted = context.text("project");
  const dibs = await context.dibs();
  try {
    return (await dibs.projects.get(wanted === undefined ? {} : { id: wanted })).project;
  } catch (error) {
    if (wanted === undefined || !(error instanceof DibsError) || error.code !== "PROJECT_NOT_FOUND")
      throw error;
    return (await dibs.projects.create({ id: wanted })).project;
  }
}

/** `.dibs/config.json`, for the team, and the `.gitignore` beside it, which leaves only these two to git. */
async function settle(
  { parts }: Context,
  { id: project, isDefault }: WireProject,
  hadIgnore: boolean,
): Promise<Step[]> {
  const database = await parts.databaseFor(parts.cwd);
  await parts.makeRoomFor(database);
  const config = join(dirname(database), "config.json");
  const isNew = !(await parts.files.exists(config));
  if (isNew) await parts.files.create(config, `${JSON.stringify({ project }, null, 2)}\n`);
  const isOther = !isNew && !isDefault && !(await parts.files.read(config))?.includes(`"${project}"`);
  const ignore = join(dirname(database), ".gitignore");
  const rules = (await parts.files.read(ignore)) ?? "";
  const isHidden = rules.split("\n").some((line) => line.trim() === "*" || line.trim() === "dibs.db*");
  return [
    {
      what: "config",
      did: isNew ? "created" : "kept",
      path: config,
      ...(isOther ? { note: `does not name project ${project}: change it there to use it` } : {}),
    },
    {
      what: "gitignore",
      did: hadIgnore ? "kept" : "created",
      path: ignore,
      ...(isHidden ? {} : { note: "does not hide dibs.db and its token from git: add a line dibs.db*" }),
    },
  ];
}

const fileName = "AGENTS.md";

interface Block {
  path: string;
  before: string | null;
  /** Null: it is not wanted. */
  after: string | null;
}

/** Looked at and asked about before anything is made: whoever goes away at the question has changed nothing. */
async function plannedBlock(context: Context): Promise<Block> {
  const { parts } = context;
  const path = join(await parts.files.rootOf(parts.cwd), fileName);
  if (context.on("no-agents")) return { path, before: null, after: null };
  const before = await readInside(context, path);
  const after = edited(path, () => readable(before, withBlock(before)), mend);
  return { path, before, after: before === after || (await wantsBlock(context)) ? after : null };
}

async function writeBlock(
  context: Context,
  { path, before, after }: Block,
  record: OwnRecord,
): Promise<Step> {
  const { parts } = context;
  if (after === null) {
    const note = "dibs init --agents-md teaches agents the commands";
    return { what: "agents", did: "skipped", path, note };
  }
  // A block that was there already, in a file that we know nothing about, is not what to go back to.
  const isStrange = before !== null && before !== after && hasBlock(before) && !record.undo(path, before);
  if (isStrange) await record.forget(path);
  else await record.note(path, before, after, context.list("agent") ?? [everybody]);
  if (before === null) await parts.files.create(path, after);
  else if (before !== after) await parts.files.replace(path, after);
  const did = before === null ? "created" : before === after ? "kept" : "changed";
  const note = context.list("agent")?.includes("claude") ? undefined : await whoIsBlind(context, path);
  return { what: "agents", did, path, ...(note ? { note } : {}) };
}

const mend = "Fix it by hand, or run: dibs init --no-agents";

/** Claude Code reads a file of its own. */
async function whoIsBlind({ parts }: Context, path: string): Promise<string | undefined> {
  const text = await parts.files.read(join(dirname(path), "CLAUDE.md"));
  const isBlind = text !== null && !text.includes(fileName) && !text.includes("dibs:begin");
  return isBlind ? "CLAUDE.md does not name it: add a line @AGENTS.md" : undefined;
}

async function wantsBlock(context: Context): Promise<boolean> {
  const { parts } = context;
  if (context.on("agents-md") || context.on("yes")) return true;
  // Nobody to ask: the block takes nothing away, and --remove takes it out again.
  if (context.isJson || !parts.stdin.isTerminal || !parts.stdout.isTerminal) return true;
  const answer = await parts.askUser(`Add the six commands that agents need to ${fileName}? [Y/n] `);
  return answer !== null && !/^n/i.test(answer.trim());
}

/** The block is for all agents: it goes with the last of those it was made for. */
async function removeAll(context: Context): Promise<Step[]> {
  const record = await OwnRecord.open(context);
  const path = join(await context.parts.files.rootOf(context.parts.cwd), fileName);
  const agents = context.list("agent");
  const isUnwanted = agents === undefined || (await record.leave(path, agents));
  const steps = isUnwanted ? [await removeBlock(context, path, record)] : [];
  const hasAgentsMd = await context.parts.files.exists(path);
  steps.push(...(await removeFiles(context, { hasAgentsMd, record })));
  if (isUnwanted) await record.forget(path);
  return steps;
}

async function removeBlock(context: Context, path: string, record: OwnRecord): Promise<Step> {
  const { parts } = context;
  const before = await readInside(context, path);
  const undone = before === null ? undefined : record.undo(path, before);
  const after =
    undone || before === null ? (undone?.text ?? null) : edited(path, () => withoutBlock(before), mend);
  if (before === null || before === after)
    return { what: "agents", did: "kept", path, note: "no block of dibs in it" };
  if (after === null) await parts.files.remove(path);
  else await parts.files.replace(path, after);
  return { what: "agents", did: "removed", path };
}

const names: Record<Step["what"], string> = {
  store: "the tasks",
  config: "settings of the team; commit it",
  gitignore: "keeps the rest out of git",
  agents: "instructions for agents",
  mcp: "how an agent starts dibs mcp",
  plugin: "hooks for Claude Code",
  memory: "leads the agent to AGENTS.md",
  landing: "finished work lands on this branch",
  worktree: "worktree of a task",
  branch: "branch of a task",
  git: "git setting",
  foreign: "not part of this store",
};

function stepLines(steps: readonly Step[], { parts }: Context, display: Display): string[] {
  const nameOf = ({ what, path }: Step) => {
    const shown = relative(parts.cwd, path);
    if (what === "branch" || what === "git" || what === "landing") return plain(path);
    const isFile = path.startsWith(parts.cwd) || what !== "store";
    return plain(!isFile ? path : shown.startsWith("..") ? basename(path) : shown);
  };
  const width = Math.min(50, Math.max(18, ...steps.map((step) => nameOf(step).length)));
  return steps.map((step) => {
    const { did, note, what } = step;
    // A setting is no file: nothing was created.
    const shown = what === "landing" && did === "created" ? "set" : did;
    const word = display.paint(shown.padEnd(8), did === "kept" || did === "skipped" ? "dim" : "green");
    return `  ${word} ${nameOf(step).padEnd(width)}  ${display.paint(note ?? names[what], "dim")}`;
  });
}

const workOne = { command: "dibs work --agent claude", why: "let an agent work, or dibs work -- <command>" };

const landingSteps = [
  { command: "dibs work -n 3 --agent claude", why: "let three agents work" },
  { command: "dibs land", why: "check what they hand in, and land it" },
];

const teamFiles: readonly Step["what"][] = ["config", "gitignore", "agents", "mcp", "memory"];

/** Paths of new files, as arguments of git add. */
function toCommit(steps: readonly Step[], { parts }: Context): string[] {
  const isNew = ({ what, did }: Step) => teamFiles.includes(what) && (did === "created" || did === "changed");
  const paths = steps.filter(isNew).map(({ path }) => relative(parts.cwd, path));
  return [...new Set(paths.map((path) => (path.startsWith(".dibs/") ? ".dibs" : path)))];
}

/** `files`: where work lands, what is to be committed. */
function nextSteps(context: Context, files: readonly string[] | null, display: Display): string[] {
  const lands = files !== null;
  const agents = [...new Set(context.list("agent"))].map((name) => beginWith[name as IntegrationName]);
  const added = (files ?? []).map(shellWord).join(" ");
  const steps = [
    ...(added
      ? [{ command: `git add ${added}`, why: "and commit these files: every task starts with them" }]
      : []),
    { command: 'dibs add "Write the docs"', why: "add a task, or many: dibs plan plan.md" },
    ...(agents.length > 0 ? agents : lands ? [] : [workOne]),
    ...(lands ? landingSteps : []),
    { command: "dibs serve", why: "watch in a browser" },
    { command: "dibs inbox", why: "see what needs you" },
  ];
  const width = Math.max(26, ...steps.map(({ command }) => command.length));
  return [
    "Next:",
    ...steps.map(({ command, why }) => `  ${display.paint(command.padEnd(width), "bold")} ${why}`),
  ];
}

export const commands: Record<string, SingleCommand> = {
  init: {
    name: "init",
    createsStore: true,
    listsCreated: true,
    summary: "Set up this repository: store, settings, .gitignore, and instructions in AGENTS.md",
    details:
      "Existing files are kept: a second run adds only what is missing. --project sets the project's name.",
    flags: {
      yes: { short: "y", help: "do not ask; required for --purge without a terminal" },
      "agents-md": {
        help: "add or update the block in AGENTS.md; default, but a terminal asks",
      },
      "no-agents": { help: "do not change AGENTS.md" },
      agent: {
        value: "<name>",
        many: true,
        choices: integrationNames,
        help: "set up this agent: MCP server, link to AGENTS.md, and for claude a plugin with hooks; repeatable",
      },
      land: {
        value: "<branch>",
        help: "finished work lands on this branch; --yes also adds the check that it finds. Default: off, but a terminal asks",
      },
      remove: {
        help: "remove the block from AGENTS.md and the settings of agents, or of one --agent; print what is left",
      },
      purge: {
        help: "with --remove: also remove the store, its settings, and the worktrees, branches and git settings of tasks; asks first",
      },
      force: { help: "with --purge: also remove work that is not committed or not merged" },
    },
    exits: {
      1: "a file cannot be changed, --purge would lose work, store or branch in use",
      4: "a symbolic link leads out of the repository",
    },
    examples: [
      "dibs init",
      "dibs init --yes --project shop --agent claude",
      "dibs init --land main --yes",
      "dibs init --remove",
      "dibs init --remove --purge --yes",
    ],
    run: init,
  },
};
