// What a command can refer to when it is made.

import type { Claim } from "../../src/core/claim.js";
import type { Task } from "../../src/core/task.js";
import type { Reads } from "../../src/core/view.js";
import type { Picker } from "./picker.js";

export interface Scene {
  view: Reads;
  now: number;
  project: string;
  tasks: Task[];
  claims: Claim[];
}

export const all = 1_000_000;
export const sessionIds = ["s1", "s2", "s3", "s4"];

export function sceneOf(view: Reads, now: number, project: string): Scene {
  return {
    view,
    now,
    project,
    tasks: view.tasks({ project, afterOrdinal: 0, limit: all }),
    claims: view.openClaims({ project, limit: all }),
  };
}

/** A task among those that fit, or now and then any, or none at all. */
export function taskLike(pick: Picker, { tasks }: Scene, fits: (task: Task) => boolean): string {
  if (pick.chance(3)) return "missing";
  const fitting = tasks.filter(fits);
  const found = fitting.length > 0 && !pick.chance(15) ? pick.of(fitting) : pick.of(tasks);
  return found?.id ?? "missing";
}
