// Which rows of the ready queue a transaction takes out and puts in. A task may move several times in one transaction; only where
// it stood before and where it stands in the end is written.

import type { Key } from "../core/changes.js";
import type { ReadyEntry } from "../core/ready.js";
import { samePlace } from "./ready-queue.js";
import type { Queued } from "./rows.js";

/** A task's rows in the queue before and after. */
interface Move {
  project: string;
  before: ReadyEntry[];
  after: ReadyEntry[];
}

export function movesBetween(before: ReadyEntry[], after: ReadyEntry[]) {
  // Nearly always it only left, or only joined.
  if (before.length === 0 || after.length === 0) return { left: before, joined: after };
  const isIn = (entries: ReadyEntry[], entry: ReadyEntry) => entries.some((other) => samePlace(entry, other));
  return {
    left: before.filter((entry) => !isIn(after, entry)),
    joined: after.filter((entry) => !isIn(before, entry)),
  };
}

export class QueueMoves {
  private readonly moves = new Map<Key, Move>();

  note(key: Key, move: Move): void {
    const earlier = this.moves.get(key);
    this.moves.set(key, earlier ? { ...move, before: earlier.before } : move);
  }

  sum(): { leftQueue: Queued[]; joinedQueue: Queued[] } {
    const leftQueue: Queued[] = [];
    const joinedQueue: Queued[] = [];
    for (const { project, before, after } of this.moves.values()) {
      const { left, joined } = movesBetween(before, after);
      for (const entry of left) leftQueue.push({ project, entry });
      for (const entry of joined) joinedQueue.push({ project, entry });
    }
    return { leftQueue, joinedQueue };
  }

  clear(): void {
    this.moves.clear();
  }
}
