// The checks of a project: commands of its settings that must exit 0 on the tree that would land.

import { shellWord } from "../../../client/view/shell.js";
import { exactDuration } from "../../../contract/duration.js";
import { DibsError } from "../../../contract/error.js";
import type { WireProject } from "../../../contract/shapes.js";
import { type Check, type CheckRun, runCheck } from "../../../runner/check-process.js";
import type { CommandGroup } from "../command.js";
import { type Context, given } from "../context.js";
import type { Display } from "../print/display.js";
import { jsonLine } from "../print/json.js";
import { table } from "../print/table.js";
import { plain } from "../print/text.js";
import { runTime } from "../print/time.js";
import { repositoryRoot } from "../repository.js";
import { usageError } from "../spec.js";

export const commandLine = (run: readonly string[]) => run.map(shellWord).join(" ");

const usage = "Usage: dibs check add test -- npm test";

async function projectOf(context: Context): Promise<WireProject> {
  const dibs = await context.dibs();
  return (await dibs.projects.get(given({ id: context.text("project") }))).project;
}

async function saved(context: Context, checks: Check[]) {
  const dibs = await context.dibs();
  return dibs.projects.update(given({ id: context.text("project"), settings: { land: { checks } } }));
}

function notFound(name: string, project: string): DibsError {
  return new DibsError("NOT_FOUND", `Check ${name} not found in project ${project}.`, {
    hint: "Run: dibs check list",
  });
}

/** The name before `--`, the command after it. */
function typedCheck(context: Context): Pick<Check, "name" | "run"> {
  const [name = "", ...more] = context.plainArgs;
  const run = context.args.slice(context.plainArgs.length);
  if (more.length > 0 && run.length === 0)
    throw usageError(
      "The command goes after --.",
      `Run: dibs check add ${shellWord(name)} -- ${commandLine(more)}`,
    );
  if (more.length > 0) throw usageError(`Unexpected argument '${more[0]}'.`, usage);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
    throw usageError(
      `'${name}' cannot be the name of a check: it has up to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit.`,
      usage,
    );
  }
  if (run.length === 0 || run[0] === "") throw usageError("Missing command.", usage);
  return { name, run };
}

async function add(context: Context): Promise<void> {
  const typed = typedCheck(context);
  const timeoutMs = context.duration("timeout");
  const check = { ...typed, ...given({ timeoutMs, paths: context.texts("path") }) } as Check;
  const { id, settings } = await projectOf(context);
  const { checks } = settings.land;
  const at = checks.findIndex(({ name }) => name === check.name);
  const isNew = at < 0;
  const answer = await saved(context, isNew ? [...checks, check] : checks.with(at, check)).catch((error) => {
    throw inWords(error, isNew ? checks.length : at);
  });
  context.say({ ...answer, replaced: !isNew }, () =>
    [
      `${isNew ? "added" : "replaced"} check ${check.name} of project ${plain(id)}: ${plain(commandLine(check.run))}`,
      "The command is in the store's settings. What it runs (such as package scripts) is in the repository, where agents can change it.",
      ...(settings.land.target === null
        ? ["Landing is off, so nothing runs it yet. Run: dibs init --land <branch>"]
        : []),
    ].join("\n"),
  );
}

/** A refusal of the settings, about what was typed. */
function inWords(error: unknown, at: number): unknown {
  if (!(error instanceof DibsError) || error.code !== "VALIDATION_FAILED") return error;
  const [issue] = (Array.isArray(error.details.issues) ? error.details.issues : []) as { path: string }[];
  const path = issue?.path.replace(/^settings\./, "") ?? "";
  const own = `land.checks.${at}.`;
  const [field = ""] = path.startsWith(own) ? path.slice(own.length).split(".") : [path];
  if (field === "timeoutMs")
    return usageError("--timeout must be longer than 0.", "For example: --timeout 10m");
  if (field === "run")
    return usageError(
      "The command has too many words, or one that is empty or too long.",
      "Put it into a script.",
    );
  if (field === "paths") return usageError("There are too many values of --path, or one is too long.");
  if (field === "land.checks")
    return usageError("The project has as many checks as it can have.", "Run: dibs check remove <name>");
  return error;
}

function checkTable(checks: readonly Check[], display: Display): string {
  return table(
    checks,
    [
      { head: "CHECK", of: ({ name }) => plain(name), whole: true },
      { head: "TIMEOUT", of: ({ timeoutMs }) => exactDuration(timeoutMs) },
      { head: "PATHS", of: ({ paths }) => plain(paths.join(", ")), max: 24 },
      { head: "COMMAND", of: ({ run }) => plain(commandLine(run)), grows: true },
    ],
    display,
  );
}

const none = "No checks: landing only merges. Run: dibs check add test -- npm test";

async function list(context: Context): Promise<void> {
  const { id, settings } = await projectOf(context);
  const { checks } = settings.land;
  context.say({ success: true, project: id, checks }, (display) =>
    checks.length === 0 ? none : checkTable(checks, display),
  );
}

async function remove(context: Context): Promise<void> {
  const [name = ""] = context.args;
  const { id, settings } = await projectOf(context);
  const left = settings.land.checks.filter((check) => check.name !== name);
  if (left.length === settings.land.checks.length) throw notFound(name, id);
  const answer = await saved(context, left);
  context.say(answer, () =>
    [`removed check ${plain(name)} of project ${plain(id)}`, ...(left.length === 0 ? [none] : [])].join("\n"),
  );
}

/** In the order of the settings; those that are named, or all. */
function chosen(checks: readonly Check[], names: readonly string[], project: string): Check[] {
  for (const name of names) if (!checks.some((check) => check.name === name)) throw notFound(name, project);
  return checks.filter(({ name }) => names.length === 0 || names.includes(name));
}

async function run(context: Context): Promise<number> {
  const { parts, isJson } = context;
  const { id, settings } = await projectOf(context);
  const checks = chosen(settings.land.checks, context.args, id);
  const root = await repositoryRoot(parts.cwd);
  if (root === null)
    throw new DibsError("VALIDATION_FAILED", "Checks run in a git repository.", { hint: "Run: git init" });
  // Programs read the results only.
  const show = isJson ? parts.err : parts.out;
  const { stopping: signal } = parts;
  const results: CheckRun[] = [];
  let isLineOpen = false;
  const onOutput = (text: string) => {
    isLineOpen = !text.endsWith("\n");
    show(text);
  };
  for (const check of checks) {
    if (signal.aborted) break;
    show(`$ ${plain(commandLine(check.run))}\n`);
    results.push(await runCheck(check, { root, env: parts.env, onOutput, signal }));
    if (isLineOpen) onOutput("\n");
  }
  const isGreen = results.length === checks.length && results.every(({ state }) => state === "passed");
  if (isJson) parts.out(jsonLine({ success: isGreen, project: id, root, results }));
  else context.say(null, (display) => resultLines(checks, results, display));
  return isGreen ? 0 : 1;
}

const endOf = ({ state, exitCode, error }: CheckRun) => {
  if (error !== undefined) return `cannot start: ${error}`;
  return state === "failed" ? (exitCode === null ? "ended by a signal" : `exit code ${exitCode}`) : "";
};

function resultLines(checks: readonly Check[], results: readonly CheckRun[], display: Display): string {
  if (checks.length === 0) return none;
  const width = Math.max(...checks.map(({ name }) => name.length));
  return checks
    .map(({ name }, at) => {
      const result = results[at];
      if (!result) return `${"not run".padEnd(9)}  ${name}`;
      const word = display.paint(result.state.padEnd(9), result.state === "passed" ? "green" : "red");
      return `${word}  ${name.padEnd(width)}  ${runTime(result.durationMs)}  ${plain(endOf(result))}`.trimEnd();
    })
    .join("\n");
}

export const commands: Record<string, CommandGroup> = {
  check: {
    name: "check",
    summary: "Add, list, remove and run the checks of landing",
    details:
      "A check is a command that must exit 0 on the tree that would land. Checks are settings of the project; what they run is in the repository.",
    parts: {
      add: {
        name: "check add",
        args: "<check> <command...>",
        usage: "<check> [flags] -- <command>",
        summary: "add a check, or replace the one of this name",
        details: "The command runs without a shell, and without tokens and secrets in its environment.",
        flags: {
          timeout: { value: "<duration>", help: "time limit of a run; default 10m" },
          path: {
            value: "<glob>",
            many: true,
            help: "run it only for changes that touch such a path; repeatable",
          },
        },
        examples: [
          "dibs check add test -- npm test",
          "dibs check add site --timeout 20m --path 'docs/**' -- npm run site",
        ],
        run: add,
      },
      list: {
        name: "check list",
        reads: true,
        summary: "list the checks",
        examples: ["dibs check list"],
        run: list,
      },
      remove: {
        name: "check remove",
        args: "<check>",
        summary: "remove a check",
        examples: ["dibs check remove test"],
        run: remove,
      },
      run: {
        name: "check run",
        reads: true,
        args: "[check...]",
        summary: "run checks in the current working tree, one after the other",
        details:
          "They run as the lander runs them, in the root of the repository: without a shell, and without tokens and secrets in their environment. --path has no effect here. With --json their output is on standard error.",
        exits: { 1: "a check failed, timed out or could not start" },
        examples: ["dibs check run", "dibs check run test"],
        run,
      },
    },
  },
};
