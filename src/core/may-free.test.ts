import { expect, test } from "vitest";
import { noChanges } from "./changes.js";
import { mayFree } from "./may-free.js";
import type { Session } from "./session.js";

const session = { project: "demo", id: "a", capacity: 1, endedAt: null, lastSeenAt: 1 } as Session;
const facts = { joinedQueue: false, session: () => session };
const withSession = (change: Partial<Session>) => ({
  ...noChanges(),
  sessions: new Map([["demo/a", { ...session, ...change }]]),
});

test("a heartbeat frees no claim; more room does", () => {
  expect(mayFree(withSession({ lastSeenAt: 2, contextPercent: 5 }), facts)).toBe(false);
  expect(mayFree(withSession({ capacity: 2 }), facts)).toBe(true);
});

test("events, notifications and logs free no claim", () => {
  const document = { kind: "log", key: "a", value: null };
  expect(mayFree({ ...noChanges(), documents: new Map([["log/a", document]]) }, facts)).toBe(false);
});
