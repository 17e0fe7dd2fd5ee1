import { resolve } from "node:path";
import { DibsError } from "../../../contract/error.js";
import type { SingleCommand } from "../command.js";
import { placeFor, serverNamed, whereFor } from "../connection.js";
import type { Context } from "../context.js";
import type { Place } from "../parts.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

/** The database itself: these go past a server, which may well be running. */
async function ownPlace(context: Context, what: string, isNew = false): Promise<Place> {
  const { parts } = context;
  if (!serverNamed(context, parts)) return isNew ? placeFor(context, parts) : whereFor(context, parts);
  throw usageError(
    `${what} needs the database itself, not a server.`,
    "Run it where the database is, or name it with --db.",
  );
}

async function refuseTaken({ parts }: Context, file: string, name: string): Promise<void> {
  if (!(await parts.files.exists(file))) return;
  throw new DibsError("ID_TAKEN", `${name} exists already.`, { hint: "Name a new file." });
}

/** Of text that came from elsewhere, such as standard input. */
async function* linesIn(text: string): AsyncGenerator<string> {
  for (const line of text.split("\n")) if (line !== "") yield line;
}

const exportAll: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const place = await ownPlace(context, "An export");
  const [name = "-"] = context.args;
  const lines = parts.care.exportLines(place);
  if (name === "-") {
    for await (const line of lines) parts.out(line.endsWith("\n") ? line : `${line}\n`);
    return;
  }
  const file = resolve(parts.cwd, name);
  await refuseTaken(context, file, name);
  const count = await parts.care.writeLines(file, lines);
  context.say({ success: true, file, lines: count }, () => `exported ${count} lines to ${plain(name)}`);
};

const importAll: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const place = await ownPlace(context, "An import", true);
  const name = context.args[0]!;
  const input = name === "-" ? await parts.readInput() : null;
  const file = resolve(parts.cwd, name);
  if (input === null && !(await parts.files.exists(file))) {
    throw new DibsError("NOT_FOUND", `There is no file ${name}.`);
  }
  const counts = await parts.care.importLines(place, () =>
    input === null ? parts.care.linesOf(file) : linesIn(input),
  );
  context.say({ success: true, counts }, () => {
    const told = Object.entries(counts).filter(([, count]) => count > 0);
    return `imported ${told.map(([kind, count]) => `${count} ${kind}`).join(", ") || "nothing"}`;
  });
};

export const commands: Record<string, SingleCommand> = {
  export: {
    name: "export",
    args: "[file]",
    summary: "Write everything of the org as lines of JSON, to a new file or standard output",
    details:
      "A fleet may be at work: it is the state of one moment. Imported elsewhere it gives the same bytes again.",
    examples: ["dibs export fleet.jsonl", "dibs export | gzip > fleet.jsonl.gz"],
    run: exportAll,
  },
  import: {
    name: "import",
    args: "<file|->",
    summary: "Read an export into a store that has nothing yet",
    details: "The file is judged as a whole first: a broken one changes nothing.",
    examples: ["dibs import fleet.jsonl --db new.db", "dibs import fleet.jsonl --db postgres://…"],
    run: importAll,
  },
  backup: {
    name: "backup",
    args: "<file>",
    summary: "Copy the database into a new file while it is in use",
    async run(context) {
      const place = await ownPlace(context, "A backup");
      const name = context.args[0]!;
      const file = resolve(context.parts.cwd, name);
      await refuseTaken(context, file, name);
      await context.parts.care.backup(place, file);
      context.say({ success: true, file }, () => `backed up to ${plain(name)}`);
    },
  },
};
