// From the store's minutes and hours to what a chart can show: at most so many columns, sums added up, averages weighted.

import type { OperationNamed, OutputOf } from "../../data/dibs.js";

export type History = OutputOf<OperationNamed<"metrics.history">>;
export type Point = History["points"][number];

export const columnsMax = 120;

export interface Column {
  at: number;
  created: number;
  claimed: number;
  completed: number;
  failed: number;
  lost: number;
  queued: number;
  claimWaitMs: number | null;
  durationMs: number | null;
  questionWaitMs: number | null;
}

export interface AgentRow {
  name: string;
  claimed: number;
  completed: number;
  failed: number;
  lost: number;
}

export function columnsOf({ points }: History): Column[] {
  const size = Math.max(1, Math.ceil(points.length / columnsMax));
  const columns: Column[] = [];
  for (let from = 0; from < points.length; from += size)
    columns.push(merged(points.slice(from, from + size)));
  return columns;
}

function merged(points: readonly Point[]): Column {
  const sum = (pick: (point: Point) => number) => points.reduce((total, point) => total + pick(point), 0);
  return {
    at: Date.parse(points[0]!.at),
    created: sum((point) => point.created),
    claimed: sum((point) => point.claimed),
    completed: sum((point) => point.completed),
    failed: sum((point) => point.failed),
    lost: sum((point) => point.lost),
    queued: points.at(-1)!.queued,
    claimWaitMs: average(points, (point) => [point.avgClaimWaitMs, point.claimed]),
    durationMs: average(points, (point) => [point.avgDurationMs, point.completed]),
    questionWaitMs: average(points, (point) => [point.avgQuestionWaitMs, 1]),
  };
}

function average(points: readonly Point[], pick: (point: Point) => [number | null, number]): number | null {
  let total = 0;
  let weight = 0;
  for (const point of points) {
    const [value, count] = pick(point);
    if (value === null) continue;
    total += value * Math.max(1, count);
    weight += Math.max(1, count);
  }
  return weight === 0 ? null : total / weight;
}

/** Who did how much; those who did most first. */
export function agentsOf({ points }: History): AgentRow[] {
  const rows = new Map<string, AgentRow>();
  for (const { byAgent } of points) {
    for (const [name, did] of Object.entries(byAgent)) {
      const row = rows.get(name) ?? { name, claimed: 0, completed: 0, failed: 0, lost: 0 };
      row.claimed += did.claimed;
      row.completed += did.completed;
      row.failed += did.failed;
      row.lost += did.lost;
      rows.set(name, row);
    }
  }
  return [...rows.values()].sort((a, b) => b.completed - a.completed || (a.name < b.name ? -1 : 1));
}

/** The next round number above: 1, 2, 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((round) => round >= value)!;
}
