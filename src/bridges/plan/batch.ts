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

/** For a plan that can be loaded again: what is done is named, too, so that it is not taken for gone. */
export function toNamedBatch(plan: Plan, options: { name: string; prune?: boolean }): BatchInput {
  const tasks = parentsFirst(plan).map((task) => ({
    ...newTask(task, task.dependsOn, task.parentKey),
    identity: task.identity,
    ...(task.done && { done: true }),
  }));
  return { plan: options.name, ...(options.prune && { prune: true }), tasks };
}

export interface OpenTask {
  task: PlannedTask;
  /** Keys of open tasks. */
  dependsOn: string[];
  parentKey?: string;
}

export function openTasks(plan: Plan): OpenTask[] {
  const done = new Set(plan.tasks.filter((task) => task.done).map(({ key }) => key));
  const isOpen = (key: string) => !done.has(key);
  return parentsFirst(plan)
    .filter((task) => !task.done)
    .map((task) => ({
      task,
      dependsOn: task.dependsOn.filter(isOpen),
      ...(task.parentKey !== undefined && isOpen(task.parentKey) && { parentKey: task.parentKey }),
    }));
}

function parentsFirst(plan: Plan): PlannedTask[] {
  const byKey = new Map(plan.tasks.map((task) => [task.key, task]));
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
  return ordered;
}

type NewTask = BatchInput["tasks"][number];

function newTask(task: PlannedTask, dependsOn: string[], parentKey: string | undefined): NewTask {
  const {
    key,
    title,
    prompt,
    description,
    type,
    identity,
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
