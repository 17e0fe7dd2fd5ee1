// A plan becomes tasks: read, previewed, then all of it or nothing.

import { resolve } from "node:path";
import {
  type Plan,
  previewPlan,
  type ReadOptions,
  type ReadResult,
  readPlan,
  toBatch,
} from "../../../bridges/plan/index.js";
import type { Dibs } from "../../../client/client.js";
import { stateWord } from "../../../client/view/words.js";
import { DibsError } from "../../../contract/error.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import { nothingToDo, type SingleCommand } from "../command.js";
import type { Context } from "../context.js";
import { textOf } from "../files.js";
import { columnsOf, type Look } from "../print/look.js";
import { table } from "../print/table.js";
import { plain, wrap } from "../print/text.js";

const formats = ["auto", "json", "markdown", "text"] as const;
/** References that may be ids of existing tasks are looked up, so many at most. */
const lookUpMax = 200;

/** As much as a batch may have. */
const planBytesMax = 16 * 1024 * 1024;

const plan: SingleCommand["run"] = async (context) => {
  const name = context.args[0]!;
  const read = await readWithIds(context, await sourceOf(context, name), {
    format: (context.text("format") ?? "auto") as (typeof formats)[number],
    ...(name === "-" ? {} : { fileName: name }),
  });
  if (!read.ok) return tellProblems(context, name, read.problems);
  const parentId = context.text("parent");
  if (parentId !== undefined) await (await context.dibs()).tasks.get({ taskId: parentId });
  const planned = under(read.plan, parentId);
  const batch = toBatch(planned);
  if (batch.tasks.length === 0) {
    context.say({ plan: planned, preview: previewPlan(planned) }, () => "Everything in this plan is done.");
    return nothingToDo;
  }
  if (!context.on("yes")) {
    const preview = previewPlan(planned, { width: columnsOf(context.parts) });
    context.say({ plan: planned, preview }, (look) => previewText(planned, preview.tree, look));
    if (context.isJson) return 0;
    if (!(await agrees(context, batch.tasks.length))) return 0;
  } else tellNotes(context, planned);
  const answer = await (await context.dibs()).tasks.batch(batch);
  context.say(answer, (look) => added(planned, answer, look));
  return 0;
};

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
  if (asked.size === 0) return first;
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

function previewText(plan: Plan, tree: readonly string[], look: Look): string {
  return [...tree, ...noteLines(plan, look.columns).map((note) => look.paint(note, "dim"))].join("\n");
}

/** Without a preview nobody has read them; what is printed is the answer. */
function tellNotes({ parts }: Context, plan: Plan): void {
  for (const line of noteLines(plan, columnsOf(parts))) parts.err(`${line}\n`);
}

async function agrees(context: Context, count: number): Promise<boolean> {
  const { parts, args } = context;
  const tasks = count === 1 ? "this task" : `these ${count} tasks`;
  if (!parts.stdin.isTerminal || !parts.stdout.isTerminal || args[0] === "-") {
    const again = args[0] === "-" ? "dibs plan - --yes" : `dibs plan ${plain(args[0])} --yes`;
    parts.out(`Nothing was added yet. To add ${tasks}: ${again}\n`);
    return false;
  }
  const answer = await parts.askUser(`Add ${tasks}? [y/N] `);
  if (answer !== null && /^y(es)?$/i.test(answer.trim())) return true;
  parts.out("Nothing was added.\n");
  return false;
}

function added(plan: Plan, { tasks, ids }: OutputOf<OperationNamed<"tasks.batch">>, look: Look): string {
  const keys = new Map(Object.entries(ids).map(([key, id]) => [id, key]));
  // Keys that the reader made up say nothing.
  const isMadeUp = plan.tasks.every(({ key }) => /^t\d+$/.test(key));
  const rows = table(
    tasks,
    [
      { head: "ID", of: ({ id }) => plain(id), whole: true },
      { head: "IN THE PLAN", of: ({ id }) => (isMadeUp ? "" : plain(keys.get(id))), max: 20 },
      { head: "TASK", of: ({ title }) => plain(title), grows: true },
      { head: "STATE", of: (task) => stateWord(task, look.now) },
    ],
    look,
  );
  return `${rows}added ${tasks.length === 1 ? "1 task" : `${tasks.length} tasks`}`;
}

export const commands: Record<string, SingleCommand> = {
  plan: {
    name: "plan",
    args: "<file|->",
    summary: "Turn a plan into tasks, all of them or none; without --yes only show what would happen",
    details:
      "Reads JSON, Markdown lists (nesting is hierarchy) and blocks of TASK:, DESCRIPTION:, PRIORITY:, FILES:, DEPENDS_ON:. At a terminal it asks before it adds.\n" +
      "Unknown and ambiguous titles, titles that come twice and cycles are told with their lines, and nothing is added. In JSON and Markdown parts of different parents may share a title, unless something waits for it by that title.\n" +
      "In a Markdown list with boxes, a bullet without one below a task is text for its agent; on the level of tasks it is a task too.",
    flags: {
      yes: { short: "y", help: "add the tasks" },
      format: { value: "<format>", choices: formats, help: "default: found out by itself" },
      parent: { value: "<id>", help: "make them parts of this task" },
    },
    exits: {
      1: "an id is taken, or what they are to be parts of is over",
      5: "everything in it is done already",
    },
    examples: ["dibs plan plan.md", "dibs plan plan.md --yes", "my-planner | dibs plan - --yes --json"],
    run: plan,
  },
};
