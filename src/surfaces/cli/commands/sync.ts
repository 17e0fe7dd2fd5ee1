// `sync`: a tasks.json that people and programs edit, kept in step with the project.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import {
  dialects,
  formerDialects,
  type News,
  needsAttention,
  type SyncOptions,
  startSync,
  syncOnce,
} from "../../../bridges/tasks-json/index.js";
import type { Dibs } from "../../../client/client.js";
import type { SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import { type Display, displayOf, type Style } from "../print/display.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

/** There was something to look at: a conflict, a refused edit, a task that was removed. */
const attention = 1;

const styles: Partial<Record<News["what"], Style>> = {
  added: "green",
  completed: "green",
  conflict: "yellow",
  refused: "yellow",
  removed: "yellow",
  failed: "red",
  broken: "red",
  trouble: "red",
};

function line({ what, taskId, message }: News, display: Display): string {
  const words = [display.paint(what, styles[what]), taskId && plain(taskId), plain(message)];
  return `${words.filter((word) => word).join(" ")}\n`;
}

function tellerFor(context: Context): (news: News) => void {
  const display = displayOf(context.parts);
  return (news) => {
    if (context.isJson || !needsAttention(news)) context.say(news, () => line(news, display));
    else context.parts.err(line(news, display));
  };
}

/** As teams of agents have it: `~/.dibs/teams/{project}/tasks/tasks.json`. Its directory is made; a file that is named has one. */
async function fileFor({ args, parts }: Context, project: string): Promise<string> {
  const [named] = args;
  if (named !== undefined) return resolve(parts.cwd, named);
  const file = join(parts.env.HOME || homedir(), ".dibs", "teams", project, "tasks", "tasks.json");
  await parts.makeRoomFor(file);
  return file;
}

async function optionsFor(context: Context, dibs: Dibs): Promise<SyncOptions> {
  const { project } = await dibs.projects.get({});
  return {
    dibs,
    project: project.id,
    file: await fileFor(context, project.id),
    machine: await context.parts.machine(),
    tell: tellerFor(context),
    ...given({
      dialect: context.text("dialect") as SyncOptions["dialect"],
      removed: context.text("removed") as SyncOptions["removed"],
    }),
  };
}

async function watch(context: Context): Promise<void> {
  const { stopping } = context.parts;
  const options = await optionsFor(context, await context.lastingDibs());
  const running = await startSync(options);
  if (!context.isJson) context.parts.err(`Syncing ${plain(options.file)}. Stop with Ctrl-C.\n`);
  const stop = () => void running.stop().catch(() => undefined);
  if (stopping.aborted) stop();
  stopping.addEventListener("abort", stop);
  await running.ended;
}

const sync: SingleCommand["run"] = async (context) => {
  if (context.on("once") && context.on("watch")) throw usageError("--once and --watch cannot be combined.");
  if (!context.on("once")) return watch(context);
  return (await syncOnce(await optionsFor(context, await context.dibs()))) ? 0 : attention;
};

export const commands: Record<string, SingleCommand> = {
  sync: {
    name: "sync",
    createsStore: true,
    args: "[file]",
    summary: "Sync a tasks.json with the project, both ways",
    details:
      "Default file: ~/.dibs/teams/{project}/tasks/tasks.json. Only the store grants claims; for text the last edit wins.",
    flags: {
      dialect: {
        value: "<name>",
        choices: dialects,
        former: formerDialects,
        help: "field names of new tasks; default: those of the file, else camel",
      },
      once: { help: "exit after one exchange" },
      watch: { help: "run until stopped; the default" },
      removed: {
        value: "<what>",
        choices: ["keep", "cancel"],
        help: "a task removed from the file is written back (default) or cancelled",
      },
    },
    exits: { 1: "with --once: a conflict, a refused edit, or a removed task" },
    examples: ["dibs sync tasks.json", "dibs sync tasks.json --once --json"],
    run: sync,
  },
};
