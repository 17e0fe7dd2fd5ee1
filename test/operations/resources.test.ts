import { expect, test } from "vitest";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { org, project, Teller } from "../metrics/support.js";

test("a task waits for the account of every worker that fits: explain and the list of resources say so", async () => {
  const store = openMemoryStore(new TestClock());
  await store.open(org, project);
  const teller = new Teller(store);
  for (const id of ["one", "two"]) {
    await teller.call("resources.set", { id });
    await teller.call("sessions.register", { id: `w-${id}`, uses: { [id]: 1 } });
  }
  await teller.create(1);
  const waiting = async () =>
    (await teller.call("resources.list")).resources.map((each: { waiting: number }) => each.waiting);
  const explained = () => teller.call("tasks.explain", { taskId: "0001" });
  await teller.call("resources.hold", { id: "one", reason: "five hours" });
  // The other worker can take it.
  expect(await waiting()).toEqual([0, 0]);
  expect(await explained()).toMatchObject({ claimable: true, reasons: [] });
  await teller.call("resources.hold", { id: "two" });
  expect(await waiting()).toEqual([1, 1]);
  expect(await explained()).toMatchObject({
    claimable: true,
    reasons: [{ code: "RESOURCE_HELD", resource: "one", fix: "dibs resource resume one" }],
  });
});
