// Reports events and problems; the same problem of a file is reported once, not at every poll.

import type { SpoolEvent } from "./options.js";
import type { Tree } from "./tree.js";

const toldMax = 10_000;

export class Reports {
  /** By path. */
  private readonly told = new Map<string, Set<string>>();
  private lastTrouble: string | null = null;
  private isTroubled = false;

  constructor(
    private readonly tree: Tree,
    private readonly onEvent: (event: SpoolEvent) => void,
  ) {}

  readonly report = (event: SpoolEvent): void => this.onEvent(event);

  readonly oddity = (path: string, problem: string): void => {
    const known = this.told.get(path);
    if (known?.has(problem) || (!known && this.told.size >= toldMax)) return;
    this.told.set(path, (known ?? new Set()).add(problem));
    this.report({ type: "refused", path: this.tree.shown(path), reason: problem });
  };

  readonly trouble = (error: unknown): void => {
    const { message } = error as Error;
    this.isTroubled = true;
    if (message !== this.lastTrouble) this.report({ type: "trouble", message });
    this.lastTrouble = message;
  };

  /** Forgets files that are gone: if they come back, their problems are reported again. */
  endPoll(): void {
    for (const path of this.told.keys()) if (this.tree.stats(path) === null) this.told.delete(path);
    if (!this.isTroubled) this.lastTrouble = null;
    this.isTroubled = false;
  }
}
