import type { SettingsPatch } from "../../src/core/project.js";
import type { SessionInput } from "../../src/core/session.js";
import { type Picker, present } from "./picker.js";
import { sessionIds } from "./scene.js";

/** Leases of seconds, so that a script of a minute sees many of them end. */
export function projectSettings(pick: Picker): SettingsPatch {
  return present({
    claim: pick.maybe(60, () =>
      present({
        minTtlMs: pick.of([100, 1, 1000, 100, 7000, 9_000_000]),
        defaultTtlMs: pick.of([5000, 1000, 60_000, 2000]),
        startTimeoutMs: pick.maybe(50, () => pick.of([1000, 3000, 300_000])),
        orphanThresholdMs: pick.maybe(50, () => pick.of([2000, 4000, 30_000, 3])),
      }),
    ),
    order: pick.maybe(35, () => pick.of(["depth-first", "priority"] as const)),
    ageing: pick.maybe(30, () => ({ enabled: pick.of([true, false]), stepMs: pick.of([1000, 300_000]) })),
    retry: pick.maybe(30, () => ({
      delayMs: pick.of([0, 1000, 30_000]),
      backoff: pick.of(["exponential", "fixed"] as const),
    })),
    maxRetries: pick.maybe(20, () => pick.of([1, 0, 2])),
    maxLost: pick.maybe(20, () => pick.of([2, 1, 3])),
    land: pick.maybe(30, () =>
      present({
        target: pick.of(["main", "main", "next", null]),
        returnsMax: pick.of([5, 1, 2]),
        reviewRoundsMax: pick.of([3, 1]),
        review: pick.of([undefined, "human", "agent", "any", "none"] as const),
      }),
    ),
    notifications: pick.maybe(20, () => ({ taskCompleted: true })),
  });
}

export function sessionInput(pick: Picker): SessionInput {
  const pid = pick.of([undefined, undefined, 7, 8]);
  return present({
    id: pick.chance(3) ? pick.of(["summary", "a b"]) : pick.of(sessionIds),
    pid,
    host: pid === undefined ? undefined : pick.of(["h1", "h2"]),
    processStartedAt: pid === undefined ? undefined : pick.of([undefined, "t1"]),
    heartbeats: pick.of([undefined, true, false]),
    capacity: pick.maybe(30, () => pick.of([1, 2, 3])),
    capabilities: pick.maybe(30, () => pick.some(["gpu", "net"], 2)),
    agentType: pick.maybe(20, () => pick.of(["autonomous", "cli", null])),
    name: pick.maybe(20, () => pick.of(["alice", null])),
    owner: pick.maybe(25, () => pick.of(["a", "ü", null])),
  });
}
