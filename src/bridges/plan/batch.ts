// A plan as the input of tasks.batch.

import type { InputOf } from "../../contract/operation.js";
import type { createTasks } from "../../contract/tasks/batch.js";
import type { Plan, PlannedTask } from "./plan.js";

export type BatchInput = InputOf<typeof createTasks>;

/** Parents before their children, what is done left out. Empty when everything is done. */
export function toBatch(plan: Plan): BatchInput {
  return {
    tasks: openTasks(plan).map(({ task, dependsOn, parentKey }) => newTask(task, dependsOn, parentKey)),
  };
}

export interface OpenTask {
  task: PlannedTask;
  /** Keys of open tasks. */
  dependsOn: string[];
  parentKey?: string;
}

export function openTasks(plan: Plan): OpenTask[] {
  const byKey = new Map(plan.tasks.map((task) => [task.key, task]));
  const isOpen = (key: string) => !byKey.get(key)?.done;
  const ordered: PlannedTask[] = [];
  const placed = new Set<string>();
  for (const task of plan.tasks) {
    const chain: PlannedTask[] = [];
    for (
      let above: PlannedTask | undefined = task;
      above && !placed.has(above.key);
      above = byKey.get(above.parentKey ?? "")
    ) {
      placed.add(above.key);
      chain.push(above);
    }
    ordered.push(...chain.reverse());
  }
  return ordered
    .filter((task) => !task.done)
    .map((task) => ({
      task,
      dependsOn: task.dependsOn.filter(isOpen),
      ...(task.parentKey !== undefined && isOpen(task.parentKey) && { parentKey: task.parentKey }),
    }));
}

type NewTask = BatchInput["tasks"][number];

function newTask(task: PlannedTask, dependsOn: string[], parentKey: string | undefined): NewTask {
  const {
    key,
    title,
    prompt,
    description,
    type,
    line,
    done,
    dependsOnIds,
    parentKey: _,
    parentId,
    ...details
  } = task;
  const parent = parentKey ?? parentId;
  const all = [...dependsOn, ...dependsOnIds];
  return {
    ...details,
    key,
    type,
    title,
    prompt,
    ...(description !== undefined && { description }),
    ...(parent !== undefined && { parentId: parent }),
    dependsOn: all,
  };
}
