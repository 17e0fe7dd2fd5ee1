// What a runner did, task by task: how the last attempt at each ended.

import { duration } from "../../../client/view/words.js";
import { type AttemptEnd, isSubmitted, verdictWords } from "../../../runner/index.js";
import type { Display, Style } from "./display.js";
import { table } from "./table.js";
import { plain } from "./text.js";

export interface WorkedTask {
  taskId: string;
  title: string;
  attempts: number;
  outcome: AttemptEnd["outcome"];
  reason: string | null;
}

export const outcomeStyles: Record<AttemptEnd["outcome"], Style | undefined> = {
  completed: "green",
  reported: "green",
  failed: "red",
  lost: "red",
  released: "yellow",
  awaiting: "yellow",
};

/** What is completed only when it has landed is not called completed, and a review is called by its verdict. */
const ownWords: readonly (string | null)[] = [isSubmitted, ...Object.values(verdictWords)];

export const outcomeWord = ({ outcome, reason }: Pick<AttemptEnd, "outcome" | "reason">): string =>
  outcome === "completed" && ownWords.includes(reason) ? reason! : outcome;

/** With more tasks than this, those that are done are only counted. */
const rowsMax = 30;

const isDone = ({ outcome }: WorkedTask) => outcome === "completed" || outcome === "reported";

const reasonOf = (task: WorkedTask) =>
  task.reason === outcomeWord(task) ? "" : plain(task.reason?.split("\n")[0] ?? "");

export function workSummary(tasks: readonly WorkedTask[], ms: number, display: Display): string {
  if (tasks.length === 0) return "No task was worked on.\n";
  const undone = tasks.filter((task) => !isDone(task));
  const shown = tasks.length <= rowsMax ? tasks : undone.slice(0, rowsMax);
  const rows = table<WorkedTask>(
    shown,
    [
      { head: "TASK", of: ({ taskId }) => plain(taskId), whole: true },
      { head: "RESULT", of: outcomeWord, style: ({ outcome }) => outcomeStyles[outcome] },
      { head: "ATTEMPTS", of: ({ attempts }) => String(attempts), right: true },
      { head: "TITLE", of: ({ title }) => plain(title), grows: true },
      { head: "REASON", of: reasonOf, max: 60 },
    ],
    display,
  );
  const counts = new Map<string, number>();
  for (const word of tasks.map(outcomeWord)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const attempts = tasks.reduce((sum, task) => sum + task.attempts, 0);
  const hidden = undone.length - shown.length;
  const total = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  const more = tasks.length > rowsMax && hidden > 0 ? `${hidden} more that are not done. ` : "";
  const times = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return `\n${shown.length === 0 ? "" : rows}${more}${total}; ${times} in ${duration(ms)}\n`;
}

/** A task that waits for people, or for the end of a hold. */
export interface LeftTask {
  taskId: string;
  title: string;
  state: string;
  reason: string;
  fix: string | null;
}

export function leftText(left: readonly LeftTask[], display: Display): string {
  if (left.length === 0) return "";
  const lines = left.map(({ taskId, reason, fix }) => {
    const run = fix === null ? "" : ` Run: ${plain(fix)}`;
    return `  ${display.paint(plain(taskId), "bold")}  ${plain(reason.split("\n")[0])}${run}\n`;
  });
  const count = left.length === 1 ? "1 task waits" : `${left.length} tasks wait`;
  return `${count} for people or for a lander:\n${lines.join("")}`;
}

/** A task whose dependency has failed or was cancelled. */
export interface BlockedTask {
  taskId: string;
  title: string;
  by: string;
  state: string;
  fix: string;
}

/** A line for each task that the others wait for. */
export function blockedText(blocked: readonly BlockedTask[]): string {
  const causes = new Map<string, BlockedTask[]>();
  for (const task of blocked) causes.set(task.by, [...(causes.get(task.by) ?? []), task]);
  return [...causes.values()]
    .map((tasks) => {
      const { by, state, fix } = tasks[0]!;
      const count = tasks.length === 1 ? "1 task is" : `${tasks.length} tasks are`;
      return `${count} blocked by ${plain(by)} (${plain(state)}). Run: ${plain(fix)}\n`;
    })
    .join("");
}
