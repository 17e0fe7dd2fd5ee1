// From nothing to a working fleet: the store, the settings, what git must not see, and what agents must know. Nothing that is
// there is overwritten, and it can be called again.

import { basename, dirname, join, relative } from "node:path";
import { DibsError } from "../../../contract/error.js";
import type { WireProject } from "../../../contract/shapes.js";
import { withBlock, withoutBlock } from "../agents-md.js";
import type { SingleCommand } from "../command.js";
import { serverNamed, whereFor } from "../connection.js";
import type { Context } from "../context.js";
import { integrationFor, integrationNames } from "../integrations.js";
import type { Look } from "../print/look.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

interface Step {
  what: "store" | "config" | "gitignore" | "agents" | "mcp";
  /** `made`, `changed` or `removed`; `kept`: it was there; `skipped`: it was not wanted. */
  did: "made" | "changed" | "removed" | "kept" | "skipped";
  path: string;
  note?: string;
}

const init: SingleCommand["run"] = async (context) => {
  if (context.on("no-agents") && context.on("agents-md")) {
    throw usageError("--agents-md and --no-agents: which of them?");
  }
  if (context.on("remove")) {
    const steps = [await removeBlock(context), ...(await removeIntegrations(context))];
    context.say({ success: true, steps }, (look) =>
      steps.map((step) => stepLine(step, context, look)).join("\n"),
    );
    return;
  }
  const before = await whatIsThere(context);
  const project = await openStore(context);
  const steps = [
    before.store,
    ...(await settle(context, project, before.hasIgnore)),
    await agentsStep(context),
    ...(await integrationSteps(context)),
  ];
  context.say({ success: true, project: project.id, steps }, (look) => {
    const lines = steps.map((step) => stepLine(step, context, look));
    return [`project ${look.paint(plain(project.id), "bold")}`, ...lines, "", ...nextSteps(look)].join("\n");
  });
};

/** Before anything is made. */
async function whatIsThere(context: Context): Promise<{ store: Step; hasIgnore: boolean }> {
  const { parts } = context;
  const ignore = join(dirname(await parts.databaseFor(parts.cwd)), ".gitignore");
  const hasIgnore = await parts.files.exists(ignore);
  const { path } = await whereFor(context, parts);
  const elsewhere = serverNamed(context, parts) ?? (path === undefined ? "PostgreSQL" : undefined);
  if (elsewhere !== undefined || path === undefined) {
    return { store: { what: "store", did: "kept", path: elsewhere! }, hasIgnore };
  }
  const isThere = await parts.files.exists(path);
  return { store: { what: "store", did: isThere ? "kept" : "made", path }, hasIgnore };
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
      did: isNew ? "made" : "kept",
      path: config,
      ...(isOther ? { note: `does not name project ${project}: change it there to use it` } : {}),
    },
    {
      what: "gitignore",
      did: hadIgnore ? "kept" : "made",
      path: ignore,
      ...(isHidden ? {} : { note: "does not hide dibs.db and its token from git: add a line dibs.db*" }),
    },
  ];
}

const fileName = "AGENTS.md";

async function agentsStep(context: Context): Promise<Step> {
  const { parts } = context;
  const path = join(await parts.files.rootOf(parts.cwd), fileName);
  if (!(await wantsBlock(context))) {
    const note = "dibs init --agents-md teaches agents the commands";
    return { what: "agents", did: "skipped", path, note };
  }
  const before = await readOwn(context, path);
  const after = edited(path, () => withBlock(before));
  if (before === null) await parts.files.create(path, after);
  else if (before !== after) await parts.files.replace(path, after);
  const did = before === null ? "made" : before === after ? "kept" : "changed";
  const claude = join(dirname(path), "CLAUDE.md");
  const others = await parts.files.read(claude);
  const isBlind = others !== null && !others.includes(fileName) && !others.includes("dibs:begin");
  return {
    what: "agents",
    did,
    path,
    ...(isBlind ? { note: "CLAUDE.md does not name it: add a line @AGENTS.md" } : {}),
  };
}

async function wantsBlock(context: Context): Promise<boolean> {
  const { parts } = context;
  if (context.on("no-agents")) return false;
  if (context.on("agents-md") || context.on("yes")) return true;
  // Nobody to ask: the block takes nothing away, and --remove takes it out again.
  if (context.isJson || !parts.stdin.isTerminal || !parts.stdout.isTerminal) return true;
  const answer = await parts.askUser(`Add the six commands that agents need to ${fileName}? [Y/n] `);
  return !/^n/i.test(answer.trim());
}

/** Not through a link that leads out of the repository: what lies in one is not trusted. */
async function readOwn({ parts }: Context, path: string): Promise<string | null> {
  const text = await parts.files.read(path);
  if (text === null || (await parts.files.isInside(path, dirname(path)))) return text;
  throw new DibsError("FORBIDDEN", `${path} is a link that leads out of this repository.`, {
    hint: "Nothing was written to where it leads. dibs init --no-agents leaves it alone.",
  });
}

async function removeBlock(context: Context): Promise<Step> {
  const { parts } = context;
  const path = join(await parts.files.rootOf(parts.cwd), fileName);
  const before = await readOwn(context, path);
  const after = before === null ? null : edited(path, () => withoutBlock(before));
  if (before === null || before === after)
    return { what: "agents", did: "kept", path, note: "no block of dibs in it" };
  if (after === null) await parts.files.remove(path);
  else await parts.files.replace(path, after);
  return { what: "agents", did: "removed", path };
}

async function integrationSteps(context: Context): Promise<Step[]> {
  const steps: Step[] = [];
  for (const name of new Set(context.list("agent"))) {
    const { path, before } = await fileOf(context, name);
    const after = edited(path, () => integrationFor(name).add(before));
    if (before === null) await context.parts.files.create(path, after);
    else if (before !== after) await context.parts.files.replace(path, after);
    steps.push({ what: "mcp", did: before === null ? "made" : before === after ? "kept" : "changed", path });
  }
  return steps;
}

/** Only entries that are as we wrote them; of the clients that are named, or of all. */
async function removeIntegrations(context: Context): Promise<Step[]> {
  const steps: Step[] = [];
  for (const name of context.list("agent") ?? integrationNames) {
    const { path, before } = await fileOf(context, name);
    if (before === null || !before.includes("dibs")) continue;
    const after = edited(path, () => integrationFor(name).remove(before));
    if (after === null) await context.parts.files.remove(path);
    else if (after !== before) await context.parts.files.replace(path, after);
    steps.push({ what: "mcp", did: after === before ? "kept" : "removed", path });
  }
  return steps;
}

/** Neither the file nor its directory may lead out of the repository. */
async function fileOf({ parts }: Context, name: string): Promise<{ path: string; before: string | null }> {
  const root = await parts.files.rootOf(parts.cwd);
  const path = join(root, integrationFor(name).path);
  for (const each of [dirname(path), path]) {
    if (!(await parts.files.exists(each)) || (await parts.files.isInside(each, root))) continue;
    throw new DibsError("FORBIDDEN", `${each} is a link that leads out of this repository.`, {
      hint: "Nothing was written to where it leads.",
    });
  }
  return { path, before: await parts.files.read(path) };
}

function edited<T>(path: string, edit: () => T): T {
  try {
    return edit();
  } catch (error) {
    throw new DibsError("INVALID_STATE", `${path} was left as it is: ${(error as Error).message}.`, {
      hint: "Mend it by hand, or leave it out: --no-agents for AGENTS.md, no --agent for an agent's settings.",
    });
  }
}

const names: Record<Step["what"], string> = {
  store: "the tasks",
  config: "settings for everybody, to be committed",
  gitignore: "hides the rest from git",
  agents: "what agents must know",
  mcp: "how a client of MCP starts dibs",
};

function stepLine({ what, did, path, note }: Step, { parts }: Context, look: Look): string {
  const shown = relative(parts.cwd, path);
  const isFile = path.startsWith(parts.cwd) || what !== "store";
  const name = !isFile ? path : shown.startsWith("..") ? basename(path) : shown;
  const word = look.paint(did.padEnd(8), did === "kept" || did === "skipped" ? "dim" : "green");
  return `  ${word} ${plain(name).padEnd(18)}  ${look.paint(note ?? names[what], "dim")}`;
}

function nextSteps(look: Look): string[] {
  const steps: [string, string][] = [
    ['dibs add "Write the docs"', "add a task, or many: dibs plan plan.md"],
    ["dibs work --agent claude", "let an agent work, or dibs work -- <command>"],
    ["dibs serve", "watch in a browser"],
    ["dibs inbox", "see what needs you"],
  ];
  return ["Next:", ...steps.map(([command, why]) => `  ${look.paint(command.padEnd(26), "bold")} ${why}`)];
}

export const commands: Record<string, SingleCommand> = {
  init: {
    name: "init",
    summary: "Set up this repository: store, settings, .gitignore, and a block for agents in AGENTS.md",
    details: "Overwrites nothing; calling it again only adds what is missing. --project names the project.",
    flags: {
      yes: { short: "y", help: "ask nothing, do all of it" },
      "agents-md": {
        help: "add the block to AGENTS.md, or bring it up to date; asked at a terminal, else done",
      },
      "no-agents": { help: "leave AGENTS.md alone" },
      agent: {
        value: "<name>",
        many: true,
        choices: integrationNames,
        help: "add the MCP server to the project's settings of this agent",
      },
      remove: { help: "take the block out of AGENTS.md again, and our entries out of agents' settings" },
    },
    examples: ["dibs init", "dibs init --yes --project shop --agent claude", "dibs init --remove"],
    run: init,
  },
};
