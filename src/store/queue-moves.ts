// Which rows of the ready queue a transaction deletes and inserts. A task may move several times in one transaction; only its
// first and its last place are written.

import type { Key } from "../core/changes.js";
import { movesBetween, type ReadyEntry } from "../core/ready.js";
import type { Queued } from "./rows.js";

/** A task's rows in the queue before and after. */
interface Move {
  project: string;
  before: ReadyEntry[];
  after: ReadyEntry[];
}

export class QueueMoves {
  private readonly moves = new Map<Key, Move>();

  note(key: Key, move: Move): void {
    const earlier = this.moves.get(key);
    this.moves.set(key, earlier ? { ...move, before: earlier.before } : move);
  }

  /** Without those of projects whose queue is written again. */
  sum(reordered: ReadonlySet<string>): { leftQueue: Queued[]; joinedQueue: Queued[] } {
    const leftQueue: Queued[] = [];
    const joinedQueue: Queued[] = [];
    for (const { project, before, after } of this.moves.values()) {
      if (reordered.size > 0 && reordered.has(project)) continue;
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
