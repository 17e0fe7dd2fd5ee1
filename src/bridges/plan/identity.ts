// By what a task is known from one version of its plan to the next: the author's own key or id, else its title below the titles
// of its parents. Never a number of a list: one line more, and every number after it means another task.

import { createHash } from "node:crypto";
import { bounds, type Plan, type PlanFormat, type RawTask } from "./plan.js";
import { normalise } from "./words.js";

/** `3`, `1.2b`, `T001`, `Step 4`, `c`, `iv` */
const listNumber =
  /^(?:(?:task|step|item|phase|part|stage|milestone|epic|story|section|[a-z])?[\s#._-]*\d+(?:[.-]\d+)*[a-z]?|[a-z]|[ivxl]+)$/i;

export function identitiesOf(format: PlanFormat, tasks: readonly RawTask[]): Map<RawTask, string> {
  const keys = new Map<string, number>();
  for (const task of tasks) {
    const key = ownKey(format, task);
    if (key !== undefined) keys.set(key, (keys.get(key) ?? 0) + 1);
  }
  const identities = new Map<RawTask, string>();
  const taken = new Set<string>();
  const identityOf = (task: RawTask): string => {
    const known = identities.get(task);
    if (known !== undefined) return known;
    const key = ownKey(format, task);
    const own = key === undefined ? normalise(task.title) : `key:${key}`;
    // Parts often have numbers of their own, which begin again below every parent.
    const isGlobal = key !== undefined && keys.get(key) === 1 && !listNumber.test(key);
    const path = task.parent && !isGlobal ? `${identityOf(task.parent)}/${own}` : own;
    let identity = shortened(path);
    for (let times = 2; taken.has(identity); times++) identity = shortened(`${path} (${times})`);
    taken.add(identity);
    identities.set(task, identity);
    return identity;
  };
  for (const task of tasks) identityOf(task);
  return identities;
}

/** In JSON an id is an id, whatever it looks like. */
function ownKey(format: PlanFormat, { label }: RawTask): string | undefined {
  return label !== undefined && (format === "json" || !listNumber.test(label)) ? label : undefined;
}

function shortened(path: string): string {
  if (path.length <= bounds.titleLengthMax) return path;
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 32);
  return `${digest} ${path.slice(-(bounds.titleLengthMax - 50))}`.toWellFormed();
}

/** Of these tasks, those that have the title of an open one of the plan. */
export function withTitlesOf<T extends { title: string }>(plan: Plan, tasks: readonly T[]): T[] {
  const titles = new Set(plan.tasks.filter(({ done }) => !done).map(({ title }) => normalise(title)));
  return tasks.filter(({ title }) => titles.has(normalise(title)));
}
