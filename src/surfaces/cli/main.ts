// The command line: parses, calls, prints. Errors are said on stderr, or as JSON where JSON was asked for; the exit code tells
// their class.

import { Command, CommanderError } from "commander";
import { exitCode } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import type { Parts } from "./parts.js";
import { addServe } from "./serve.js";
import { addToken } from "./token.js";

export async function main(argv: readonly string[], parts: Parts): Promise<number> {
  const program = new Command("dibs")
    .description("Task coordination for fleets of coding agents.")
    .option(
      "--db <file|url>",
      "database file, or postgres://…; default: DIBS_DATABASE_URL, else .dibs/dibs.db",
    )
    .option("--org <org>", "the tenant")
    .option("--project <project>", "the project; default: DIBS_PROJECT, else the store's own")
    .option("--json", "print answers and errors as JSON")
    .version(await parts.version())
    .exitOverride()
    .configureOutput({ writeOut: parts.out, writeErr: parts.err });
  addServe(program, parts);
  addToken(program, parts);
  try {
    await program.parseAsync(argv as string[], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof DibsError)) throw error;
    parts.err(program.opts().json ? `${JSON.stringify(error)}\n` : inWords(error));
    return exitCode[error.code];
  }
}

function inWords({ code, message, hint }: DibsError): string {
  return `dibs: ${message} (${code})\n${hint === undefined ? "" : `${hint}\n`}`;
}
