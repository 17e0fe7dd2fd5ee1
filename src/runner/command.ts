// From a task to a command: arguments, environment, standard input. Task text is data. No shell reads it, it is in an argument
// only where the whole argument is a placeholder, and the command cannot read it as an option.

import { DibsError } from "../contract/error.js";
import type { WireTask } from "../contract/shapes.js";
import type { RunnerOptions } from "./options.js";
import type { StartRequest } from "./watchdog-messages.js";

export interface CommandContext {
  task: WireTask;
  sessionId: string;
  epoch: number;
  cwd: string;
  resultFile: string;
  /** What earlier attempts left; null: there was none. */
  handoverFile: string | null;
  /** Empty where the command does not ask for it. */
  brief: string;
  /** Private files with the prompt and the brief, for programs that want one. */
  promptFile: string;
  briefFile: string;
  /** Where these files are. */
  scratch: string;
  /** What the command inherits. */
  env: Readonly<Record<string, string | undefined>>;
  /** How the command reaches the same store: DIBS_URL or DIBS_DATABASE_URL, DIBS_TOKEN and so on. */
  connectionEnv: Readonly<Record<string, string | undefined>>;
}

export function refuseBadCommand(command: readonly string[]): void {
  const [file] = command;
  if (file !== undefined && file !== "" && !command.some((word) => word.includes("\0"))) return;
  throw new DibsError("VALIDATION_FAILED", "The runner needs a command: a file, and its arguments.", {
    hint: "For example: dibs work -- claude -p",
  });
}

/** Whether the command or its standard input needs the brief, which takes a few calls to the store. */
export function needsBrief({ command, stdin = "brief" }: Pick<RunnerOptions, "command" | "stdin">): boolean {
  return stdin === "brief" || command.includes("{brief}") || command.includes("{briefFile}");
}

export function startRequestFor(command: readonly string[], context: CommandContext): StartRequest {
  const { task, brief, cwd, promptFile, briefFile, scratch } = context;
  const values: Record<string, string> = {
    "{id}": task.id,
    "{title}": notAnOption(task.title),
    "{prompt}": notAnOption(task.prompt),
    "{promptFile}": promptFile,
    "{brief}": brief,
    "{briefFile}": briefFile,
  };
  const [file = "", ...args] = command;
  const filled = args.map((word) => (Object.hasOwn(values, word) ? values[word]! : word));
  return { file, args: filled, cwd, env: environmentFor(context), scratch };
}

/** A space in front: a `--` would not do, because not every program knows it, and it is of no use behind an option. */
function notAnOption(text: string): string {
  return text.startsWith("-") ? ` ${text}` : text;
}

/** Of an outer run, or of another store: none of the command's business. */
const notInherited = [
  "DIBS_TASK",
  "DIBS_SESSION",
  "DIBS_EPOCH",
  "DIBS_PROJECT",
  "DIBS_RESULT_FILE",
  "DIBS_HANDOVER_FILE",
  "DIBS_RESPONSE",
  "DIBS_REVIEW",
  "DIBS_SUBMISSION",
  "DIBS_PATCH_FILE",
  "DIBS_URL",
  "DIBS_DATABASE_URL",
];

/** Linux takes no longer string in an environment than 128 KiB. */
const responseBytesMax = 96 * 1024;

function environmentFor(context: CommandContext): Record<string, string> {
  const { task, sessionId, epoch, cwd, resultFile, handoverFile, env, connectionEnv } = context;
  const inherited = Object.entries(env).filter(([name]) => !notInherited.includes(name));
  const all: Record<string, string | undefined> = {
    ...Object.fromEntries(inherited),
    ...connectionEnv,
    // As a shell would: there are agents that believe it more than the system, and would work in the runner's directory.
    PWD: cwd,
    DIBS_PROJECT: task.project,
    DIBS_TASK: task.id,
    DIBS_SESSION: sessionId,
    DIBS_EPOCH: String(epoch),
    DIBS_RESULT_FILE: resultFile,
    DIBS_HANDOVER_FILE: handoverFile ?? undefined,
    // Also after it was acknowledged: an attempt that starts again must not ask again.
    DIBS_RESPONSE: task.response === null ? undefined : cut(task.response),
  };
  const set = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(set);
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= responseBytesMax) return text;
  return bytes.subarray(0, responseBytesMax).toString().replace(/�+$/, "");
}
