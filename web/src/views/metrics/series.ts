// From the store's minutes and hours to what a chart can show: at most so many columns, sums added up, averages weighted.

import type { OperationNamed, OutputOf } from "../../data/dibs.js";

export type History = OutputOf<OperationNamed<"metrics.history">>;
export type Point = History["points"][number];

export const columnsMax = 120;

export interface Work {
  claimed: number;
  completed: number;
  failed: number;
  lost: number;
  claimWait: Mean;
  duration: Mean;
  questionWait: Mean;
}

export interface Column extends Work {
  at: number;
  created: number;
  usd: number;
  queued: number;
  oldestReadyMs: number | null;
}

/** Of so many. */
export interface Mean {
  ms: number | null;
  count: number;
}

export interface AgentRow extends Work {
  name: string;
}

/** Of one agent, if it is named: what only the whole has (created, queued, their age) is that of the whole. */
export function columnsOf({ points }: History, agent = ""): Column[] {
  const size = Math.max(1, Math.ceil(points.length / columnsMax));
  const columns: Column[] = [];
  for (let from = 0; from < points.length; from += size)
    columns.push(merged(points.slice(from, from + size), agent));
  return columns;
}

function merged(points: readonly Point[], agent: string): Column {
  const ages = points.flatMap(({ oldestReadyMs }) => oldestReadyMs ?? []);
  return {
    at: Date.parse(points[0]!.at),
    created: points.reduce((total, { created }) => total + created, 0),
    usd: points.reduce((total, { usage }) => total + usage.usd, 0),
    queued: points.at(-1)!.queued,
    oldestReadyMs: ages.length === 0 ? null : Math.max(...ages),
    ...workOf(agent === "" ? points : points.flatMap((point) => didIn(point, agent) ?? [])),
  };
}

type Did = Point["byAgent"][string];

/** hasOwn: a session may be called `constructor`. */
const didIn = ({ byAgent }: Point, agent: string): Did | undefined =>
  Object.hasOwn(byAgent, agent) ? byAgent[agent] : undefined;

function workOf(parts: readonly Did[]): Work {
  const sum = (pick: (part: Did) => number) => parts.reduce((total, part) => total + pick(part), 0);
  return {
    claimed: sum((part) => part.claimed),
    completed: sum((part) => part.completed),
    failed: sum((part) => part.failed),
    lost: sum((part) => part.lost),
    claimWait: meanOf(parts.map(({ avgClaimWaitMs: ms, claimed: count }) => ({ ms, count }))),
    duration: meanOf(parts.map(({ avgDurationMs: ms, completed: count }) => ({ ms, count }))),
    questionWait: meanOf(parts.map(({ avgQuestionWaitMs: ms, answered: count }) => ({ ms, count }))),
  };
}

/** The mean of all, however they are spread. */
export function meanOf(means: readonly Mean[]): Mean {
  let [total, count] = [0, 0];
  for (const mean of means) {
    if (mean.ms === null) continue;
    total += mean.ms * mean.count;
    count += mean.count;
  }
  return { ms: count === 0 ? null : total / count, count };
}

/** Who did how much; those who did most first. */
export function agentsOf({ points }: History): AgentRow[] {
  const parts = new Map<string, Did[]>();
  for (const { byAgent } of points) {
    for (const [name, did] of Object.entries(byAgent)) {
      const known = parts.get(name);
      if (known) known.push(did);
      else parts.set(name, [did]);
    }
  }
  const rows = [...parts].map(([name, each]) => ({ name, ...workOf(each) }));
  return rows.sort((a, b) => b.completed - a.completed || (a.name < b.name ? -1 : 1));
}

/** The next round number above: 1, 2, 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((round) => round >= value)!;
}

const second = 1_000;
const [minute, hour, day] = [60 * second, 3_600 * second, 86_400 * second];
const roundTimes = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
];

/** The next time above that is said in one word: 30 s, 2 m, 6 h. */
export function roundUpMs(ms: number): number {
  if (ms <= second) return roundUp(ms);
  return roundTimes.find((round) => round >= ms) ?? roundUp(ms / day) * day;
}

/** `350 ms`, `4.2 s`, `1m 40s`, `2h 5m`: two units are enough. */
export function exactly(ms: number): string {
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < minute) return `${Math.round(ms / 100) / 10} s`;
  const units: [string, number][] = [
    ["d", day],
    ["h", hour],
    ["m", minute],
    ["s", second],
  ];
  const whole = Math.round(ms / second) * second;
  const from = units.findIndex(([, size]) => whole >= size);
  const [[big, size], [small, part]] = [units[from]!, units[from + 1]!];
  const parts = Math.round(whole / part);
  const rest = parts % (size / part);
  const first = `${Math.floor(parts / (size / part))}${big}`;
  return rest === 0 ? first : `${first} ${rest}${small}`;
}
