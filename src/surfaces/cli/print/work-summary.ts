// What a runner did, task by task: how the last attempt at each ended.

import { duration } from "../../../client/view/words.js";
import type { AttemptEnd } from "../../../runner/index.js";
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

/** With more tasks than this, those that are done are only counted. */
const rowsMax = 30;

const isDone = ({ outcome }: WorkedTask) => outcome === "completed" || outcome === "reported";

export function workSummary(tasks: readonly WorkedTask[], ms: number, display: Display): string {
  if (tasks.length === 0) return "No task was worked on.\n";
  const undone = tasks.filter((task) => !isDone(task));
  const shown = tasks.length <= rowsMax ? tasks : undone.slice(0, rowsMax);
  const rows = table<WorkedTask>(
    shown,
    [
      { head: "TASK", of: ({ taskId }) => plain(taskId), whole: true },
      { head: "RESULT", of: ({ outcome }) => outcome, style: ({ outcome }) => outcomeStyles[outcome] },
      { head: "ATTEMPTS", of: ({ attempts }) => String(attempts), right: true },
      { head: "TITLE", of: ({ title }) => plain(title), grows: true },
      { head: "REASON", of: ({ reason }) => plain(reason?.split("\n")[0] ?? ""), max: 60 },
    ],
    display,
  );
  const counts = new Map<string, number>();
  for (const { outcome } of tasks) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const attempts = tasks.reduce((sum, task) => sum + task.attempts, 0);
  const hidden = undone.length - shown.length;
  const total = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  const more = tasks.length > rowsMax && hidden > 0 ? `${hidden} more that are not done. ` : "";
  const times = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return `\n${shown.length === 0 ? "" : rows}${more}${total}; ${times} in ${duration(ms)}\n`;
}
