// Who waits for whom. A task waits for its dependencies and, as a parent, for its open children: both are edges of one
// graph that must stay free of cycles. Completed tasks wait for nothing, so no walk goes through them.

import { limits } from "./limits.js";
import { isOpenChild, stateOf } from "./task.js";
import type { View } from "./view.js";

/** What an existing task still waits for. */
export function waitsFor(view: View, project: string, id: string): string[] {
  return edgesFrom(view, project, id).filter((other) => {
    const task = view.task(project, other);
    return task?.parentId !== id || isOpenChild(stateOf(task, view.claim(project, other)));
  });
}

/** What it waits for or may wait for again: a cancelled child can be retried, and must not close a cycle then. */
export function edgesFrom(view: View, project: string, id: string): string[] {
  const task = view.task(project, id);
  if (!task || task.state === "completed") return [];
  const isOpen = (other: string) => view.task(project, other)?.state !== "completed";
  return [...task.dependsOn.filter(isOpen), ...view.children(project, id).filter(isOpen)];
}

/**
 * The first cycle that can be reached from the starts, closed (`a b a`), or null. Iterative: chains may be long. A walk over
 * more tasks than `graphWalkMax` is given up with an empty cycle: nothing that a person planned is so entangled.
 */
export function findCycle(
  starts: Iterable<string>,
  edges: (id: string) => readonly string[],
): string[] | null {
  const done = new Set<string>();
  for (const start of starts) {
    if (done.has(start)) continue;
    const path = [start];
    const onPath = new Set(path);
    const pending: Iterator<string>[] = [edges(start)[Symbol.iterator]()];
    while (path.length > 0) {
      const step = pending[pending.length - 1]!.next();
      if (step.done) {
        const left = path.pop()!;
        pending.pop();
        onPath.delete(left);
        done.add(left);
      } else if (onPath.has(step.value)) {
        return [...path.slice(path.indexOf(step.value)), step.value];
      } else if (done.size > limits.graphWalkMax) {
        return [];
      } else if (!done.has(step.value)) {
        path.push(step.value);
        onPath.add(step.value);
        pending.push(edges(step.value)[Symbol.iterator]());
      }
    }
  }
  return null;
}

export function writeCycle(cycle: readonly string[]): string {
  return cycle.join(" → ");
}

export interface Reach {
  ids: string[];
  /** All that were found, also beyond the cut. */
  count: number;
}

/** Breadth first from the starts, without them; `ids` is cut at `max`, and the walk itself at `walkMax`. */
export function reachable(
  starts: Iterable<string>,
  edges: (id: string) => readonly string[],
  bounds: { max: number; walkMax: number },
): Reach {
  const seen = new Set(starts);
  const first = seen.size;
  const queue = [...seen];
  for (let at = 0; at < queue.length && seen.size < bounds.walkMax; at++) {
    for (const next of edges(queue[at]!)) {
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push(next);
    }
  }
  return { ids: queue.slice(first, first + bounds.max), count: queue.length - first };
}
