// The command line: finds the command, parses, calls, prints. Errors are said on stderr, or as JSON where JSON was asked for; the
// exit code tells their class.

import { exitCode } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import { entries, groups } from "./commands.js";
import { Context } from "./context.js";
import type { Parts } from "./parts.js";
import { globalFlags, helpOf, parse, usageError } from "./spec.js";

export async function main(argv: readonly string[], parts: Parts): Promise<number> {
  try {
    return await call(argv, parts);
  } catch (error) {
    if (!(error instanceof DibsError)) throw error;
    const before = argv.indexOf("--");
    const isJson = argv.slice(0, before < 0 ? undefined : before).includes("--json");
    // Programs read one stream: what was asked for as JSON is answered as JSON, on stdout too.
    if (isJson) parts.out(`${JSON.stringify(error)}\n`);
    else parts.err(inWords(error));
    return exitCode[error.code];
  }
}

async function call(argv: readonly string[], parts: Parts): Promise<number> {
  const at = commandAt(argv);
  const name = argv[at];
  if (name === undefined) {
    if (argv.includes("--version") || argv.includes("-V")) parts.out(`${await parts.version()}\n`);
    else parts.out(overview());
    return 0;
  }
  const entry = entries.get(name === "help" ? (argv[at + 1] ?? "") : name);
  if (!entry) {
    if (name === "help") {
      parts.out(overview());
      return 0;
    }
    throw usageError(`'${name}' is not a command.`, suggestion(name));
  }
  const command = (await entry.load())[name === "help" ? argv[at + 1]! : name]!;
  const parsed = parse(command, name === "help" ? ["--help"] : [...argv.slice(0, at), ...argv.slice(at + 1)]);
  if (parsed.on.has("help")) {
    parts.out(helpOf(command));
    return 0;
  }
  const context = new Context(parts, parsed);
  try {
    const code = await command.run(context);
    return typeof code === "number" ? code : 0;
  } finally {
    await context.close();
  }
}

/** The first word that is not a flag, nor a global flag's value. */
function commandAt(argv: readonly string[]): number {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    if (!word.startsWith("-")) return at;
    const flag = (globalFlags as Record<string, { value?: string }>)[word.slice(2)];
    if (flag?.value !== undefined) at++;
  }
  return argv.length;
}

function overview(): string {
  const parts = Object.entries(groups).map(([title, group]) => {
    const lines = Object.entries(group).map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}\n`);
    return `${title}\n${lines.join("")}`;
  });
  return `dibs: task coordination for fleets of coding agents\n\ndibs <command> --help tells more.\n\n${parts.join("\n")}`;
}

function suggestion(name: string): string {
  const near = [...entries.keys()].filter(
    (each) => each.startsWith(name.slice(0, 2)) || name.startsWith(each.slice(0, 3)),
  );
  return near.length > 0
    ? `Did you mean ${near.slice(0, 3).join(", ")}? dibs --help lists all.`
    : "dibs --help lists all commands.";
}

function inWords({ code, message, hint }: DibsError): string {
  return `dibs: ${message} (${code})\n${hint === undefined ? "" : `${hint}\n`}`;
}
