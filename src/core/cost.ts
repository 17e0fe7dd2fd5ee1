// What attempts have cost, as their agents report it, and what the reports add up to: by task, as a whole,
// and by what it was spent on.

import { dayText } from "./calendar.js";
import type { DibsEvent } from "./event.js";

/** Sums of money and minutes stay exact: millionths. */
export const exact = (amount: number): number => Math.round(amount * 1e6) / 1e6;

/** What an attempt has cost so far. Null: nobody said. */
export interface Usage {
  usd: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  model: string | null;
}

/** What all attempts of a task have cost. */
export type TaskUsage = Omit<Usage, "model">;

/** In money. */
export const isCostKnown = ({ usage }: { usage: TaskUsage | null }): boolean => usage?.usd != null;

export const usageFields = ["usd", "inputTokens", "outputTokens"] as const;
const noUsage: Usage = { usd: null, inputTokens: null, outputTokens: null, model: null };

const larger = (a: number | null, b: number | null | undefined) =>
  b === null || b === undefined ? a : a === null ? b : Math.max(a, b);

/** Reports are cumulative: the largest wins, so that a repeated or late one adds nothing. */
export function mergedUsage(before: Usage | null, report: Partial<Usage>): Usage {
  const { usd, inputTokens, outputTokens, model } = before ?? noUsage;
  return {
    usd: larger(usd, report.usd == null ? null : exact(report.usd)),
    inputTokens: larger(inputTokens, report.inputTokens),
    outputTokens: larger(outputTokens, report.outputTokens),
    model: report.model ?? model,
  };
}

/** What the report has added. */
export function addedUsage(before: Usage | null, after: Usage): TaskUsage {
  const added = (field: (typeof usageFields)[number]) => {
    const [was, is] = [before?.[field] ?? null, after[field]];
    return is === null || is === was ? null : exact(is - (was ?? 0));
  };
  return { usd: added("usd"), inputTokens: added("inputTokens"), outputTokens: added("outputTokens") };
}

export function sumOfUsage(sum: TaskUsage | null, added: TaskUsage): TaskUsage {
  const of = (field: (typeof usageFields)[number]) => {
    const [was, more] = [sum?.[field] ?? null, added[field]];
    return more === null ? was : exact((was ?? 0) + more);
  };
  return { usd: of("usd"), inputTokens: of("inputTokens"), outputTokens: of("outputTokens") };
}

/** Reported cost; cost that was not reported is unknown, and not in it. */
export type Cost = Record<keyof TaskUsage, number>;

const costGroups = ["byAgentType", "byLabel", "byResource"] as const;
type CostGroup = (typeof costGroups)[number];

export interface CostTotals extends Cost {
  /** Completed tasks whose cost is known in money, and those of them that landed. */
  completed: number;
  landed: number;
  byAgentType: Record<string, Cost>;
  byLabel: Record<string, Cost>;
  byResource: Record<string, Cost>;
  /** By the day of the report, in UTC; the last ones. */
  byDay: Record<string, Cost>;
}

/** In each group at most so many names are kept apart; the rest is counted together. */
export const costNamesMax = 50;
export const otherNames = "*";
export const costDaysMax = 31;
/** Of sessions that did not say what kind of agent they are. */
const unknownType = "unknown";

export const noCost = (): Cost => ({ usd: 0, inputTokens: 0, outputTokens: 0 });

export const noCostTotals = (): CostTotals => ({
  ...noCost(),
  completed: 0,
  landed: 0,
  byAgentType: {},
  byLabel: {},
  byResource: {},
  byDay: {},
});

/** What one report has added to what the attempt said before. */
export function costOf({ data: { added } }: DibsEvent): Cost {
  const said = (added ?? {}) as Partial<Record<keyof Cost, unknown>>;
  const cost = noCost();
  for (const field of usageFields) if (typeof said[field] === "number") cost[field] = said[field];
  return cost;
}

export function addCost(sum: Cost, added: Cost): void {
  for (const field of usageFields) sum[field] = exact(sum[field] + added[field]);
}

/** With the event that makes a task both completed and of known cost. */
export function countKnown(totals: CostTotals, { data: { costKnown, landed, reason } }: DibsEvent): void {
  if (costKnown !== true) return;
  totals.completed++;
  if (landed === true || reason === "landed") totals.landed++;
}

export function countCost(totals: CostTotals, event: DibsEvent): void {
  countKnown(totals, event);
  const added = costOf(event);
  addCost(totals, added);
  const { agentType, labels, resources } = event.data;
  const names: Record<CostGroup, unknown> = {
    byAgentType: [agentType ?? unknownType],
    byLabel: labels,
    byResource: resources,
  };
  for (const group of costGroups) {
    for (const name of textsIn(names[group])) addCost(namedCost(totals[group], name), added);
  }
  totals.byDay = withDay(totals.byDay, dayText(event.at), added);
}

function withDay(costs: Record<string, Cost>, day: string, added: Cost): Record<string, Cost> {
  const cost = costs[day] ?? noCost();
  addCost(cost, added);
  if (costs[day]) return costs;
  const days = Object.entries({ ...costs, [day]: cost }).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(days.slice(-costDaysMax));
}

/** Events of an older program do not say it. */
const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];

function namedCost(costs: Record<string, Cost>, wanted: string): Cost {
  const isFull = Object.keys(costs).length >= costNamesMax;
  // hasOwn: a label may be called `constructor`.
  const name = Object.hasOwn(costs, wanted) || !isFull ? wanted : otherNames;
  const found = Object.hasOwn(costs, name) ? costs[name]! : noCost();
  // Not by assignment: a label may be called `__proto__`.
  Object.defineProperty(costs, name, { value: found, enumerable: true, configurable: true, writable: true });
  return found;
}

export function copyOfCosts(totals: CostTotals): CostTotals {
  const copies = ([...costGroups, "byDay"] as const).map((group) => [
    group,
    Object.fromEntries(Object.entries(totals[group]).map(([name, cost]) => [name, { ...cost }])),
  ]);
  return { ...totals, ...(Object.fromEntries(copies) as Pick<CostTotals, CostGroup | "byDay">) };
}
