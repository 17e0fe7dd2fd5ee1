import type { WireTaskRow } from "../../src/contract/tasks/rows.js";

export const now = Date.UTC(2026, 0, 1, 12);
export const at = (msAgo: number) => new Date(now - msAgo).toISOString();

export function row(fields: Partial<WireTaskRow> = {}): WireTaskRow {
  return {
    id: "0001",
    project: "shop",
    type: "task",
    parentId: null,
    title: "Write the docs",
    state: "queued",
    phase: null,
    priority: 50,
    labels: [],
    dependsOn: [],
    assignee: null,
    agentType: null,
    retryCount: 0,
    notBefore: null,
    pendingDependencies: 0,
    openChildren: 0,
    createdAt: at(3_600_000),
    updatedAt: at(60_000),
    readyAt: at(3_600_000),
    startedAt: null,
    endedAt: null,
    depth: 0,
    sequence: 0,
    question: null,
    error: null,
    stage: null,
    claim: null,
    ...fields,
  };
}

export function claim(fields: Partial<NonNullable<WireTaskRow["claim"]>> = {}) {
  return {
    sessionId: "a7",
    agentType: "cli",
    epoch: 1,
    claimedAt: at(60_000),
    startedAt: null,
    expiresAt: at(-1_740_000),
    lastHeartbeat: at(1_000),
    healthStatus: "healthy" as const,
    percent: null,
    note: null,
    ...fields,
  };
}
