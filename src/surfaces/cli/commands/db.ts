// `db`: the tables of a store on DynamoDB. Other databases are created by `dibs init` and restored by their own tools.

import { isDatabaseAddress } from "../address.js";
import type { CommandGroup, SingleCommand } from "../command.js";
import type { Context } from "../context.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

const example = "dibs db create dynamodb://eu-west-1/dibs";

function addressOf(context: Context): string {
  const named = context.args[0] ?? context.text("db") ?? context.parts.env.DIBS_DATABASE_URL;
  if (!named) throw usageError("Missing address.", `Usage: ${example}`);
  if (named.startsWith("dynamodb:")) return named;
  const kind = isDatabaseAddress(named) ? "A PostgreSQL database" : `The file ${plain(named)}`;
  throw usageError(
    `${kind} is not a store on DynamoDB.`,
    "To create another store, run: dibs init --db <address>",
  );
}

const create: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const address = addressOf(context);
  if (context.on("print")) {
    const template = await parts.care.tableTemplate(address);
    context.say({ success: true, template: JSON.parse(template) }, () => template);
    return;
  }
  const created = await parts.care.createTables(address);
  context.say(
    { success: true, address, created },
    () => `${created ? "created" : "kept"} the tables of ${plain(address)}`,
  );
};

const replay: SingleCommand["run"] = async (context) => {
  const url = addressOf(context);
  const time = context.text("rows-at");
  if (time === undefined) throw usageError("Missing --rows-at: the time to which the tables were restored.");
  const rowsAt = Date.parse(time);
  if (Number.isNaN(rowsAt))
    throw usageError(`--rows-at must be a time such as 2026-11-18T10:00:00Z, not ${plain(time)}.`);
  const org = context.text("org") ?? (context.parts.env.DIBS_ORG || undefined);
  const commits = await context.parts.care.replayLog({ url, rowsAt, ...(org !== undefined && { org }) });
  context.say(
    { success: true, address: url, commits },
    () => `${commits} commits will be replayed by the next command or server`,
  );
};

export const commands: Record<string, CommandGroup> = {
  db: {
    name: "db",
    summary: "Create and restore the tables of a store on DynamoDB",
    parts: {
      create: {
        name: "db create",
        args: "[address]",
        summary: "Create the tables of a store on DynamoDB",
        details:
          "The tables are billed on demand and have point-in-time recovery. Tables that exist are kept. With --print, the tables are printed as a CloudFormation template and nothing is created.",
        flags: { print: { help: "print a CloudFormation template" } },
        examples: [example, "dibs db create dynamodb://eu-west-1/dibs --print"],
        run: create,
      },
      replay: {
        name: "db replay",
        args: "[address]",
        summary: "Replay the log over restored tables",
        details:
          "Run it after a restore, once per organization and while no server uses the tables. The log must be restored to a minute later than the other tables.",
        flags: {
          "rows-at": { value: "<date>", help: "time to which the tables other than the log were restored" },
        },
        examples: ["dibs db replay dynamodb://eu-west-1/restored --rows-at 2026-11-18T10:00:00Z"],
        run: replay,
      },
    },
  },
};
