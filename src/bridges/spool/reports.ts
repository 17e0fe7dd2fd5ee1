// What is told, and told once: a file that cannot be taken is said to be so when it is met, not at every look.

import type { Happening } from "./options.js";
import type { Tree } from "./tree.js";

const toldMax = 10_000;

export class Reports {
  /** By path. */
  private readonly told = new Map<string, Set<string>>();
  private lastTrouble: string | null = null;
  private isTroubled = false;

  constructor(
    private readonly tree: Tree,
    private readonly onHappening: (happening: Happening) => void,
  ) {}

  readonly tell = (happening: Happening): void => this.onHappening(happening);

  readonly oddity = (path: string, problem: string): void => {
    const known = this.told.get(path);
    if (known?.has(problem) || (!known && this.told.size >= toldMax)) return;
    this.told.set(path, (known ?? new Set()).add(problem));
    this.tell({ type: "refused", path: this.tree.shown(path), reason: problem });
  };

  readonly trouble = (error: unknown): void => {
    const { message } = error as Error;
    this.isTroubled = true;
    if (message !== this.lastTrouble) this.tell({ type: "trouble", message });
    this.lastTrouble = message;
  };

  /** What is gone may come again, and is then told again. */
  endLook(): void {
    for (const path of this.told.keys()) if (this.tree.stats(path) === null) this.told.delete(path);
    if (!this.isTroubled) this.lastTrouble = null;
    this.isTroubled = false;
  }
}
