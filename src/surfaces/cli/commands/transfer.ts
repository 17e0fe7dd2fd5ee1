import { dirname, relative, resolve } from "node:path";
import { DibsError } from "../../../contract/error.js";
import type { SingleCommand } from "../command.js";
import { placeFor, reportCreated, serverNamed } from "../connection.js";
import type { Context } from "../context.js";
import { fileTrouble } from "../files.js";
import type { Place } from "../parts.js";
import { inEscapes } from "../print/json.js";
import { Progress } from "../print/progress.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

/** The database itself: these go past a server, which may well be running. */
async function ownPlace(context: Context, what: string): Promise<Place> {
  const { parts } = context;
  if (!(await serverNamed(context, parts))) return placeFor(context, parts);
  throw usageError(`${what} needs the database, not a server.`, "Run it where the database is, or add --db.");
}

async function refuseTaken({ parts }: Context, file: string, name: string): Promise<void> {
  if (!(await parts.files.exists(file))) return;
  throw new DibsError("ID_TAKEN", `File ${name} exists.`, { hint: "Choose a new file name." });
}

function noDirectory(error: unknown, name: string): DibsError | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
  return new DibsError("NOT_FOUND", `No directory for ${name}.`, { hint: `Run: mkdir -p ${dirname(name)}` });
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
    const shown = parts.stdout.isTerminal ? inEscapes : (line: string) => line;
    for await (const line of lines) parts.out(`${shown(line.trimEnd())}\n`);
    return;
  }
  const file = resolve(parts.cwd, name);
  await refuseTaken(context, file, name);
  const progress = new Progress(context);
  const told = progress.over(lines, (count) => `exporting: ${count} lines`);
  const count = await parts.care
    .writeLines(file, told)
    .catch((error: unknown) => {
      throw noDirectory(error, name) ?? error;
    })
    .finally(() => progress.clear());
  context.say({ success: true, file, lines: count }, () => `exported ${count} lines to ${plain(name)}`);
};

const importAll: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const place = await ownPlace(context, "An import");
  const name = context.args[0]!;
  const input = name === "-" ? await parts.readInput() : null;
  const file = resolve(parts.cwd, name);
  const progress = new Progress(context);
  const lines = () => {
    // Asked for twice: once all of them are judged, then they are written.
    const all = progress.count;
    const tell = (count: number) =>
      all === 0 ? `checking: ${count} lines` : `importing: ${count} of ${all} lines`;
    return progress.over(input === null ? parts.care.linesOf(file) : linesIn(input), tell);
  };
  let counts: Record<string, number>;
  let created: string | undefined;
  try {
    const onCreate = (store: string) => {
      created = store;
    };
    counts = await parts.care.importLines({ ...place, onCreate }, lines).finally(() => progress.clear());
  } catch (error) {
    throw await importTrouble(error, context, place, name);
  }
  if (created !== undefined) reportCreated(context, parts, created);
  await warnOfProject(context, place);
  context.say({ success: true, counts }, () => {
    const told = Object.entries(counts).filter(([, count]) => count > 0);
    return `imported ${told.map(([kind, count]) => `${count} ${kind}${count === 1 ? "" : "s"}`).join(", ") || "nothing"}`;
  });
};

async function importTrouble(
  error: unknown,
  { parts }: Context,
  place: Place,
  name: string,
): Promise<unknown> {
  if (!(error instanceof DibsError)) return fileTrouble(error, name);
  if (error.code !== "ID_TAKEN" || place.path === undefined) return error;
  const elsewhere = `Into a new file: dibs import ${name} --db new.db.`;
  const shown = relative(parts.cwd, place.path) || place.path;
  const first = (await parts.findServer(place.path)) ? "stop its server, then " : "";
  const instead = `Nothing but that project is in it. To have the export instead: ${first}rm ${shown}* && dibs import ${name}.`;
  const hint = error.details.isFresh === true ? `${instead} ${elsewhere}` : elsewhere;
  return new DibsError(error.code, error.message, { hint, details: error.details });
}

/** The settings of a repository may name a project that is not among what was imported: every command would be refused. */
async function warnOfProject(context: Context, { project }: Place): Promise<void> {
  if (project === undefined) return;
  const { projects } = await (await context.dibs()).projects.list({ limit: 1000 });
  if (projects.some(({ id }) => id === project)) return;
  const others = projects.slice(0, 3).map(({ id }) => plain(id));
  context.parts.err(
    `dibs: project ${plain(project)}, which --project, DIBS_PROJECT or .dibs/config.json names, was not imported: there is ${others.join(", ")}.\n`,
  );
}

export const commands: Record<string, SingleCommand> = {
  export: {
    name: "export",
    args: "[file]",
    summary: "Export all data as JSON lines, to a new file or standard output",
    details:
      "Agents can continue to work: the export is a snapshot. An import and export of it gives the same bytes.",
    exits: { 1: "the file exists" },
    examples: ["dibs export fleet.jsonl", "dibs export | gzip > fleet.jsonl.gz"],
    run: exportAll,
  },
  import: {
    name: "import",
    createsStore: true,
    args: "<file|->",
    summary: "Import an export into an empty store",
    details: "The whole file is checked first: an invalid one changes nothing.",
    exits: { 1: "the store is not empty" },
    examples: ["dibs import fleet.jsonl --db new.db", 'dibs import fleet.jsonl --db "$DIBS_DATABASE_URL"'],
    run: importAll,
  },
  backup: {
    name: "backup",
    args: "<file>",
    summary: "Copy the database to a new file while it is in use",
    exits: { 1: "the file exists" },
    examples: ["dibs backup ../shop-backup.db"],
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
