// What a command takes, in one place: parsing, help and completion use it. Node's own parser does the work; a library for it would
// take longer to load than most commands take to run.

import { parseArgs } from "node:util";
import { DibsError } from "../../contract/error.js";
import { widthOf, wrap } from "./print/text.js";

export interface FlagSpec {
  help: string;
  /** What it takes, such as `<ms>`; absent: it is on or off. */
  value?: string;
  short?: string;
  /** May be given several times. */
  many?: boolean;
  /** Takes all words up to the next flag. */
  rest?: boolean;
  /** Takes one word each time; a further word that may be meant for it is refused rather than taken for text. */
  strict?: boolean;
  /** What it means without a value: last, or before another flag. */
  bare?: string;
  /** Its values, for completion and for refusing others. */
  choices?: readonly string[];
  /** Former names of values: accepted, not shown. */
  former?: Readonly<Record<string, string>>;
}

export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6;

export const exitCodes: Record<ExitCode, string> = {
  0: "success",
  1: "conflict: held by another session, wrong state, or busy",
  2: "usage error",
  3: "not found",
  4: "not allowed",
  5: "nothing to claim",
  6: "store or network unavailable",
};

/** The exit codes of every command that uses a store. */
const usualExits: readonly ExitCode[] = [0, 2, 3, 4, 6];

export interface CommandSpec {
  /** As it is typed: `add`, `lock acquire`. */
  name: string;
  /** `<id>` is needed, `[id]` is not, `[words...]` takes all that are left. */
  args?: string;
  /** What follows its name in the usage line; default: its arguments, then the flags. */
  usage?: string;
  summary: string;
  /** Below the summary in its own help. */
  details?: string;
  flags?: Record<string, FlagSpec>;
  /** It changes nothing. */
  reads?: true;
  /** It creates a store that does not exist, and says so; all others refuse. */
  createsStore?: true;
  /** Its answer lists what it created. */
  listsCreated?: true;
  /** What 1 and 5 mean here, and others where they mean something of their own; null: it never ends so. */
  exits?: Partial<Record<ExitCode, string | null>>;
  examples?: readonly string[];
}

export const globalFlags = {
  db: { value: "<file|url>", help: "database: a file, postgres://… or dynamodb://… (DIBS_DATABASE_URL)" },
  url: { value: "<url>", help: "server to use instead of a database (DIBS_URL)" },
  token: { value: "<token>", help: "token of the server; prefer its token file or DIBS_TOKEN" },
  org: { value: "<org>", help: "organization" },
  project: { value: "<project>", help: "project (DIBS_PROJECT)" },
  session: { value: "<id>", help: "session of the agent (DIBS_SESSION)" },
  epoch: { value: "<n>", help: "fencing number of the claim (DIBS_EPOCH)" },
  config: { value: "<file>", help: "settings file; default .dibs/config.json" },
  json: { help: "print JSON, as the HTTP API returns it" },
  help: { short: "h", help: "print help" },
} as const satisfies Record<string, FlagSpec>;

/** Flags of all lists. */
export const listFlags = {
  limit: { value: "<n>", help: "maximum number of results; default 100" },
  cursor: { value: "<cursor>", help: "start after the previous page" },
  all: { short: "a", help: "all projects" },
} as const satisfies Record<string, FlagSpec>;

export interface Parsed {
  args: string[];
  /** From this one on they stood after `--`. */
  literalFrom: number;
  values: ReadonlyMap<string, string[]>;
  on: ReadonlySet<string>;
}

export function usageError(message: string, hint?: string): DibsError {
  return new DibsError("VALIDATION_FAILED", message, { hint });
}

export function parse(spec: CommandSpec, argv: readonly string[]): Parsed {
  const flags: Record<string, FlagSpec> = { ...globalFlags, ...spec.flags };
  const tokens = tokensOf(spec, flags, argv);
  const args: string[] = [];
  const values = new Map<string, string[]>();
  const on = new Set<string>();
  let taking: string | null = null;
  let literalFrom: number | null = null;
  let before: { name: string; value: string } | null = null;
  for (const token of tokens) {
    if (token.kind === "option-terminator") {
      taking = null;
      literalFrom = args.length;
    } else if (token.kind === "positional") {
      if (before) refuseForgotten(before, token.value, args);
      if (taking) values.get(taking)!.push(token.value);
      else args.push(token.value);
    } else {
      const flag = flags[token.name]!;
      taking = flag.rest ? token.name : null;
      if (flag.value === undefined) on.add(token.name);
      else
        values.set(token.name, [
          ...(flag.many || flag.rest ? (values.get(token.name) ?? []) : []),
          flag.former?.[token.value!] ?? token.value!,
        ]);
    }
    const isStrict = token.kind === "option" && flags[token.name]!.strict;
    before = isStrict ? { name: token.name, value: token.value! } : null;
  }
  if (!on.has("help")) {
    if (values.get("project")?.at(-1) === "*") {
      if (flags.all !== listFlags.all) throw oneProject();
      on.add("all");
      values.delete("project");
    }
    refuseOtherChoices(flags, values);
    refuseWrongCount(spec, args);
  }
  return { args, literalFrom: literalFrom ?? args.length, values, on };
}

/** As in the API `*` is every project, where there is a list of them. */
function oneProject(): DibsError {
  return usageError(
    "This command works in one project, not in --project *.",
    "Name one project; lists take --all. Run: dibs project list",
  );
}

/** `add foo -d 0001 0002`: is that a second id, or text? */
function refuseForgotten(flag: { name: string; value: string }, word: string, args: readonly string[]): void {
  const looksLikeId = /^\d{4}(_t\d+(\.\d+)*)?$/.test(word);
  if (args.length === 0 && !looksLikeId) return;
  throw usageError(
    `'${word}' after --${flag.name} ${flag.value} is ambiguous: a second value, or text.`,
    `Write --${flag.name} ${flag.value},${word} for two values; put text in quotes before the flags, or after --.`,
  );
}

function tokensOf(spec: CommandSpec, flags: Record<string, FlagSpec>, argv: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { value, short }]) => [
      name,
      {
        type: value === undefined ? ("boolean" as const) : ("string" as const),
        ...(short && { short }),
        multiple: true,
      },
    ]),
  );
  try {
    const args = withBareValues(flags, argv);
    return parseArgs({ args, options, strict: true, allowPositionals: true, tokens: true }).tokens;
  } catch (error) {
    throw unparsed(error as Error & { code?: string }, spec, flags, argv);
  }
}

/** What Node's parser refused, in the words of help pages. */
function unparsed(
  { code, message }: Error & { code?: string },
  spec: CommandSpec,
  flags: Record<string, FlagSpec>,
  argv: readonly string[],
): DibsError {
  const name = /--([a-z][\w-]*)/i.exec(message)?.[1];
  const help = `Run: ${calledAs(spec)} --help.`;
  if (code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE" && name !== undefined) {
    const { value, short } = flags[name]!;
    const last = argv.at(-1);
    const isLast = last === `--${name}` || (short !== undefined && last === `-${short}`);
    return value === undefined
      ? usageError(`--${name} takes no value.`, help)
      : usageError(
          `--${name} needs a value: ${value}.`,
          isLast ? help : `Write a value that begins with - as --${name}=-1.`,
        );
  }
  const unknown = /'(-[^']*)'/.exec(message)?.[1];
  return usageError(
    unknown === undefined ? "The flags cannot be read." : `Unknown flag ${unknown}.`,
    `${help} Text that begins with - goes after --.`,
  );
}

/** `--wait` with no word behind it means `--wait=60s`. A word is a value, so that a wrong one is told and not taken for an id. */
function withBareValues(flags: Record<string, FlagSpec>, argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  return argv.map((word, at) => {
    const bare = word.startsWith("--") ? flags[word.slice(2)]?.bare : undefined;
    const isOption = end < 0 || at < end;
    const isAlone = (argv[at + 1] ?? "-").startsWith("-");
    return bare !== undefined && isOption && isAlone ? `${word}=${bare}` : word;
  });
}

function refuseOtherChoices(flags: Record<string, FlagSpec>, values: ReadonlyMap<string, string[]>): void {
  for (const [name, given] of values) {
    const { choices } = flags[name]!;
    const other = choices && given.find((each) => !choices.includes(each));
    if (other !== undefined)
      throw usageError(`--${name} must be one of ${choices!.join(", ")}, not '${other}'.`);
  }
}

interface ArgSpec {
  name: string;
  needed: boolean;
  rest: boolean;
}

export function argsOf({ args = "" }: CommandSpec): ArgSpec[] {
  return args
    .split(" ")
    .filter((each) => each !== "")
    .map((each) => ({
      name: each.replace(/[<>[\].]/g, ""),
      needed: each.startsWith("<"),
      rest: each.includes("..."),
    }));
}

function refuseWrongCount(spec: CommandSpec, args: readonly string[]): void {
  const known = argsOf(spec);
  const missing = known.filter(({ needed }) => needed)[args.length];
  if (missing) throw usageError(`Missing <${missing.name}>.`, `Usage: ${usageOf(spec)}`);
  if (args.length > known.length && !known.some(({ rest }) => rest)) {
    throw usageError(`Unexpected argument '${args[known.length]}'.`, `Usage: ${usageOf(spec)}`);
  }
}

/** Without a command it is the program itself. */
const calledAs = ({ name }: CommandSpec) => (name === "" ? "dibs" : `dibs ${name}`);

function usageOf(spec: CommandSpec): string {
  return `${calledAs(spec)} ${spec.usage ?? `${spec.args ? `${spec.args} ` : ""}[flags]`}`;
}

/** Broken to the width, what follows below the beginning. */
function hanging(lead: string, text: string, columns: number): string {
  const indent = widthOf(lead);
  const [first = "", ...rest] = wrap(text, Math.max(20, columns - indent));
  return [`${lead}${first}`, ...rest.map((line) => `${" ".repeat(indent)}${line}`)]
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** A column of names, and beside it what they mean. */
export function twoColumns(rows: readonly (readonly [string, string])[], columns: number): string {
  const width = Math.max(12, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => hanging(`  ${left.padEnd(width)}  `, right, columns)).join("");
}

function flagLines(flags: Record<string, FlagSpec>, columns: number): string {
  const rows = Object.entries(flags).map(([name, { short, value, help, choices }]) => {
    const left = `${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`;
    return [left, choices ? `${help} (${choices.join(", ")})` : help] as const;
  });
  return twoColumns(rows, columns);
}

/** Paragraphs as sentences. */
export function introduction(summary: string, details: string | undefined, columns: number): string {
  const sentence = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
  return [sentence, ...(details ? [details] : [])].map((text) => hanging("", text, columns)).join("\n");
}

function exitLines(own: CommandSpec["exits"], columns: number): string {
  const usual = Object.fromEntries(usualExits.map((code) => [code, exitCodes[code]]));
  const lines = Object.entries({ ...usual, ...own }).map(([code, means]) =>
    means === null ? "" : hanging(`  ${code}  `, means, columns),
  );
  return `Exit codes\n${lines.join("")}`;
}

/** What `dibs help flags` prints. */
export const globalFlagsHelp = (columns: number) =>
  `Flags of every command, before or after its name.\n\n${flagLines(globalFlags, columns)}`;

const globalFlagsLine = "Global flags: dibs help flags\n";

/** What every help page has: where the global flags are, and the exit codes. */
export const commonHelp = (exits: CommandSpec["exits"], columns: number) =>
  `${globalFlagsLine}\n${exitLines(exits, columns)}`;

export function helpOf(spec: CommandSpec, aliases: readonly string[] = [], columns = 80): string {
  const { summary, details, flags, exits, examples } = spec;
  return [
    `${usageOf(spec)}\n\n${introduction(summary, details, columns)}`,
    aliases.length > 0 ? `\nAliases: ${aliases.map((alias) => `dibs ${alias}`).join(", ")}\n` : "",
    flags && Object.keys(flags).length > 0 ? `\nFlags\n${flagLines(flags, columns)}` : "",
    `\n${commonHelp(exits, columns)}`,
    examples ? `\nExamples\n${examples.map((each) => `  ${each}\n`).join("")}` : "",
  ].join("");
}
