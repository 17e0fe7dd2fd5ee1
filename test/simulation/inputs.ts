// New tasks and edits of tasks, with references into what exists and into the same batch.

import type { NewTask, PlanTask, TaskPatch } from "../../src/core/command.js";
import { resourcesOf } from "../../src/core/resource.js";
import type { Task } from "../../src/core/task.js";
import type { Reads } from "../../src/core/view.js";
import { type Picker, present } from "./picker.js";
import { type Scene, sessionIds, taskLike } from "./scene.js";

const priorities = [50, 50, 80, 100, 20, 0];
const labels = ["ui", "db", "x"];
const capabilities = ["gpu", "net"];
export const resourceIds = ["db", "gpu", "llm"];
const people = [...sessionIds, "alice"];

function someTime(pick: Picker, now: number): number {
  return now + pick.of([0, 1, 1000, 5000, 60_000, -1000]);
}

function suppliedId(pick: Picker, tasks: Task[]): string {
  const parent = tasks.length > 0 ? pick.of(tasks).id : "0001";
  const next = 1 + pick.below(4);
  return pick.of([
    `slug-${next}`,
    `${parent}_t${next}`,
    `${parent}.${next}`,
    "slug-1",
    "0001",
    "batch",
    "a..b",
  ]);
}

/** Units of resources that are there, or now and then of one that is not. */
export function someUses(pick: Picker, view: Reads): Record<string, number> {
  const known = resourcesOf(view).map(({ id }) => id);
  const ids = pick.chance(4) ? ["missing"] : pick.some(known, 2);
  return Object.fromEntries(ids.map((id) => [id, pick.of([1, 1, 1, 2, 3])]));
}

/** What the tasks of a project wait for besides each other. */
function wants(pick: Picker, { view }: Scene) {
  return present({
    uses: pick.maybe(30, () => someUses(pick, view)),
    assignee: pick.maybe(10, () => pick.of(people)),
    agentType: pick.maybe(10, () => pick.of(["cli", "autonomous"])),
    requires: pick.maybe(12, () => pick.some(capabilities, 2)),
  });
}

export function newTask(pick: Picker, scene: Scene, batch: readonly NewTask[]): NewTask {
  const isGroup = pick.chance(15);
  const keys = batch.flatMap(({ key, title }) => [key!, ...(title ? [title] : [])]);
  const isOpen = (task: Task) => !["completed", "failed", "cancelled"].includes(task.state);
  const reference = () =>
    keys.length > 0 && pick.chance(50) ? pick.of(keys) : taskLike(pick, scene, (task) => isOpen(task));
  const hasParent = scene.tasks.length + batch.length > 0 && pick.chance(35);
  return present({
    type: isGroup ? ("group" as const) : undefined,
    prompt: pick.chance(2) ? "" : pick.of(["do it", "Write the tests\nfor all of it", "größer 🎉"]),
    parentId: hasParent ? reference() : undefined,
    dependsOn: pick.chance(35) ? [reference(), ...(pick.chance(30) ? [reference()] : [])] : undefined,
    priority: pick.maybe(60, () => pick.of(priorities)),
    labels: pick.maybe(25, () => pick.some(labels, 2)),
    ...wants(pick, scene),
    title: pick.maybe(25, () => pick.of(["Tests", "Docs", "Docs"])),
    id: pick.maybe(12, () => suppliedId(pick, scene.tasks)),
    notBefore: pick.maybe(12, () => someTime(pick, scene.now)),
    timeoutMs: pick.maybe(10, () => pick.of([5000, 500, 60_000])),
    maxRetries: pick.maybe(20, () => pick.of([0, 1, 2])),
    files: pick.maybe(10, () => ["src/*.ts"]),
    description: pick.maybe(10, () => "more words"),
    phase: pick.maybe(8, () => "test"),
    metadata: pick.maybe(8, () => ({ deep: [1, { two: null }] })),
    correlationId: pick.maybe(5, () => "mine"),
  });
}

export function newTasks(pick: Picker, scene: Scene): NewTask[] {
  const batch: NewTask[] = [];
  const count = 2 + pick.below(4);
  for (let at = 0; at < count; at++) batch.push({ key: `k${at}`, ...newTask(pick, scene, batch) });
  return batch;
}

/** A version of one plan: some of its items, each as it was or edited. */
export function planTasks(pick: Picker): PlanTask[] {
  const keys = ["a", "b", "c", "d", "e"].filter(() => !pick.chance(30));
  const groups = new Set(["a", "d"]);
  const tasks = keys.map((key, at) =>
    present({
      key,
      prompt: pick.chance(80) ? `do ${key}` : `do ${key} otherwise`,
      type: groups.has(key) ? ("group" as const) : undefined,
      parentId: groups.has(keys[at - 1] ?? "") ? keys[at - 1] : undefined,
      priority: pick.maybe(20, () => pick.of(priorities)),
      dependsOn: pick.maybe(40, () => [pick.of([...keys.slice(0, at), ...keys.slice(0, at), "e", "0001"])]),
      done: pick.maybe(10, () => true),
    }),
  );
  return tasks.length > 0 ? tasks : [{ key: "z", prompt: "do z" }];
}

/** More than a page of the ready queue, alike but for their times. */
export function sameTasks(pick: Picker, scene: Scene): NewTask[] {
  const count = scene.tasks.length > 200 ? 1 : 60 + pick.below(90);
  const step = pick.of([0, 1, 100]);
  const backwards = pick.chance(50);
  return Array.from({ length: count }, (_, at) => ({
    prompt: "one of many",
    ...(step === 0 ? {} : { notBefore: scene.now + step * (backwards ? count - at : at) }),
  }));
}

export function taskPatch(pick: Picker, scene: Scene): TaskPatch {
  const { now } = scene;
  const other = () => taskLike(pick, scene, (task) => task.state !== "completed");
  const patch = present({
    dependsOn: pick.maybe(35, () =>
      pick.chance(35) ? [] : [other(), ...(pick.chance(25) ? [other()] : [])],
    ),
    priority: pick.maybe(35, () => pick.of(priorities)),
    labels: pick.maybe(25, () => pick.some(labels, 3)),
    notBefore: pick.maybe(25, () => pick.of([null, someTime(pick, now), someTime(pick, now)])),
    assignee: pick.maybe(12, () => pick.of([null, ...people])),
    agentType: pick.maybe(8, () => pick.of([null, "cli", "autonomous"])),
    requires: pick.maybe(10, () => pick.some(capabilities, 2)),
    uses: pick.maybe(15, () => someUses(pick, scene.view)),
    title: pick.maybe(10, () => "Renamed"),
    prompt: pick.maybe(10, () => "another prompt"),
    description: pick.maybe(8, () => pick.of([null, "described"])),
    metadata: pick.maybe(8, () => pick.of([null, { a: 1 }])),
    timeoutMs: pick.maybe(8, () => pick.of([null, 1000])),
    maxRetries: pick.maybe(8, () => pick.of([0, 1, 5])),
    files: pick.maybe(5, () => ["x"]),
    phase: pick.maybe(5, () => pick.of([null, "impl"])),
  });
  return patch;
}
