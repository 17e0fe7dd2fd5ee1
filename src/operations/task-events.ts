// The events of one task. That two tasks change the same files is one event in the log, and part of both timelines.

import type { DibsEvent } from "../core/event.js";
import { overlapEventsOfFirst } from "../core/overlap.js";
import type { EventFilter, Reads } from "../core/view.js";

type Filter = EventFilter & { project: string; taskId: string };

export function eventsOfTask(view: Reads, filter: Filter): DibsEvent[] {
  const { project, taskId, after, types, limit } = filter;
  const own = view.events(filter);
  if ((types && !types.includes("task:overlap")) || !view.task(project, taskId)) return own;
  const end = own.length < limit ? Number.POSITIVE_INFINITY : own.at(-1)!.seq;
  const numbers = overlapEventsOfFirst(view, project, taskId).filter((seq) => seq > after && seq < end);
  // Most tasks have none.
  if (numbers.length === 0) return own;
  const more = numbers
    .slice(0, limit)
    .flatMap((seq) => view.events({ project, after: seq - 1, limit: 1 }))
    .filter(({ type, data }) => type === "task:overlap" && data.with === taskId);
  return [...own, ...more].sort((a, b) => a.seq - b.seq).slice(0, limit);
}
