import { oldestReadyAt } from "../../core/ready.js";
import type { Reads } from "../../core/view.js";

/** How long the oldest task at the head of the queue could have been claimed; null: there is none. */
export function oldestReadyAgeMs(view: Reads, project: string | null, now: number): number | null {
  const since = view
    .projects()
    .filter(({ id }) => project === null || id === project)
    .flatMap((each) => oldestReadyAt(view, each, now) ?? []);
  return since.length === 0 ? null : Math.max(0, now - since.reduce((oldest, at) => Math.min(oldest, at)));
}
