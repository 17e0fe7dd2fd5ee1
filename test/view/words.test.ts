import { describe, expect, test } from "vitest";
import {
  claimMark,
  clockSkewMs,
  leaseLeftMs,
  type SessionEntry,
  sessionHealth,
} from "../../src/client/view/health.js";
import { ago, clock, percent, phaseTag, priorityText, stateAndStage } from "../../src/client/view/words.js";
import type { WireClaim } from "../../src/contract/shapes.js";
import { at, claim, now, row } from "./support.js";

test("times are said in their largest unit", () => {
  expect([0, 30_000, 150_000, 3 * 3_600_000, 50 * 3_600_000].map((ms) => ago(at(ms), now))).toEqual([
    "0s ago",
    "30s ago",
    "2m ago",
    "3h ago",
    "2d ago",
  ]);
  expect(ago(at(-90_000), now)).toBe("in 1m");
  expect([clock(1_799_999), clock(3_723_000), clock(-5)]).toEqual(["29:59", "1:02:03", "0:00"]);
});

test("priorities, phases and shares", () => {
  expect([0, 30, 31, 60, 61, 99, 100].map(priorityText)).toEqual([
    "low 0",
    "low 30",
    "medium 31",
    "medium 60",
    "high 61",
    "high 99",
    "critical 100",
  ]);
  expect([phaseTag("implementation"), phaseTag("test"), phaseTag(null)]).toEqual(["[IMPL]", "[TEST]", ""]);
  expect([percent(66.6), percent(null)]).toEqual(["67%", ""]);
});

test("states in words, with their marks", () => {
  const said = [
    row(),
    row({ notBefore: at(300_000) }),
    row({ type: "group", openChildren: 1 }),
    row({ pendingDependencies: 1 }),
    row({ openChildren: 1 }),
    row({ notBefore: at(-300_000) }),
    row({ state: "claimed", claim: claim() }),
    row({ state: "running", claim: claim({ healthStatus: "stale" }) }),
    row({
      state: "running",
      claim: claim({ healthStatus: "expiring", lastHeartbeat: at(240_000), expiresAt: at(-60_000) }),
    }),
    row({
      state: "running",
      claim: claim({ healthStatus: "expiring", lastHeartbeat: at(5_000), expiresAt: at(-55_000) }),
    }),
    row({ state: "awaiting_response", claim: claim({ healthStatus: "paused" }) }),
    row({ state: "awaiting_response" }),
    row({ state: "submitted", stage: "checking" }),
    row({ state: "submitted", stage: "review" }),
    row({ state: "submitted", stage: "landing" }),
    row({ state: "submitted", stage: "held" }),
    row({ state: "completed" }),
    row({ state: "failed" }),
    row({ state: "cancelled" }),
  ].map((task) => `${claimMark(task, now)} ${stateAndStage(task, now)}`.trim());
  expect(said).toEqual([
    "-- ready",
    "-- ready",
    "group",
    "blocked",
    "waits for subtasks",
    "in 5m",
    "[*] claimed",
    "[!] running",
    "[!] running",
    "[*] running",
    "[?] waiting for an answer",
    "[?] waiting for an answer",
    "submitted, waiting to land",
    "submitted, review",
    "submitted, waiting to land",
    "submitted, held",
    "completed",
    "failed",
    "cancelled",
  ]);
});

test("a lease that ended since it was read is marked", () => {
  expect(claimMark(row({ state: "running", claim: claim({ expiresAt: at(1) }) }), now)).toBe("[!]");
});

test("what is left of a lease; nothing runs off while it stands still", () => {
  expect(leaseLeftMs(claim({ expiresAt: at(-5_000) }), now)).toBe(5_000);
  expect(leaseLeftMs(claim({ expiresAt: at(5_000) }), now)).toBe(0);
  expect(leaseLeftMs(claim({ healthStatus: "paused" }), now)).toBeNull();
});

test("the store's clock is told from a lease that runs", () => {
  const entry = (claimFields: object | null) =>
    ({
      currentTask: claimFields && {
        claim: { ...claim({ expiresAt: at(-60_000) }), remainingMs: 90_000, ...claimFields },
      },
    }) as never;
  expect(clockSkewMs([entry(null), entry({})], now)).toBe(-30_000);
  expect(clockSkewMs([entry({ healthStatus: "paused" }), entry({ remainingMs: 0 })], now)).toBeNull();
});

describe("how a session fares", () => {
  const held = (fields: Partial<WireClaim> = {}, state = "running") =>
    ({
      taskId: "0001",
      title: "t",
      phase: null,
      state,
      claim: { ...claim(), ttlMs: 1_800_000, ...fields },
    }) as never;
  const session = (fields: Partial<SessionEntry>) =>
    ({
      heartbeats: false,
      lastSeenAt: at(1_000),
      endedAt: null,
      currentTask: null,
      claimHistory: [],
      ...fields,
    }) as unknown as SessionEntry;
  /** The last claim ended so long ago. */
  const past = (releaseReason: string, msAgo: number) => [
    { taskId: "0001", claimedAt: at(900_000), releasedAt: at(msAgo), releaseReason, duration: 1 },
  ];

  test.each<[string, Partial<SessionEntry>]>([
    ["idle", {}],
    ["idle", { lastSeenAt: at(3_600_000) }],
    ["lost", { heartbeats: true, lastSeenAt: at(600_000) }],
    ["lost", { heartbeats: true, lastSeenAt: at(600_000), currentTask: held() }],
    ["lost", { endedAt: at(5_000) }],
    ["working", { currentTask: held() }],
    ["working", { currentTask: held({ healthStatus: "warning" }) }],
    ["stalled", { currentTask: held({ healthStatus: "stale" }) }],
    [
      "stalled",
      { currentTask: held({ healthStatus: "expiring", lastHeartbeat: at(31_000), expiresAt: at(-29_000) }) },
    ],
    ["working", { currentTask: held({ healthStatus: "expiring", expiresAt: at(-59_000) }) }],
    ["lost", { claimHistory: past("ttl", 500) }],
    ["lost", { claimHistory: past("session_silent", 500) }],
    ["idle", { claimHistory: past("ttl", 1_500) }],
    ["idle", { claimHistory: past("completed", 500) }],
    ["working", { claimHistory: past("ttl", 500), currentTask: held() }],
    ["lost", { currentTask: held({ expiresAt: at(1) }) }],
    ["lost", { currentTask: held({ healthStatus: "expired" }) }],
    ["waiting", { currentTask: held({ healthStatus: "paused", expiresAt: at(1) }, "awaiting_response") }],
  ])("%s", (health, fields) => {
    expect(sessionHealth(session(fields), now)).toBe(health);
  });
});
