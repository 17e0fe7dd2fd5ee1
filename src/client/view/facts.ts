// What can be suggested: the labels, agents, projects and phases of the tasks that are known, most used first.

import type { WireTaskRow } from "../../contract/tasks/rows.js";
import type { Facts } from "./suggest.js";

const factsMax = 500;

export function factsOf(rows: readonly WireTaskRow[]): Facts {
  const [labels, agents, projects, phases] = [new Tally(), new Tally(), new Tally(), new Tally()];
  for (const row of rows) {
    projects.add(row.project);
    phases.add(row.phase);
    for (const label of row.labels) labels.add(label);
    agents.add(row.claim ? row.claim.sessionId : row.assignee);
    agents.add(row.claim ? row.claim.agentType : row.agentType);
  }
  return { labels: labels.top(), agents: agents.top(), projects: projects.top(), phases: phases.top() };
}

/** Names of the sessions that hold something, each once; `nameOf` gives the id where there is no name. */
export function namesOf(
  rows: readonly WireTaskRow[],
  nameOf: (project: string, sessionId: string) => string,
): NonNullable<Facts["names"]> {
  const names = new Map<string, string>();
  for (const { project, claim } of rows) {
    const name = claim && nameOf(project, claim.sessionId);
    if (claim && name && name !== claim.sessionId && names.size < factsMax) names.set(name, claim.sessionId);
  }
  return [...names]
    .map(([name, sessionId]) => ({ name, sessionId }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

class Tally {
  private readonly counts = new Map<string, number>();

  add(word: string | null | undefined): void {
    if (word) this.counts.set(word, (this.counts.get(word) ?? 0) + 1);
  }

  top(): string[] {
    const byUse = [...this.counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
    return byUse.slice(0, factsMax).map(([word]) => word);
  }
}
