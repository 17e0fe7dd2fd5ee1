// How often each command was accepted and refused, so that a generator that has become trivial is noticed.

import type { Command } from "../../src/core/command.js";
import type { Outcome } from "../../src/core/refusal.js";

export class Coverage {
  private readonly counts = new Map<string, Map<string, number>>();
  commits = 0;
  jobs = 0;
  comparisons = 0;

  note(command: Command, outcome: Outcome<unknown>, stale: boolean): void {
    this.add(command.type, outcome.ok ? "ok" : outcome.code);
    if (stale && outcome.ok) this.add(command.type, "repeated");
    const value = outcome.ok
      ? (outcome.value as {
          taskId?: string | null;
          resumed?: boolean;
          archived?: number;
          breaker?: object;
        } | null)
      : null;
    if (command.type === "archive-tasks" && value?.archived) this.add("archive-some", "ok");
    if (command.type === "claim-next" && value?.taskId === null) this.add(command.type, "nothing");
    if (command.type === "claim-next" && value?.breaker) this.add(command.type, "held back");
    if (command.type === "claim-next" && value?.resumed) this.add(command.type, "resumed");
  }

  add(type: string, what: string): void {
    const counts = this.counts.get(type) ?? new Map<string, number>();
    this.counts.set(type, counts);
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }

  of(type: string, what: string): number {
    return this.counts.get(type)?.get(what) ?? 0;
  }

  codes(): Set<string> {
    return new Set([...this.counts.values()].flatMap((counts) => [...counts.keys()]));
  }

  toString(): string {
    const lines = [...this.counts].sort().map(([type, counts]) => {
      const sorted = [...counts].sort(([, a], [, b]) => b - a).map(([what, count]) => `${what} ${count}`);
      return `  ${type.padEnd(18)} ${sorted.join(", ")}`;
    });
    return [`${this.commits} commits, ${this.jobs} jobs, ${this.comparisons} comparisons`, ...lines].join(
      "\n",
    );
  }
}
