// Tasks as people look for them: what is worked on, what can be claimed, what waits, and last what has ended, the newest first. Each
// section is one list of the store; a cursor names its section.

import { accept, type Outcome } from "../core/refusal.js";
import type { Task, TaskState } from "../core/task.js";
import type { Reads, TaskFilter } from "../core/view.js";
import { foreignCursor } from "./cursor.js";

interface Section {
  states: readonly TaskState[];
  queued?: "ready" | "scheduled" | "blocked";
  newestFirst?: true;
}

const sections: Record<string, Section> = {
  running: { states: ["running"] },
  waiting: { states: ["awaiting_response"] },
  claimed: { states: ["claimed"] },
  submitted: { states: ["submitted"] },
  ready: { states: ["queued"], queued: "ready" },
  blocked: { states: ["queued"], queued: "blocked" },
  scheduled: { states: ["queued"], queued: "scheduled" },
  ended: { states: ["completed", "failed", "cancelled"], newestFirst: true },
};

type Where = Omit<TaskFilter, "afterOrdinal" | "beforeOrdinal" | "queued">;

/** The tasks after the cursor, and for each the cursor that continues after it. */
export function activeFirst(
  view: Reads,
  { states, ...where }: Where,
  { cursor, onlyReady, now }: { cursor: string | undefined; onlyReady: boolean; now: number },
): Outcome<{ tasks: Task[]; cursorOf: (task: Task) => string }> {
  const from = /^([a-z]+)\.([1-9]\d{0,15})$/.exec(cursor ?? "");
  const names = Object.keys(sections);
  const first = from ? names.indexOf(from[1]!) : 0;
  if (first < 0 || (cursor !== undefined && !from)) return foreignCursor();
  const sectionOf = new Map<Task, string>();
  for (const name of names.slice(first)) {
    const section = sections[name]!;
    const asked = section.states.filter((state) => states === undefined || states.includes(state));
    if (asked.length === 0 || (onlyReady && section.queued !== "ready")) continue;
    const ordinal = from?.[1] === name ? Number(from[2]) : null;
    // Always the whole limit: a store that fetches asks for all sections at once.
    const found = view.tasks({
      ...where,
      states: asked,
      ...rangeOf(section, ordinal),
      ...standing(section, now),
    });
    for (const task of found) sectionOf.set(task, name);
  }
  const tasks = [...sectionOf.keys()].slice(0, where.limit);
  return accept({ tasks, cursorOf: (task) => `${sectionOf.get(task)}.${task.ordinal}` });
}

const rangeOf = ({ newestFirst }: Section, ordinal: number | null) =>
  newestFirst
    ? { afterOrdinal: 0, beforeOrdinal: ordinal ?? Number.MAX_SAFE_INTEGER }
    : { afterOrdinal: ordinal ?? 0 };

const standing = ({ queued }: Section, at: number) => (queued ? { queued: { as: queued, at } } : {});
