// A lander that was killed on this host: explain, the inbox and the list of landings do not wait for the end of its lease.

import { expect, test } from "vitest";
import { TestClock } from "../../src/store/conformance/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { org, Pipeline } from "./world.js";

const place = { repository: "a".repeat(40), target: "main" };

test.each([
  ["that was killed here", { isAlive: (): boolean => false }, "NO_LANDER"],
  ["that lives", { isAlive: (): boolean => true }, "WAITING_TO_LAND"],
  ["of another host", { isAlive: (): boolean => false, hostId: "elsewhere" }, "WAITING_TO_LAND"],
])("a lander %s", async (_what, world, code) => {
  const clock = new TestClock();
  const own = new Pipeline(openMemoryStore(clock), clock);
  await own.store.open(org, "demo");
  const pipeline = new Pipeline(own.store, clock, world);
  await own.call("projects.update", { settings: { land: place } });
  const { hostId: host } = own.executor.environment;
  const holder = "lander-some-host-4711-a1b2c3";
  await own.call("landings.lease", { ...place, holder, host, ttlMs: 60_000 });
  await own.call("sessions.register", { id: "agent" });
  const { task } = await own.call("tasks.create", { title: "One", prompt: "x" });
  await own.call("tasks.claim", { taskId: task.id, sessionId: "agent", start: true });
  await own.call("tasks.submit", { taskId: task.id, sessionId: "agent", result: { output: "" } });
  const isDead = code === "NO_LANDER";
  const { notifications } = await pipeline.call("notifications.inbox", {});
  expect(notifications.map(({ title }) => title)).toEqual(isDead ? ["No lander is running"] : []);
  const { reasons } = await pipeline.call("tasks.explain", { taskId: task.id });
  expect(reasons).toMatchObject([{ code }]);
  expect((await pipeline.call("landings.list", {})).lease?.holder ?? null).toBe(isDead ? null : holder);
});
