// A plan becomes tasks: read, previewed, then all of it or nothing.

import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import {
  type Plan,
  previewPlan,
  type ReadOptions,
  type ReadResult,
  readPlan,
  toBatch,
  toNamedBatch,
  withTitlesOf,
} from "../../../bridges/plan/index.js";
import type { Dibs } from "../../../client/client.js";
import { shellWord } from "../../../client/view/shell.js";
import { stateAndStage } from "../../../client/view/words.js";
import { DibsError } from "../../../contract/error.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import { nothingToDo, type SingleCommand } from "../command.js";
import { whereFor } from "../connection.js";
import type { Context } from "../context.js";
import { textOf } from "../files.js";
import { columnsOf, type Display } from "../print/display.js";
import { type Difference, differenceText, hasEffect } from "../print/plan-difference.js";
import { table } from "../print/table.js";
import { plain, wrap } from "../print/text.js";
import { usageError } from "../spec.js";

type NamedBatch = ReturnType<typeof toNamedBatch>;

const formats = ["auto", "json", "markdown", "text"] as const;
/** References that may be ids of existing tasks are looked up, so many at most. */
const lookUpMax = 200;

/** As much as a batch may have. */
const planBytesMax = 16 * 1024 * 1024;

const plan: SingleCommand["run"] = async (context) => {
  const file = context.args[0]!;
  const read = await readWithIds(context, await sourceOf(context, file), {
    format: (context.text("format") ?? "auto") as (typeof formats)[number],
    ...(file === "-" ? {} : { fileName: file }),
  });
  if (!read.ok) return tellProblems(context, file, read.problems);
  const parentId = context.text("parent");
  if (parentId !== undefined) await (await context.existingDibs()).tasks.get({ taskId: parentId });
  const planned = under(read.plan, parentId);
  const name = await nameOf(context, file);
  const load = name === undefined ? loadOnce(context, planned) : loadNamed(context, planned, name);
  return load.catch((error: unknown) => {
    throw withLine(
      error,
      file,
      planned,
      name === undefined ? toBatch(planned) : toNamedBatch(planned, { name }),
    );
  });
};

/** What only the store can reject, such as an unknown resource, with the line of its task. */
function withLine(error: unknown, file: string, plan: Plan, { tasks }: NamedBatch): unknown {
  if (!(error instanceof DibsError)) return error;
  const [issue] = Array.isArray(error.details.issues) ? error.details.issues : [];
  const path = String(error.details.path ?? issue?.path ?? "");
  const index = /^tasks\[(\d+)\]\./.exec(path)?.[1] ?? (path === "uses" ? "0" : undefined);
  const key = index === undefined ? undefined : tasks[Number(index)]?.key;
  const line = plan.tasks.find((task) => task.key === key)?.line;
  if (key === undefined || line === undefined) return error;
  const { code, message, hint, details } = error;
  return new DibsError(code, `${plain(file)}:${line}: ${message}`, { hint, details: { ...details, line } });
}

/** The plan's path in its repository, else below the directory of the store: what others who load it call it, too. */
async function nameOf(context: Context, file: string): Promise<string | undefined> {
  const given = context.text("name");
  if (given !== undefined) {
    if (given.trim() === "") throw usageError("--name must not be empty.");
    return given;
  }
  if (file === "-") return undefined;
  const { cwd, files } = context.parts;
  const root = await files.rootOf(cwd);
  const path = relative(root, resolve(cwd, file));
  // The store of this directory is in .dibs, even if this call creates it.
  const store = (await whereFor(context, context.parts)).path;
  const isOwn = store !== undefined && dirname(store) === join(root, ".dibs");
  const isRoot =
    isOwn || (await files.exists(join(root, ".git"))) || (await files.exists(join(root, ".dibs")));
  if (!isRoot || isAbsolute(path) || path.split(sep)[0] === "..") return undefined;
  const parent = context.text("parent");
  const name = path.split(sep).join("/");
  return parent === undefined ? name : `${name}#${parent}`;
}

const nameless =
  "This plan has no name: loading it again creates all of its tasks again. To update them instead, give it one: --name <name>.";

/** Creates everything, whatever was loaded before. */
async function loadOnce(context: Context, read: Plan): Promise<number> {
  if (context.on("prune"))
    throw usageError(
      "--prune needs to know the plan's earlier tasks.",
      "Give the plan a name: --name <name>",
    );
  const batch = toBatch(read);
  if (batch.tasks.length === 0) return sayAllDone(context, read);
  const planned = context.isJson ? read : { ...read, notes: [...read.notes, nameless] };
  if (!context.on("yes")) {
    const preview = previewPlan(planned, { width: columnsOf(context.parts) });
    context.say({ plan: planned, preview }, (display) => previewText(planned, preview.tree, display));
    if (context.isJson || !(await agrees(context, adding(batch.tasks.length)))) return 0;
  } else tellNotes(context, planned);
  const answer = await (await context.dibs()).tasks.batch(batch);
  context.say(answer, (display) => added(planned, answer, display));
  return 0;
}

/** Updates what an earlier load created; the store says what that means, before and after. */
async function loadNamed(context: Context, planned: Plan, name: string): Promise<number> {
  const batch = toNamedBatch(planned, { name, prune: context.on("prune") });
  const isAllDone = ({ isNew, counts }: Difference) => isNew && counts.new === 0;
  if (!context.on("yes")) {
    const difference = await previewed(context, batch);
    if (isAllDone(difference)) return sayAllDone(context, planned);
    if (!(await isWanted(context, planned, difference))) return 0;
  } else tellNotes(context, planned);
  const answer = await (await context.dibs()).tasks.batch(batch);
  const difference = answer.plan!;
  if (isAllDone(difference)) return sayAllDone(context, planned);
  context.say(answer, (display) =>
    difference.isNew ? added(planned, answer, display) : differenceText(difference, display),
  );
  return 0;
}

/** Without a store all is new, and a preview creates none. */
async function previewed(context: Context, batch: NamedBatch): Promise<Difference> {
  if (await context.hasStore()) {
    const { plan: difference } = await (await context.dibs()).tasks.batch({ ...batch, dryRun: true });
    return difference!;
  }
  const none = { changed: 0, unchanged: 0, untouched: 0, checked: 0, gone: 0, cancelled: 0 };
  const counts = { new: batch.tasks.filter(({ done }) => !done).length, ...none };
  return { name: batch.plan!, isNew: true, dryRun: true, counts, changes: [] };
}

async function isWanted(context: Context, planned: Plan, difference: Difference): Promise<boolean> {
  const { isNew, counts } = difference;
  const preview = previewPlan(planned, { width: columnsOf(context.parts) });
  const isThere = isNew && (await context.hasStore());
  const alike = isThere ? await openWithSameTitles(await context.dibs(), planned) : [];
  context.say({ plan: planned, preview, difference, sameTitles: alike }, (display) =>
    isNew
      ? [previewText(planned, preview.tree, display), ...warnings(alike, display)].join("\n")
      : [
          differenceText(difference, display),
          ...noteLines(planned, display.columns).map((line) => display.paint(line, "dim")),
        ].join("\n"),
  );
  if (context.isJson) return false;
  if (counts.gone > 0 && !context.on("prune"))
    context.parts.out("To cancel those that are gone and were never attempted, add --prune.\n");
  return hasEffect(difference) && agrees(context, isNew ? adding(counts.new) : applying);
}

function sayAllDone(context: Context, plan: Plan): number {
  context.say({ plan, preview: previewPlan(plan) }, () => "Everything in this plan is done.");
  return nothingToDo;
}

/** A plan that was loaded before Dibs remembered plans is new, but its tasks are there. */
async function openWithSameTitles(dibs: Dibs, plan: Plan): Promise<string[]> {
  const state = ["queued", "claimed", "running", "awaiting_response", "submitted"] as const;
  const { tasks } = await dibs.tasks.list({ state: [...state], limit: 1000 });
  return withTitlesOf(plan, tasks).map(({ id }) => id);
}

function warnings(alike: readonly string[], { columns }: Display): string[] {
  if (alike.length === 0) return [];
  const which = `${alike.slice(0, 5).map(plain).join(", ")}${alike.length > 5 ? ", …" : ""}`;
  const many = alike.length === 1 ? "1 open task has a title" : `${alike.length} open tasks have titles`;
  return wrap(`warning: ${many} of this plan already (${which}). Loading it creates them again.`, columns);
}

async function sourceOf(context: Context, name: string): Promise<string> {
  if (name === "-") return context.parts.readInput();
  return textOf(context.parts, resolve(context.parts.cwd, name), planBytesMax, name);
}

/** Reads twice where something may be the id of a task that exists: the reader cannot wait for the store. */
async function readWithIds(context: Context, source: string, options: ReadOptions): Promise<ReadResult> {
  const asked = new Set<string>();
  const notYet = (id: string) => {
    asked.add(id);
    return undefined;
  };
  const first = readPlan(source, { ...options, exists: notYet });
  if (asked.size === 0 || !(await context.hasStore())) return first;
  const looked = [...asked].slice(0, lookUpMax);
  const known = await existing(await context.dibs(), looked);
  const answers = new Map(looked.map((id) => [id, known.has(id)]));
  return readPlan(source, { ...options, exists: (id) => answers.get(id) });
}

async function existing(dibs: Dibs, ids: readonly string[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const taskId of ids) {
    await dibs.tasks.get({ taskId }).then(
      () => known.add(taskId),
      (error: unknown) => {
        // A title is not even a valid id.
        const isUnknown =
          error instanceof DibsError && ["TASK_NOT_FOUND", "VALIDATION_FAILED"].includes(error.code);
        if (!isUnknown) throw error;
      },
    );
  }
  return known;
}

function under(plan: Plan, parentId: string | undefined): Plan {
  if (parentId === undefined) return plan;
  const tasks = plan.tasks.map((task) =>
    task.parentKey === undefined && task.parentId === undefined ? { ...task, parentId } : task,
  );
  return { ...plan, tasks };
}

type Problems = Extract<ReadResult, { ok: false }>["problems"];

function tellProblems(context: Context, name: string, problems: Problems): number {
  const file = name === "-" ? "standard input" : plain(name);
  const message = `${file} cannot be read as a plan: ${problems.length === 1 ? "1 problem" : `${problems.length} problems`}.`;
  const error = new DibsError("VALIDATION_FAILED", message, { details: { problems } });
  if (context.isJson) throw error;
  const where = name === "-" ? "-" : plain(name);
  const lines = problems.flatMap(({ line, column, message, hint }) => [
    `${where}:${line}:${column}: ${plain(message)}`,
    ...(hint === undefined ? [] : [`    ${plain(hint)}`]),
  ]);
  context.parts.err([...lines, `${message} Nothing was added.`, ""].join("\n"));
  return 2;
}

const noteLines = ({ notes }: Plan, columns: number) =>
  notes.flatMap((note) => wrap(`note: ${plain(note)}`, columns));

function previewText(plan: Plan, tree: readonly string[], display: Display): string {
  return [...tree, ...noteLines(plan, display.columns).map((note) => display.paint(note, "dim"))].join("\n");
}

/** Without a preview nobody has read them; what is printed is the answer. */
function tellNotes({ parts }: Context, plan: Plan): void {
  for (const line of noteLines(plan, columnsOf(parts))) parts.err(`${line}\n`);
}

/** What is asked, and what was not done yet. */
interface Question {
  ask: string;
  notYet: string;
  no: string;
}

function adding(count: number): Question {
  const tasks = count === 1 ? "this task" : `these ${count} tasks`;
  return {
    ask: `Add ${tasks}?`,
    notYet: `Nothing was added yet. To add ${tasks}:`,
    no: "Nothing was added.",
  };
}

const applying: Question = {
  ask: "Apply these changes?",
  notYet: "Nothing was changed yet. To apply this:",
  no: "Nothing was changed.",
};

async function agrees(context: Context, { ask, notYet, no }: Question): Promise<boolean> {
  const { parts, args } = context;
  if (!parts.stdin.isTerminal || !parts.stdout.isTerminal || args[0] === "-") {
    const again = ["dibs plan", shellWord(plain(args[0]!)), ...context.flagsAgain("yes"), "--yes"].join(" ");
    const fits = notYet.length + 1 + again.length <= columnsOf(parts);
    parts.out(`${notYet}${fits ? " " : "\n  "}${again}\n`);
    return false;
  }
  const answer = await parts.askUser(`${ask} [y/N] `);
  if (answer !== null && /^y(es)?$/i.test(answer.trim())) return true;
  parts.out(`${no}\n`);
  return false;
}

function added(
  plan: Plan,
  { tasks, ids }: OutputOf<OperationNamed<"tasks.batch">>,
  display: Display,
): string {
  const keys = new Map(Object.entries(ids).map(([key, id]) => [id, key]));
  // Keys that the reader made up say nothing.
  const isMadeUp = plan.tasks.every(({ key }) => /^t\d+$/.test(key));
  const rows = table(
    tasks,
    [
      { head: "ID", of: ({ id }) => plain(id), whole: true },
      { head: "IN THE PLAN", of: ({ id }) => (isMadeUp ? "" : plain(keys.get(id))), max: 20 },
      { head: "TASK", of: ({ title }) => plain(title), grows: true },
      { head: "STATE", of: (task) => stateAndStage(task, display.now) },
    ],
    display,
  );
  return `${rows}added ${tasks.length === 1 ? "1 task" : `${tasks.length} tasks`}`;
}

export const commands: Record<string, SingleCommand> = {
  plan: {
    name: "plan",
    createsStore: true,
    args: "<file|->",
    summary: "Create tasks from a plan, all of them or none; without --yes only print a preview",
    details:
      "Reads JSON, Markdown lists (nesting is hierarchy) and blocks of TASK:, DESCRIPTION:, PRIORITY:, FILES:, DEPENDS_ON:, USES:. At a terminal it asks for confirmation.\n" +
      "Unknown, ambiguous and duplicate titles and cycles are reported with their lines, and nothing is added. In JSON and Markdown, subtasks of different parents can share a title, unless another task depends on it by that title.\n" +
      "In a Markdown list with checkboxes, a bullet without one is text of the task above it; on the level of tasks it is a task.\n" +
      "A plan that is loaded again updates its tasks: new ones are added, queued ones are changed, running and ended ones are kept. The name of a plan is its path in the repository; standard input needs --name.",
    flags: {
      yes: { short: "y", help: "add and change tasks without asking" },
      name: { value: "<name>", help: "name of the plan; default: its path in the repository" },
      prune: { help: "cancel tasks that were removed from the plan and never attempted" },
      format: { value: "<format>", choices: formats, help: "format; default: detected" },
      parent: { value: "<id>", help: "create the tasks as subtasks of this task" },
    },
    exits: {
      1: "an id is taken, or the parent has ended",
      5: "all tasks of the plan are done",
    },
    examples: [
      "dibs plan plan.md",
      "dibs plan plan.md --yes",
      "dibs plan plan.md --prune",
      "my-planner | dibs plan - --name release --yes --json",
    ],
    run: plan,
  },
};
