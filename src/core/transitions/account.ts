// The counts of what is in use, in the one place through which every decision goes: whatever it did to claims and tasks, the
// difference is counted here. So units are taken once and come back once, however a claim ends.

import { dropReservation, needsMany } from "../availability.js";
import type { Key } from "../changes.js";
import type { Draft } from "../draft.js";
import { countUse, type InUse, projectUses, type Uses } from "../resource.js";
import { isOpenChild, isReady, type Task } from "../task.js";

/** The places that keep a resource from being removed. */
export const namesOf = (task: Task | undefined): Uses => (task && isOpenChild(task.state) ? task.uses : null);

/** Exclusive paths that a submitted task keeps until its change has landed or come back. */
export function keptUses(task: Pick<Task, "state" | "submission"> | undefined): Uses {
  const { alone } = (task?.state === "submitted" && task.submission) || {};
  return alone ? Object.fromEntries(alone.map((id) => [id, 1])) : null;
}

export function accountResources(draft: Draft): void {
  const { changes, view } = draft;
  // Most decisions change no count.
  let counted: Map<string, InUse> | null = null;
  const add = (uses: Uses | undefined, of: keyof InUse, sign: 1 | -1) => {
    for (const id in uses) {
      counted ??= new Map();
      const count = counted.get(id) ?? { units: 0, named: 0 };
      const change = of === "units" ? uses[id]! : 1;
      counted.set(id, { ...count, [of]: count[of] + sign * change });
    }
  };
  for (const [key, claim] of changes.claims) {
    add(view.claim(...split(key))?.uses, "units", -1);
    add(claim?.uses, "units", 1);
  }
  const { ordinal } = view.org();
  for (const task of changes.tasks.values()) {
    const before = task.ordinal > ordinal ? undefined : view.task(task.project, task.id);
    add(keptUses(before), "units", -1);
    add(keptUses(task), "units", 1);
    if (!task.uses && !before?.uses) continue;
    add(namesOf(before), "named", -1);
    add(namesOf(task), "named", 1);
    if (before?.uses && needsMany(before.uses) && !isReady(task, undefined))
      dropReservation(draft, task.project, task.id);
  }
  for (const project of changes.projects.values()) {
    const before = view.project(project.id);
    add(before && projectUses(before), "named", -1);
    add(projectUses(project), "named", 1);
  }
  if (counted) countUse(draft, counted);
}

function split(key: Key): [string, string] {
  const slash = key.indexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}
