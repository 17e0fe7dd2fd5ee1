// What can stand where the cursor is, from the commands' own specs, and from the store where ids are wanted. One candidate per line,
// what it means behind a tab.

import type { Dibs } from "../../client/client.js";
import { unaliased } from "./aliases.js";
import type { Command, SingleCommand } from "./command.js";
import type { Context } from "./context.js";
import { cut, plain } from "./print/text.js";
import { argsOf, type FlagSpec, globalFlags } from "./spec.js";

const idsMax = 200;

/** The states in which a command's task is, where that is known. */
const statesOf: Record<string, string[]> = {
  claim: ["queued"],
  start: ["claimed"],
  heartbeat: ["claimed", "running"],
  progress: ["claimed", "running"],
  ask: ["claimed", "running"],
  done: ["claimed", "running"],
  fail: ["claimed", "running", "awaiting_response"],
  release: ["claimed", "running", "awaiting_response"],
  answer: ["awaiting_response"],
  retry: ["failed", "cancelled"],
  cancel: ["queued", "claimed", "running", "awaiting_response", "submitted"],
  withdraw: ["submitted"],
  review: ["submitted"],
  approve: ["submitted"],
  reject: ["submitted"],
  submit: ["claimed", "running"],
  edit: ["queued", "claimed", "running", "awaiting_response", "submitted", "failed", "cancelled"],
  "leader cancel": ["queued", "claimed", "running", "awaiting_response"],
  "worker start": ["claimed"],
  "worker complete": ["claimed", "running"],
  "worker fail": ["claimed", "running"],
};

const flagKinds: Record<string, string> = {
  "depends-on": "id",
  depends: "id",
  parent: "id",
  session: "session",
  assignee: "session",
  project: "project",
  db: "file",
  config: "file",
  files: "file",
  created: "file",
  modified: "file",
};

const argKinds: Record<string, string> = {
  id: "id",
  parent: "id",
  agent: "session",
  project: "project",
  file: "file",
  "file|-": "file",
  name: "name",
  check: "check",
};

/** `words` are those after `dibs`, the last being the one under the cursor. */
export async function candidatesFor(context: Context, words: readonly string[]): Promise<string[]> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? "";
  const lines = await linesFor(context, before, current);
  return lines.filter((line) => line === ":files" || line.startsWith(current));
}

async function linesFor(context: Context, before: readonly string[], current: string): Promise<string[]> {
  const place = await placeIn(context.catalogue, before);
  if (place.kind === "names") {
    if (current.startsWith("-")) return flagLines(globalFlags);
    return Object.entries(place.of).map(([name, { summary }]) => `${name}\t${summary}`);
  }
  const { command, args, wantsFor } = place;
  const flags: Record<string, FlagSpec> = { ...globalFlags, ...command.flags };
  if (wantsFor !== null) {
    const { choices } = flags[wantsFor]!;
    return choices ? [...choices] : fromStore(context, flagKinds[wantsFor], command.name);
  }
  if (current.startsWith("-") && !before.includes("--")) return flagLines(flags);
  const known = argsOf(command);
  const arg = known[args] ?? (known.at(-1)?.rest ? known.at(-1) : undefined);
  if (!arg) return [];
  const kind = argKinds[arg.name];
  if (kind === undefined && arg.name.includes("|")) return arg.name.split("|");
  return fromStore(context, kind, command.name);
}

const flagLines = (flags: Record<string, FlagSpec>) =>
  Object.entries(flags).map(([name, { help }]) => `--${name}\t${help}`);

type Found =
  | { kind: "names"; of: Record<string, { summary: string }> }
  | { kind: "command"; command: SingleCommand; args: number; wantsFor: string | null };

/** Which command stands there already, how many words it has been given, and which flag waits for its value. */
async function placeIn(catalogue: Context["catalogue"], words: readonly string[]): Promise<Found> {
  let command: Command | null = null;
  let args = 0;
  let wantsFor: string | null = null;
  let isOver = false;
  for (const word of words) {
    if (wantsFor !== null) wantsFor = null;
    else if (word === "--" && !isOver) isOver = true;
    else if (word.startsWith("-") && !isOver) wantsFor = valueFlag(word, command);
    else if (command === null) {
      const name = unaliased(word);
      const entry = catalogue.get(name);
      if (!entry) return { kind: "names", of: {} };
      command = (await entry.load())[name]!;
    } else if ("parts" in command) {
      if (!Object.hasOwn(command.parts, word)) return { kind: "names", of: {} };
      command = command.parts[word]!;
    } else args++;
  }
  if (command === null) return { kind: "names", of: visible(catalogue) };
  if ("parts" in command) return { kind: "names", of: command.parts };
  return { kind: "command", command, args, wantsFor };
}

const visible = (catalogue: Context["catalogue"]) =>
  Object.fromEntries([...catalogue].filter(([, { isHidden }]) => !isHidden));

function valueFlag(word: string, command: Command | null): string | null {
  const flags: Record<string, FlagSpec> = {
    ...globalFlags,
    ...(command && !("parts" in command) ? command.flags : {}),
  };
  const name = word.startsWith("--")
    ? word.slice(2)
    : Object.keys(flags).find((each) => flags[each]!.short === word.slice(1));
  const flag = name === undefined ? undefined : flags[name];
  return flag?.value !== undefined && flag.bare === undefined ? name! : null;
}

async function fromStore(context: Context, kind: string | undefined, command: string): Promise<string[]> {
  if (kind === "file") return [":files"];
  const lists: Record<string, (dibs: Dibs) => Promise<string[]>> = {
    id: async (dibs) => {
      const state = statesOf[command] as never;
      const { tasks } = await dibs.tasks.list({ limit: idsMax, ...(state ? { state } : {}) });
      return tasks.map(({ id, title }) => `${plain(id)}\t${cut(plain(title), 50)}`);
    },
    session: async (dibs) => {
      const { sessions } = await dibs.sessions.list({ limit: idsMax });
      return sessions.map(({ id }) => plain(id));
    },
    project: async (dibs) => (await dibs.projects.list({ limit: idsMax })).projects.map(({ id }) => id),
    check: async (dibs) => {
      const { project } = await dibs.projects.get({});
      return project.settings.land.checks.map(({ name }) => plain(name));
    },
    name: async (dibs) => (await dibs.locks.list({ limit: idsMax })).locks.map(({ name }) => plain(name)),
  };
  const list = lists[kind ?? ""];
  if (!list) return [];
  try {
    return await list(await context.dibs());
  } catch {
    return [];
  }
}
