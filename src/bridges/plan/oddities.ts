// What an author should know about a plan that can be created as it is.

import type { PlanFormat, RawTask } from "./plan.js";
import type { Links } from "./references.js";
import type { Report } from "./report.js";
import { quote } from "./words.js";

export function noteOddities(
  format: PlanFormat,
  tasks: RawTask[],
  links: Map<RawTask, Links>,
  report: Report,
): void {
  noteDoubled(
    tasks,
    ({ title }) => title,
    (title) => `are called ${quote(title)}`,
    report,
  );
  // Numbers of Markdown lists begin again wherever a list does.
  if (format === "text") noteDoubledNumbers(tasks, report);
  noteDone(tasks, links, report);
  const given = tasks.flatMap(({ details }) => (details.priority === undefined ? [] : [details.priority]));
  if (given.length > 1 && given.every((priority) => priority <= 5)) {
    report.note(
      "Priorities were read on the scale from 0 to 100, higher first; write p1 to p5 for the scale from 1 to 5.",
    );
  }
}

function noteDoubled(
  tasks: RawTask[],
  nameOf: (task: RawTask) => string | undefined,
  say: (name: string) => string,
  report: Report,
): void {
  const named = new Map<string, number[]>();
  for (const task of tasks) {
    const name = nameOf(task);
    if (name === undefined) continue;
    const lines = named.get(name);
    if (lines) lines.push(task.at.line);
    else named.set(name, [task.at.line]);
  }
  for (const [name, lines] of named) {
    if (lines.length < 2) continue;
    const shown = lines.slice(0, 6).join(", ") + (lines.length > 6 ? ", …" : "");
    report.note(`${lines.length} tasks ${say(name)} (lines ${shown}).`);
  }
}

/** Children may have numbers of their own under each parent. */
function noteDoubledNumbers(tasks: RawTask[], report: Report): void {
  const siblings = new Map<RawTask | undefined, RawTask[]>();
  for (const task of tasks) {
    const beside = siblings.get(task.parent);
    if (beside) beside.push(task);
    else siblings.set(task.parent, [task]);
  }
  for (const beside of siblings.values()) {
    noteDoubled(
      beside,
      ({ label }) => label,
      (label) => `are numbered ${quote(label)}`,
      report,
    );
  }
}

function noteDone(tasks: RawTask[], links: Map<RawTask, Links>, report: Report): void {
  for (const task of tasks) {
    if (task.done) continue;
    for (const [other, at] of links.get(task)!.tasks) {
      if (!other.done) continue;
      // What is checked off in the plan can still be open in the store, and then keeps its dependents waiting.
      report.note(
        `Line ${at.line}: ${quote(task.title)} depends on ${quote(other.title)}, which the plan marks as ${other.isSkipped ? "cancelled" : "done"}: it waits only if an earlier load created that task and it is still open.`,
      );
    }
  }
  for (const { at, title, isSkipped } of tasks)
    if (isSkipped) report.note(`Line ${at.line}: ${quote(title)} is cancelled and will not be created.`);
  const done = tasks.filter((task) => task.done && !task.isSkipped).length;
  if (done === 0) return;
  report.note(`${done} of ${tasks.length} tasks ${done === 1 ? "is" : "are"} done and will not be created.`);
}
