// How time passes in a script: by little, to just around an instant at which something happens, by much, and back.

import { dueAt } from "../../src/core/claim.js";
import { limits } from "../../src/core/limits.js";
import { reservationsOf, resourcesOf } from "../../src/core/resource.js";
import type { Reads } from "../../src/core/view.js";
import type { Picker } from "./picker.js";

const all = 1_000_000;

/** Where the clock stands after the step. It goes back by a day at most: beyond that, it shows when a store forgot a key. */
export function clockAfter(pick: Picker, view: Reads, clock: number, furthest: number): number {
  const back = limits.idempotencyKeepMs - limits.idempotencyMs;
  return Math.max(furthest - back, anywhere(pick, view, clock));
}

function anywhere(pick: Picker, view: Reads, clock: number): number {
  const little = [0, 1, 7, 100, 999, 1000, 2500, 5000];
  const kind = pick.below(100);
  if (kind < 30) return clock + pick.of(little);
  if (kind < 72) return pick.of(instants(view, clock)) + pick.of([0, -1, 1]);
  if (kind < 82) return clock + pick.of([60_000, 300_000, 1_800_000]);
  if (kind < 85) return clock + pick.of([limits.idempotencyMs, limits.idempotencyMs + 1, 90_000_000]);
  if (kind < 95) return clock - pick.of([1, 50, 999, 30_000, 60_000]);
  return clock - pick.of([60_001, 3_600_000, 86_400_000]);
}

function instants(view: Reads, clock: number): number[] {
  const found: number[] = [];
  for (const claim of view.openClaims({ project: null, limit: all })) {
    found.push(dueAt(claim) ?? clock, claim.expiresAt, claim.startBy ?? clock);
    if (claim.silentAt !== null) found.push(claim.silentAt);
  }
  for (const task of view.tasks({ project: null, afterOrdinal: 0, limit: all })) {
    if (task.notBefore !== null && task.notBefore > clock) found.push(task.notBefore);
  }
  for (const session of view.sessions({ project: null, live: true, limit: all })) {
    for (const { until } of session.avoid) found.push(until);
  }
  const { resources, reservations } = { resources: resourcesOf(view), reservations: reservationsOf(view) };
  for (const { holds, probe } of resources) {
    for (const { until } of holds) found.push(until ?? clock);
    if (probe) found.push(probe.until);
  }
  for (const { until } of reservations) found.push(until);
  const soon = found.filter((at) => at >= clock && at < clock + 10_000_000);
  return soon.length === 0 ? [clock + 5000] : soon;
}
