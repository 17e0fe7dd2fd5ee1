// `db create`: the tables of a store on DynamoDB. Other databases are created by `dibs init`.

import { isDatabaseAddress } from "../address.js";
import type { CommandGroup, SingleCommand } from "../command.js";
import type { Context } from "../context.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

const example = "dibs db create dynamodb://eu-west-1/dibs";

function addressOf({ args, text, parts }: Context): string {
  const named = args[0] ?? text("db") ?? parts.env.DIBS_DATABASE_URL;
  if (!named) throw usageError("Missing address.", `Usage: ${example}`);
  if (named.startsWith("dynamodb:")) return named;
  const kind = isDatabaseAddress(named) ? "A PostgreSQL database" : `The file ${plain(named)}`;
  throw usageError(`${kind} is set up by dibs init, not by dibs db create.`, "Run: dibs init --db <address>");
}

const create: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const address = addressOf(context);
  if (context.on("print")) {
    const template = await parts.care.tableTemplate(address);
    parts.out(`${template}\n`);
    return;
  }
  const created = await parts.care.createTables(address);
  context.say(
    { success: true, address, created },
    () => `${created ? "created" : "kept"} the tables of ${plain(address)}`,
  );
};

export const commands: Record<string, CommandGroup> = {
  db: {
    name: "db",
    summary: "Create the tables of a store on DynamoDB",
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
    },
  },
};
