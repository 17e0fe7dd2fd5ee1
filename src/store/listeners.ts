// Who is called back after commits, by org.

import type { ChangeListener } from "./store.js";

interface Options {
  /** The first listener of an org, or the last, came or went. */
  onFirst?(org: string): void;
  onLast?(org: string): void;
}

export class Listeners {
  private readonly byOrg = new Map<string, Set<ChangeListener>>();

  constructor(private readonly options: Options = {}) {}

  get orgs(): string[] {
    return [...this.byOrg.keys()];
  }

  add(org: string, listener: ChangeListener): () => void {
    let listeners = this.byOrg.get(org);
    if (!listeners) {
      this.options.onFirst?.(org);
      listeners = new Set();
      this.byOrg.set(org, listeners);
    }
    const ofOrg = listeners.add(listener);
    return () => {
      if (!ofOrg.delete(listener) || ofOrg.size > 0 || this.byOrg.get(org) !== ofOrg) return;
      this.byOrg.delete(org);
      this.options.onLast?.(org);
    };
  }

  announce(org: string, mayFree: boolean): void {
    for (const listener of this.byOrg.get(org) ?? []) listener({ mayFree });
  }

  clear(): void {
    this.byOrg.clear();
  }
}
