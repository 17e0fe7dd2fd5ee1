// The command line: finds the command, parses, calls, prints. Errors are said on stderr, or as JSON where JSON was asked for; the
// exit code tells their class.

import { exitCode } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import { aliasesOf, unaliased } from "./aliases.js";
import type { Command, CommandGroup, SingleCommand } from "./command.js";
import { entries, groups } from "./commands.js";
import { Context } from "./context.js";
import { inFlags } from "./flag-words.js";
import type { Parts } from "./parts.js";
import { columnsOf } from "./print/display.js";
import { jsonLine } from "./print/json.js";
import { plainLines } from "./print/text.js";
import {
  commonHelp,
  type ExitCode,
  exitCodes,
  globalFlags,
  globalFlagsHelp,
  helpOf,
  introduction,
  parse,
  twoColumns,
  usageError,
} from "./spec.js";

export async function main(argv: readonly string[], parts: Parts): Promise<number> {
  try {
    return await call(argv, parts);
  } catch (thrown) {
    const error = asDibsError(thrown);
    const before = argv.indexOf("--");
    const isJson = argv.slice(0, before < 0 ? undefined : before).includes("--json");
    // Programs read one stream: what was asked for as JSON is answered as JSON, on stdout too. Unless a protocol has it.
    const isProtocol = nextWord(argv).word === "mcp";
    if (isJson) (isProtocol ? parts.err : parts.out)(jsonLine(error));
    else parts.err(inWords(error));
    if (error.code === "INTERNAL" && parts.env.DIBS_DEBUG) parts.err(`${stackOf(error.cause ?? error)}\n`);
    return exitCode[error.code];
  }
}

/** What the system refuses (no such directory, no right to write) is told in a line; anything else is a mistake of ours. */
function asDibsError(error: unknown): DibsError {
  if (error instanceof DibsError) return error;
  if (error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined) {
    return new DibsError("STORE_UNAVAILABLE", error.message, { cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new DibsError("INTERNAL", `This is a defect in Dibs: ${message}`, {
    hint: "Report it with the command and the output of dibs --version. DIBS_DEBUG=1 prints where it happened.",
    cause: error,
  });
}

const stackOf = (error: unknown) =>
  plainLines((error instanceof Error && error.stack) || String(error)).join("\n");

async function call(argv: readonly string[], parts: Parts): Promise<number> {
  const { word, rest } = nextWord(argv);
  if (word === undefined) {
    if (argv.includes("--version") || argv.includes("-V")) parts.out(`${await parts.version()}\n`);
    else {
      parse({ name: "", summary: "" }, argv);
      parts.out(overview(columnsOf(parts)));
    }
    return 0;
  }
  if (word === "help") return help(rest, parts);
  const name = unaliased(word);
  const entry = entries.get(name);
  if (!entry) throw usageError(`Unknown command '${word}'.`, suggestion(word, visibleNames(), "dibs"));
  const chosen = single((await entry.load())[name]!, rest);
  if ("parts" in chosen) {
    parts.out(groupHelp(chosen, columnsOf(parts)));
    return 0;
  }
  const { command, words } = chosen;
  const parsed = parse(command, words);
  if (parsed.on.has("help")) {
    parts.out(helpOf(command, aliasesOf(command.name), columnsOf(parts)));
    return 0;
  }
  const context = new Context(parts, parsed, entries, command);
  try {
    const code = await command.run(context);
    return typeof code === "number" ? code : 0;
  } catch (error) {
    throw context.isJson ? error : inFlags(error, command);
  } finally {
    await context.close();
  }
}

/** `dibs help <command>`; "flags" is no command. */
async function help(words: readonly string[], parts: Parts): Promise<number> {
  if (nextWord(words).word !== "flags") return call([...words, "--help"], parts);
  parts.out(globalFlagsHelp(columnsOf(parts)));
  return 0;
}

const visibleNames = () => [...entries].filter(([, { isHidden }]) => !isHidden).map(([name]) => name);

/** The command meant by what follows its name; a group itself where only its help is wanted. */
function single(
  command: Command,
  argv: readonly string[],
): { command: SingleCommand; words: readonly string[] } | CommandGroup {
  if (!("parts" in command)) return { command, words: argv };
  const { word, rest } = nextWord(argv);
  const part = word !== undefined && Object.hasOwn(command.parts, word) ? command.parts[word] : undefined;
  if (part) return { command: part, words: rest };
  const names = Object.keys(command.parts);
  if (word === undefined && (argv.includes("--help") || argv.includes("-h"))) return command;
  throw usageError(
    word === undefined
      ? `Missing command of dibs ${command.name}.`
      : `Unknown command 'dibs ${command.name} ${word}'.`,
    word === undefined ? `Commands: ${names.join(", ")}.` : suggestion(word, names, `dibs ${command.name}`),
  );
}

/** The first word that is not a flag, nor a global flag's value; and all the others. */
function nextWord(argv: readonly string[]): { word: string | undefined; rest: readonly string[] } {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    if (word === "--") break;
    if (!word.startsWith("-")) return { word, rest: [...argv.slice(0, at), ...argv.slice(at + 1)] };
    const flag = (globalFlags as Record<string, { value?: string }>)[word.slice(2)];
    if (flag?.value !== undefined) at++;
  }
  return { word: undefined, rest: argv };
}

function overview(columns: number): string {
  const parts = Object.entries(groups).map(([title, group]) => `${title}\n${summaries(group, columns)}`);
  const head =
    "dibs: task coordination for fleets of coding agents\n\nHelp on a command: dibs help <command>\n";
  return `${head}\n${parts.join("\n")}\n${commonHelp(exitCodes, columns)}`;
}

function groupHelp({ name, summary, details, parts }: CommandGroup, columns: number): string {
  const head = `dibs ${name} <command> [flags]\n\n`;
  const more = `Help on a command: dibs help ${name} <command>\n`;
  const tail = commonHelp(exitsOf(Object.values(parts)), columns);
  return `${head}${introduction(summary, details, columns)}\n${summaries(parts, columns)}\n${more}\n${tail}`;
}

/** What any of them may end with, in words that fit all. */
function exitsOf(commands: readonly SingleCommand[]): SingleCommand["exits"] {
  const codes = commands.flatMap(({ exits = {} }) => Object.keys(exits).map(Number) as ExitCode[]);
  return Object.fromEntries(codes.map((code) => [code, exitCodes[code]]));
}

function summaries(commands: Record<string, { summary: string }>, columns: number): string {
  return twoColumns(
    Object.entries(commands).map(([name, { summary }]) => [name, summary] as const),
    columns,
  );
}

/** All letters of the shorter word are in the longer one, in order, with at most two more: `lst`, `lisst`. */
function hasSameLetters(a: string, b: string): boolean {
  const [short = "", long = ""] = [a, b].sort((x, y) => x.length - y.length);
  let at = 0;
  for (const letter of long) if (letter === short[at]) at++;
  return at === short.length && short.length > 1 && long.length - short.length <= 2;
}

function suggestion(name: string, known: readonly string[], before: string): string {
  const isNear = (each: string) =>
    each.startsWith(name.slice(0, 2)) || name.startsWith(each.slice(0, 3)) || hasSameLetters(each, name);
  const near = known.filter(isNear);
  const all = `Run: ${before} --help`;
  return near.length > 0 ? `Did you mean ${near.slice(0, 3).join(", ")}? ${all}` : all;
}

function inWords({ code, message, hint }: DibsError): string {
  const lines = [
    ...plainLines(`dibs: ${message} (${code})`),
    ...(hint === undefined ? [] : plainLines(hint)),
  ];
  return `${lines.join("\n")}\n`;
}
