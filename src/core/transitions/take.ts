// What a claim takes and gives back besides its units, which `account.ts` counts: the turn after a hold has ended, a reservation,
// and time and money of budgets.

import { dropReservation, needsMany } from "../availability.js";
import { minuteText } from "../calendar.js";
import type { Attempt, Claim } from "../claim.js";
import { exact, type Usage } from "../cost.js";
import type { Draft } from "../draft.js";
import {
  type Budget,
  type BudgetSpent,
  type BudgetUnit,
  isHalfOpen,
  isHidden,
  liveProbe,
  periodAt,
  probeMs,
  putResource,
  putSpent,
  type Resource,
  type ResourceHold,
  resourceOf,
  type Spent,
  spentOf,
  withoutPauses,
} from "../resource.js";

type Lease = Pick<Claim | Attempt, "project" | "taskId" | "epoch" | "uses">;

function* resourcesIn(draft: Draft, { uses }: Pick<Lease, "uses">): Generator<Resource> {
  for (const id in uses) {
    const resource = isHidden(id) ? undefined : resourceOf(draft, id);
    if (resource) yield resource;
  }
}

export function takeResources(draft: Draft, claim: Claim): void {
  if (claim.uses === null) return;
  const { project, taskId, epoch } = claim;
  if (needsMany(claim.uses)) dropReservation(draft, project, taskId);
  for (const resource of resourcesIn(draft, claim)) {
    if (isHalfOpen(resource, draft.now)) {
      const probe = { project, taskId, epoch, until: draft.now + probeMs, holds: resource.holds };
      putResource(draft, { ...resource, holds: [], probe });
      emitChanged(draft, resource.id, "half-open");
    }
    warnOfUnknownCost(draft, resource, project);
  }
}

/** The holder has worked: the others can go, too. */
export function endProbe(draft: Draft, claim: Claim): void {
  for (const resource of resourcesIn(draft, claim)) {
    if (!isProbeOf(resource, claim)) continue;
    putResource(draft, { ...withoutPauses(resource), probe: null });
    emitChanged(draft, resource.id, "open");
  }
}

function isProbeOf({ probe }: Resource, { project, taskId, epoch }: Lease): boolean {
  return probe?.project === project && probe.taskId === taskId && probe.epoch === epoch;
}

/** How an attempt that has worked ends; others say nothing about a resource or a cost. */
const worked: ReadonlySet<Attempt["end"]> = new Set(["complete", "submit"]);
const reporting: ReadonlySet<Attempt["end"]> = new Set(["complete", "submit", "fail"]);

/** Returns the resources whose budgets count the attempt as one of unknown cost. */
export function giveResourcesBack(draft: Draft, attempt: Attempt): string[] | null {
  let unreported: string[] | null = null;
  for (const resource of resourcesIn(draft, attempt)) {
    if (isProbeOf(resource, attempt)) putResource(draft, afterProbe(resource, attempt, draft.now));
    if (resource.budgets.length === 0) continue;
    const minutes = exact(Math.max(0, draft.now - attempt.claimedAt) / 60_000);
    charge(draft, resource.id, { minutes }, attempt.project);
    if (!isCostMissing(resource, attempt)) continue;
    countUnknown(draft, resource.id, 1);
    unreported = [...(unreported ?? []), resource.id];
  }
  return unreported;
}

/** One that ended without having worked leaves its turn to the next claim. */
function afterProbe(resource: Resource, { end }: Attempt, now: number): Resource {
  const probe = liveProbe(resource, now);
  const isUnproven = probe !== null && !worked.has(end) && resource.holds.length === 0;
  const after = worked.has(end) ? withoutPauses(resource) : resource;
  return { ...after, holds: isUnproven ? probe.holds : resource.holds, probe: null };
}

/** An attempt that worked and did not say what a budget counts. */
function isCostMissing({ budgets }: Resource, { end, usage }: Attempt): boolean {
  return reporting.has(end) && budgets.some(({ unit }) => isUnknown(unit, usage));
}

const isUnknown = (unit: BudgetUnit, usage: Usage | null) =>
  (unit === "usd" && usage?.usd == null) ||
  (unit === "tokens" && usage?.inputTokens == null && usage?.outputTokens == null);

/** A late report: what remains of the attempt's resources that count it as one of unknown cost. */
export function stillUnreported(draft: Draft, attempt: Attempt): Attempt["unreported"] {
  const remaining = attempt.unreported?.filter((id) => {
    const resource = resourceOf(draft, id);
    // Another one of the same id counts from 0.
    if (!resource || resource.createdAt > attempt.releasedAt) return false;
    if (isCostMissing(resource, attempt)) return true;
    countUnknown(draft, id, -1);
    return false;
  });
  return remaining?.length ? remaining : null;
}

function countUnknown(draft: Draft, id: string, change: 1 | -1): void {
  const spent = spentOf(draft, id);
  putSpent(draft, id, { ...spent, unknown: Math.max(0, spent.unknown + change) });
}

/** When the next one is claimed: until then, the holder of the last one has the time to report. */
function warnOfUnknownCost(draft: Draft, { id, budgets }: Resource, project: string): void {
  if (!budgets.some(({ unit }) => unit !== "minutes")) return;
  const spent = spentOf(draft, id);
  if (spent.unknown === 0 || spent.isWarned) return;
  putSpent(draft, id, { ...spent, isWarned: true });
  draft.notify("BUDGET_UNKNOWN", {
    task: { project, id: null },
    title: `The budget of resource ${id} cannot be enforced`,
    message: `Attempts that use it end without reporting what they cost. Report it with: dibs usage <task> --usd <amount>`,
  });
}

type Amounts = Partial<Record<BudgetUnit, number>>;

/** Adds to the budgets of a resource, and holds it when one is spent. */
export function charge(draft: Draft, id: string, added: Amounts, project: string): void {
  const budgets = resourceOf(draft, id)?.budgets ?? [];
  const of = (unit: BudgetUnit) => added[unit] ?? 0;
  const counts = (["usd", "tokens"] as const).some((unit) => of(unit) > 0);
  if (!counts && !budgets.some(({ unit }) => of(unit) > 0)) return;
  const before = spentOf(draft, id);
  const spent: Spent = {
    ...before,
    usd: exact(before.usd + of("usd")),
    tokens: before.tokens + of("tokens"),
    minutes: exact(before.minutes + of("minutes")),
    budgets: budgets.map((budget) => {
      const current = currentSpent(before, budget, draft.now);
      return { ...current, spent: exact(current.spent + of(budget.unit)) };
    }),
  };
  putSpent(draft, id, spent);
  enforceBudgets(draft, id, project);
}

/** What a budget has spent in the period that is now. */
export function currentSpent({ budgets }: Spent, { unit, period }: Budget, now: number): BudgetSpent {
  const { start } = periodAt(period, now);
  const known = budgets.find((each) => each.unit === unit && each.period === period);
  if (known?.start === start) return known;
  return { unit, period, start, spent: 0, isNoticed: false, isWaived: false };
}

/** The `budget` hold as the budgets are now: put, moved or ended. */
export function enforceBudgets(draft: Draft, id: string, project: string): void {
  // As the decision has left it: its probe may just have ended.
  const resource = resourceOf(draft, id);
  if (!resource) return;
  const spent = spentOf(draft, id);
  const over = resource.budgets.filter((budget) => {
    const { spent: amount, isWaived } = currentSpent(spent, budget, draft.now);
    return amount >= budget.amount && !isWaived;
  });
  const before = resource.holds.find(({ source }) => source === "budget");
  const others = resource.holds.filter((hold) => hold !== before);
  if (over.length === 0) {
    if (before && (before.until === null || before.until > draft.now)) {
      putResource(draft, { ...resource, holds: others });
      emitChanged(draft, id, "resumed");
    }
    return;
  }
  const ends = over.map(({ period }) => periodAt(period, draft.now).end);
  const until = ends.includes(null) ? null : Math.max(...(ends as number[]));
  if (!before || before.until !== until) {
    const reason = `its budget for the ${until === null ? "whole" : periodNames(over)} is spent`;
    const hold: ResourceHold = { source: "budget", until, reason, by: "system", at: draft.now };
    putResource(draft, { ...resource, holds: [...others, hold] });
    emitChanged(draft, id, "held", { source: "budget", until });
  }
  noticeSpent(draft, resource, { over, until, spent, project });
}

const periodNames = (over: readonly Budget[]) => [...new Set(over.map(({ period }) => period))].join(" and ");

const budgetText = ({ amount, unit, period }: Budget) => `${amount}${unit}/${period}`;

/** One inbox item for each period. */
function noticeSpent(
  draft: Draft,
  { id, budgets }: Resource,
  how: { over: Budget[]; until: number | null; spent: Spent; project: string },
): void {
  const { over, until, spent, project } = how;
  const isNews = over.some((budget) => !currentSpent(spent, budget, draft.now).isNoticed);
  if (!isNews) return;
  const noticed = budgets.map((budget) => {
    const current = currentSpent(spent, budget, draft.now);
    return over.includes(budget) ? { ...current, isNoticed: true } : current;
  });
  putSpent(draft, id, { ...spent, budgets: noticed });
  // All of them: the command replaces what there is.
  const raised = noticed.map((current, at) => {
    const budget = budgets[at]!;
    const amount = over.includes(budget) ? exact(2 * Math.max(budget.amount, current.spent)) : budget.amount;
    return `--budget ${budgetText({ ...budget, amount })}`;
  });
  const end = until === null ? "until it is raised" : `until ${minuteText(until)}`;
  draft.notify("BUDGET_SPENT", {
    task: { project, id: null },
    title: `The budget of resource ${id} is spent`,
    message:
      `${over.map(budgetText).join(", ")}: no claim gets the resource ${end}; running tasks continue. ` +
      `Raise it: dibs resource set ${id} ${raised.join(" ")}. ` +
      `Or wait, or run: dibs project pause ${project}`,
  });
}

export function emitChanged(
  draft: Draft,
  id: string,
  change: "created" | "set" | "held" | "resumed" | "half-open" | "open" | "removed",
  more: Record<string, unknown> = {},
): void {
  draft.emit("resource:updated", { project: null, data: { resource: id, change, ...more } });
}
