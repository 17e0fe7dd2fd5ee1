// A call is validated and authorised once, however many transactions and tries it takes.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { OperationName } from "../../src/contract/registry.js";
import { operations } from "../../src/contract/registry.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { until } from "../support.js";
import { org, Pipeline } from "./world.js";

/** Validation reads the input schema of an operation once, authorisation its role. */
const admissions = { validated: [] as string[], authorised: [] as string[] };
const restore: (() => void)[] = [];

function note(operation: object, key: string, reads: string[]): void {
  const before = Object.getOwnPropertyDescriptor(operation, key)!;
  const get = () => {
    reads.push((operation as { name: string }).name);
    return before.get ? before.get.call(operation) : before.value;
  };
  Object.defineProperty(operation, key, { get, configurable: true, enumerable: true });
  restore.push(() => Object.defineProperty(operation, key, before));
}

function forgetAdmissions(): void {
  admissions.validated.length = 0;
  admissions.authorised.length = 0;
}

let pipeline: Pipeline;

beforeEach(async () => {
  for (const operation of operations) {
    note(operation, "input", admissions.validated);
    note(operation, "role", admissions.authorised);
  }
  const clock = new TestClock();
  const store = openMemoryStore(clock);
  await store.open(org, "demo");
  pipeline = new Pipeline(store, clock);
  await pipeline.call("tasks.create", { prompt: "x" });
  await pipeline.call("sessions.register", { id: "a" });
  forgetAdmissions();
});

afterEach(async () => {
  for (const each of restore.splice(0)) each();
  await pipeline.store.close();
});

test.each<[string, OperationName, object]>([
  ["with preparation", "tasks.explain", { taskId: "0001" }],
  ["that waits for a task", "tasks.claim", { taskId: "0001", sessionId: "a", waitMs: 1000 }],
  ["with many tasks", "tasks.bulk", { action: "cancel", filter: {}, all: true }],
  ["with many tasks, as a dry run", "tasks.bulk", { action: "cancel", filter: {}, all: true, dryRun: true }],
  ["that takes several rounds", "claims.cleanup", {}],
  ["of a list", "tasks.list", {}],
  ["without preparation", "tasks.get", { taskId: "0001" }],
])("a call %s is validated and authorised once: %s", async (_, name, input) => {
  await pipeline.call(name, input as never);
  expect(admissions).toEqual({ validated: [name], authorised: [name] });
});

test("a call with an idempotency key is validated and authorised once", async () => {
  const options = { idempotencyKey: "k" };
  await pipeline.call("tasks.bulk", { action: "cancel", taskIds: ["0001"] }, {}, options);
  expect(admissions).toEqual({ validated: ["tasks.bulk"], authorised: ["tasks.bulk"] });
});

test("a revocation is validated and authorised once", async () => {
  const { id } = await pipeline.call("tokens.create", { name: "t", role: "worker" });
  forgetAdmissions();
  await pipeline.call("tokens.revoke", { id });
  expect(admissions).toEqual({ validated: ["tokens.revoke"], authorised: ["tokens.revoke"] });
});

test("a claim that waits and tries several times is validated and authorised once", async () => {
  await pipeline.call("tasks.claim", { taskId: "0001", sessionId: "a" });
  await pipeline.call("sessions.register", { id: "b" });
  forgetAdmissions();
  const transact = vi.spyOn(pipeline.executor, "transact");
  const waiting = pipeline.call("tasks.claimNext", { sessionId: "b", waitMs: 60_000 });
  await until("it has tried twice", () => transact.mock.calls.length === 2);
  expect(admissions).toEqual({ validated: ["tasks.claimNext"], authorised: ["tasks.claimNext"] });
  await pipeline.call("tasks.create", { prompt: "y" });
  expect((await waiting).claim?.taskId).toBe("0002");
  expect(transact.mock.calls.filter(([{ handler }]) => handler.name === "tasks.claimNext")).toHaveLength(3);
  const names = ["tasks.claimNext", "tasks.create"];
  expect(admissions).toEqual({ validated: names, authorised: names });
});

test("a call that is refused prepares nothing", async () => {
  const read = vi.spyOn(pipeline.store, "read");
  const viewer = { role: "viewer" } as const;
  await expect(pipeline.call("locks.acquire", { name: "l" }, viewer)).rejects.toThrow(/role \w+ is required/);
  await expect(pipeline.call("locks.acquire", {} as never)).rejects.toThrow(/name/);
  expect(read).not.toHaveBeenCalled();
});
