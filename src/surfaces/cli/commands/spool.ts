// `spool`: shell agents that move files, joined to the store. The bridge does it; here is what people see of it.

import { resolve } from "node:path";
import { Spool, type SpoolEvent } from "../../../bridges/spool/index.js";
import { type Command, nothingToDo, type SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import { type Display, displayOf, type Style } from "../print/display.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

const styles: Partial<Record<SpoolEvent["type"], Style>> = {
  completed: "green",
  failed: "red",
  stale: "yellow",
  lost: "red",
  released: "yellow",
  refused: "red",
};

/** One line, beginning with the task or the file it is about. */
function lineOf(event: SpoolEvent, display: Display): string {
  const said = display.paint(event.type, styles[event.type]);
  switch (event.type) {
    case "trouble":
      return `dibs: ${plain(event.message)}`;
    case "refused":
      return `${plain(event.path)} ${said}: it ${plain(event.reason)}`;
    default:
      return `${plain(event.taskId)} ${said}${detailsOf(event)}`;
  }
}

type OnTask = Exclude<SpoolEvent, { type: "trouble" } | { type: "refused" }>;

function detailsOf(event: OnTask): string {
  switch (event.type) {
    case "created":
      return ` from ${plain(event.path)}: ${plain(event.title)}`;
    case "placed":
      return ` in to_execute/${plain(event.name)}: ${plain(event.title)}`;
    case "taken":
      return event.pid === null ? " by a process without an id" : ` by process ${event.pid}`;
    case "completed":
      return "";
    case "failed":
      return `: ${plain(event.error).slice(0, 200)}${event.willRetry ? "; it is tried again" : ""}`;
    case "stale":
      return `: ${plain(event.reason)}; back in the queue${whereTo(event.path)}`;
    case "lost":
      return `: ${plain(event.reason)}${whereTo(event.path)}`;
    case "released":
    case "waiting":
      return `: ${plain(event.reason)}`;
  }
}

const whereTo = (path: string | null) => (path === null ? "" : ` (${plain(path)})`);

function needed(context: Context, flag: string, hint: string): string {
  const text = context.text(flag);
  if (text) return text;
  throw usageError(`Missing --${flag}.`, hint);
}

const spool: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const agent = needed(context, "agent", "Usage: dibs spool --agent claude --dir ai_comms");
  const directory = needed(context, "dir", "Usage: dibs spool --agent claude --dir ai_comms");
  if (context.on("once") && context.on("until-empty")) {
    throw usageError("--once and --until-empty cannot be combined.");
  }
  const locks = context.text("locks");
  const { hostId, isAlive, processStart } = await parts.machine();
  const bridge = new Spool({
    dibs: await context.lastingDibs(),
    agent,
    directory: resolve(parts.cwd, directory),
    machine: { hostId, isAlive, processStart },
    signal: parts.stopping,
    once: context.on("once"),
    untilEmpty: context.on("until-empty"),
    ...given({
      project: context.text("project") ?? (parts.env.DIBS_PROJECT || undefined),
      hold: context.number("hold"),
      lockDirectory: locks === undefined ? undefined : resolve(parts.cwd, locks),
    }),
    onEvent: (event) => {
      if (event.type !== "trouble" || context.isJson) context.say(event, (display) => lineOf(event, display));
      else parts.err(`${lineOf(event, displayOf(parts))}\n`);
    },
  });
  await bridge.open();
  const { isAny } = await bridge.run();
  return context.on("once") && !isAny ? nothingToDo : 0;
};

export const commands: Record<string, Command> = {
  spool: {
    name: "spool",
    createsStore: true,
    summary: "Connect shell agents that work by moving files",
    details:
      "A proxy for agents that use ai_comms/<agent>/tasks: it claims tasks, renews their leases and writes them to to_execute/<id>/<id>.md.\n" +
      "mv to in_progress/<id>/<id>.<pid>.md starts a task. mv to completed/<id>/ with a result file completes it; an error file fails it. If the process dies, the file moves to stale/ and the task returns to the queue. A new file in to_execute becomes a task.\n" +
      "When the spool stops, tasks that were not started return to the queue; started ones keep their lease until it expires. See docs/guides/spool.md.",
    flags: {
      agent: { value: "<name>", help: "agent: name of its directory and type of its sessions" },
      dir: { value: "<directory>", help: "directory of the agents, such as ai_comms; created if missing" },
      hold: { value: "<n>", help: "tasks to hold in to_execute; default 4" },
      once: { help: "poll once and exit; leases stay for the next call" },
      "until-empty": { help: "exit when no task is held and none is ready" },
      locks: { value: "<directory>", help: "also write the session lock there, such as ~/.claude/locks" },
    },
    exits: {
      0: "stopped, or finished",
      1: "another spool uses the directory",
      5: "with --once: nothing to do",
    },
    examples: [
      "dibs spool --agent claude --dir ai_comms",
      "dibs spool --agent claude --dir ai_comms --hold 8 --until-empty",
    ],
    run: spool,
  },
};
