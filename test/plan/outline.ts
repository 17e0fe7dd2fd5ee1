import { expect } from "vitest";
import {
  type Plan,
  type PlannedTask,
  type Problem,
  type ReadOptions,
  readPlan,
} from "../../src/bridges/plan/index.js";

export function planOf(text: string, options?: ReadOptions): Plan {
  const read = readPlan(text, options);
  if (!read.ok) expect.fail(`not read: ${JSON.stringify(read.problems)}`);
  return read.plan;
}

export function problemsOf(text: string, options?: ReadOptions): Problem[] {
  const read = readPlan(text, options);
  if (read.ok) expect.fail(`read: ${outline(read.plan).join(" | ")}`);
  return read.problems;
}

/** A line per task: indentation for depth, `/` for groups, `✓` for done, and the titles and ids that it waits for. */
export function outline(plan: Plan): string[] {
  const byKey = new Map(plan.tasks.map((task) => [task.key, task]));
  const depthOf = (task: PlannedTask): number =>
    task.parentKey === undefined ? 0 : 1 + depthOf(byKey.get(task.parentKey)!);
  return plan.tasks.map((task) => {
    const waits = [...task.dependsOn.map((key) => byKey.get(key)!.title), ...task.dependsOnIds];
    const after = waits.length > 0 ? ` ← ${waits.join(", ")}` : "";
    return `${"  ".repeat(depthOf(task))}${task.done ? "✓ " : ""}${task.title}${task.type === "group" ? "/" : ""}${after}`;
  });
}

export function taskOf(plan: Plan, title: string): PlannedTask {
  const task = plan.tasks.find((each) => each.title === title);
  if (!task) expect.fail(`no task ${title} in ${outline(plan).join(" | ")}`);
  return task;
}
