// `hook`: what the hooks of Claude Code call. It must never get in the way: it says nothing where there is no store, it does not
// wait for one that is busy, and whatever happens it ends well.

import { clientName, inDirectory } from "../client-name.js";
import type { SingleCommand } from "../command.js";
import { connectionFor, serverNamed, whereFor } from "../connection.js";
import type { Context } from "../context.js";
import type { HookRequest, Parts } from "../parts.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

const withinMs = 3_000;

const hook: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  if (parts.stdin.isTerminal) {
    parts.out("The hooks of Claude Code call this; dibs init --agent claude sets them up.\n");
    return 0;
  }
  parts.endWithin(withinMs);
  try {
    const answer = await heard(context);
    if (answer) parts.out(`${JSON.stringify(answer)}\n`);
  } catch (error) {
    // Shown to those who look for it, in the log of Claude Code.
    parts.err(`dibs hook: ${plain((error as Error).message)}\n`);
  }
  return 0;
};

async function heard(context: Context): Promise<object | null> {
  const { env } = context.parts;
  const given = fieldsOf(await context.parts.readInput());
  // Under a runner the task is the runner's, who renews it and says how it ended.
  if (env.DIBS_TASK) return null;
  const parts = inDirectory(context.parts, env.CLAUDE_PROJECT_DIR || textIn(given.cwd) || context.parts.cwd);
  if (!(await hasStore(context, parts))) return null;
  const request = { event: eventIn(given), agent: await agentOf(context) };
  if (request.event.name === "SessionStart") await tellCommands(parts, request.agent);
  const dibs = await connectionFor(context, parts);
  try {
    return await parts.hearHook(dibs, request);
  } finally {
    await dibs.close();
  }
}

type Fields = Record<string, unknown>;

function fieldsOf(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw usageError("Standard input is not valid JSON.");
  }
  return typeof value === "object" && value !== null ? { ...value } : {};
}

const textIn = (value: unknown) => (typeof value === "string" ? value : undefined);
const hasSome = (value: unknown) => Array.isArray(value) && value.length > 0;

function eventIn(given: Fields): HookRequest["event"] {
  return {
    name: textIn(given.hook_event_name) ?? "",
    source: textIn(given.source),
    reason: textIn(given.reason),
    goesOn:
      given.stop_hook_active === true || hasSome(given.background_tasks) || hasSome(given.session_crons),
  };
}

/** A hook makes none. */
async function hasStore(context: Context, parts: Parts): Promise<boolean> {
  const { path } = await whereFor(context, parts);
  return (
    (await serverNamed(context, parts)) !== undefined ||
    path === undefined ||
    (await parts.files.exists(path))
  );
}

/** A name that somebody gave may be used elsewhere, too. */
async function agentOf(context: Context): Promise<HookRequest["agent"]> {
  const { parts, asSession } = context;
  if (asSession !== undefined) return { sessionId: asSession, isOwn: false };
  const client = context.number("client") ?? parts.parentPid;
  const sessionId = Number.isInteger(client) && client > 0 ? await clientName(parts, client) : null;
  return sessionId === null ? null : { sessionId, isOwn: true };
}

/** Commands that the agent runs in its shell act under the name of its tools. */
async function tellCommands(parts: Parts, agent: HookRequest["agent"]): Promise<void> {
  const { CLAUDE_ENV_FILE: file } = parts.env;
  if (file && agent?.isOwn) await parts.files.append(file, `export DIBS_SESSION=${agent.sessionId}\n`);
}

export const commands: Record<string, SingleCommand> = {
  hook: {
    name: "hook",
    summary: "Handle an event of Claude Code: JSON on standard input",
    details:
      "Called by the plugin that dibs init --agent claude installs. SessionStart shows open questions and held tasks, PostToolUse renews leases, Stop reminds of unreported tasks, SessionEnd releases them. It exits within seconds, and does nothing without a store.",
    flags: { client: { value: "<pid>", help: "process of Claude Code; default: the caller" } },
    exits: { 0: "always", 2: null, 3: null, 4: null, 6: null },
    examples: ["dibs hook --client $PPID || true"],
    run: hook,
  },
};
