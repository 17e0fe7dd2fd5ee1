// One command for many tasks: those that are named, done at once, or those that a filter finds, after a preview. Each task is done
// or refused by itself (tasks.bulk); `--json` prints that operation's answer, added up over its calls.

import type { Dibs } from "../../client/client.js";
import { shellWord } from "../../client/view/shell.js";
import { exitCode } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import type { InputOf, OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { BulkAction } from "../../contract/tasks/bulk.js";
import { nothingToDo } from "./command.js";
import type { Context } from "./context.js";
import type { Found } from "./find.js";
import type { Display } from "./print/display.js";
import { taskTable } from "./print/task.js";
import { plain } from "./print/text.js";
import { type FlagSpec, usageError } from "./spec.js";

type Bulk = OperationNamed<"tasks.bulk">;
type Answer = OutputOf<Bulk>;
/** What is done to each. */
export type BulkChange = Pick<InputOf<Bulk>, "action" | "changes" | "cascade" | "reason">;
/** Does it to these, at most as many as a call takes; or only says what would be refused. */
type Act = (taskIds: string[], dryRun: boolean) => Promise<Answer>;

export const manyFlags: Record<string, FlagSpec> = {
  filter: {
    value: "<filter>",
    help: 'select tasks by a filter instead of ids, such as "is:failed label:ui age:>1h"',
  },
  yes: { short: "y", help: "with --filter: apply; without it, only a preview is printed" },
};

export const manyDetails =
  "A refused task does not stop the others. --filter prints a preview; add --yes to apply. " +
  "With several ids or --filter, --json prints {action, dryRun, matched, done, refusedCount, refused, taskIds}.";

export const manyExits = {
  3: "a task was not found; the others are done",
  5: "--filter matches no task to change",
};

const words: Record<BulkAction, { verb: string; able: string; past: (tasks: string) => string }> = {
  cancel: { verb: "cancel", able: "cancelled", past: (tasks) => `cancelled ${tasks}` },
  retry: { verb: "retry", able: "retried", past: (tasks) => `queued ${tasks} again` },
  release: { verb: "release", able: "released", past: (tasks) => `released ${tasks}` },
  update: { verb: "edit", able: "edited", past: (tasks) => `edited ${tasks}` },
};

/** Every refusal of a call is listed, where each task was named. */
const namedPerCall = 100;
const foundPerCall = 1000;
const rowsShown = 10;
const refusedShown = 20;

/** Whether a call is about several tasks, or about those of a filter. */
export const isMany = (context: Context) =>
  context.text("filter") !== undefined || context.on("yes") || context.args.length !== 1;

export async function doMany(
  context: Context,
  change: BulkChange,
  { ids = context.args, act }: { ids?: readonly string[]; act?: Act } = {},
): Promise<number> {
  const filter = context.text("filter");
  refuseMixture(context, change, ids);
  const dibs = await context.dibs();
  const call =
    act ?? ((taskIds, dryRun) => dibs.tasks.bulk({ ...change, taskIds, ...(dryRun && { dryRun }) }));
  if (filter === undefined) {
    return tellDone(context, await callAll(call, change, ids, { perCall: namedPerCall, dryRun: false }));
  }
  const { findTasks } = await import("./find.js");
  const found = await findTasks(dibs, filter, change.action, context.parts.now());
  const dryRun = !context.on("yes");
  const answer = await callAll(call, change, found.ids, { perCall: foundPerCall, dryRun });
  if (found.ids.length === 0) {
    const none = `No task to ${words[change.action].verb} matches.`;
    context.say(answer, () => [none, ...othersText(found, change.action)].join(" "));
    return nothingToDo;
  }
  if (!dryRun) return tellDone(context, answer);
  context.say(answer, (display) => preview(context, found, answer, display));
  return 0;
}

function refuseMixture(context: Context, { action, changes }: BulkChange, ids: readonly string[]): void {
  const filter = context.text("filter");
  const name = words[action].verb;
  if (filter === undefined && context.on("yes")) {
    throw usageError("--yes needs --filter.", `Run: dibs ${name} ${ids.map(shellWord).join(" ")}`);
  }
  if (filter === undefined && ids.length === 0) {
    throw usageError(
      "Missing <id>.",
      `Usage: dibs ${name} <id>... or dibs ${name} --filter "is:failed label:ui"`,
    );
  }
  if (filter !== undefined && ids.length > 0) {
    throw usageError("Ids and --filter cannot be combined.", `For one task: --filter id:${plain(ids[0])}`);
  }
  if (changes && Object.keys(changes).length === 0) {
    throw usageError("No changes given.", `Run: dibs edit --help`);
  }
}

/** Calls one after the other; their answers as one. */
async function callAll(
  act: Act,
  { action }: BulkChange,
  ids: readonly string[],
  { perCall, dryRun }: { perCall: number; dryRun: boolean },
): Promise<Answer> {
  const unique = [...new Set(ids)];
  const sum: Answer = {
    success: true,
    action,
    dryRun,
    matched: 0,
    done: 0,
    refusedCount: 0,
    refused: [],
    taskIds: unique,
    more: false,
    nextCursor: null,
  };
  for (let at = 0; at < unique.length; at += perCall) {
    const { matched, done, refusedCount, refused } = await act(unique.slice(at, at + perCall), dryRun);
    sum.matched += matched;
    sum.done += done;
    sum.refusedCount += refusedCount;
    sum.refused.push(...refused);
  }
  return sum;
}

function tellDone(context: Context, answer: Answer): number {
  const { action, done, refused, refusedCount, taskIds } = answer;
  const isRefused = new Set(refused.map(({ taskId }) => taskId));
  const named = taskIds.filter((id) => !isRefused.has(id)).map(plain);
  const list = named.length === done && done <= rowsShown ? `: ${named.join(", ")}` : "";
  context.say(answer, () => (done === 0 ? "" : `${words[action].past(tasksText(done))}${list}`));
  if (refusedCount === 0) return 0;
  if (!context.isJson) {
    const head = `${tasksText(refusedCount)} ${refusedCount === 1 ? "was" : "were"} refused:`;
    context.parts.err(`${[head, ...refusedLines(answer, namedPerCall)].join("\n")}\n`);
  }
  return refused.some(({ error }) => exitCode[error as keyof typeof exitCode] === 3) ? 3 : 1;
}

function preview(context: Context, found: Found, answer: Answer, display: Display): string {
  const { action, matched, refusedCount } = answer;
  const { verb } = words[action];
  const head = `Would ${verb} ${tasksText(matched - refusedCount)}`;
  const refused =
    refusedCount === 0
      ? [`${head}.`]
      : [`${head}; ${refusedCount} would be refused:`, ...refusedLines(answer, refusedShown)];
  const rows = taskTable(found.rows.slice(0, rowsShown), display).trimEnd();
  const left = found.ids.length - Math.min(rowsShown, found.rows.length);
  return [
    ...refused,
    rows,
    ...(left > 0 ? [display.paint(`… and ${left} more`, "dim")] : []),
    ...othersText(found, action),
    `Nothing was changed. Run: ${["dibs", verb, ...context.flagsAgain(), "--yes"].join(" ")}`,
  ].join("\n");
}

function refusedLines({ refused, refusedCount }: Answer, max: number): string[] {
  const shown = refused.slice(0, max);
  const lines = shown.map(({ taskId, message, error }) => `  ${plain(taskId)}  ${plain(message)} (${error})`);
  const left = refusedCount - shown.length;
  return left > 0 ? [...lines, `  and ${left} more`] : lines;
}

/** What a filter matches besides, in a state that the action is not for. */
function othersText({ others }: Found, action: BulkAction): string[] {
  const count = [...others.values()].reduce((sum, each) => sum + each, 0);
  if (count === 0) return [];
  const states = [...others].map(([state, each]) => `${each} ${state}`).join(", ");
  return [`${count} more match${count === 1 ? "es" : ""}, but cannot be ${words[action].able}: ${states}.`];
}

const tasksText = (count: number) => (count === 1 ? "1 task" : `${count} tasks`);

/** A holder's own tasks, one by one: tasks.bulk releases by force. */
export function releaseOwn(context: Context, dibs: Dibs, reason: string | undefined): Act {
  return async (taskIds) => {
    const refused: Answer["refused"] = [];
    for (const taskId of taskIds) {
      try {
        await dibs.tasks.release({ ...context.holderOf(taskId), ...(reason && { reason }) });
      } catch (error) {
        if (!(error instanceof DibsError) || exitCode[error.code] === 6) throw error;
        const { project } = await dibs.projects.get();
        refused.push({ project: project.id, taskId, error: error.code, message: error.message });
      }
    }
    const [matched, refusedCount] = [taskIds.length, refused.length];
    return {
      success: true,
      action: "release",
      dryRun: false,
      matched,
      done: matched - refusedCount,
      refusedCount,
      refused,
      taskIds,
      more: false,
      nextCursor: null,
    };
  };
}
