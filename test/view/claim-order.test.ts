// The order of claiming exists once: `dibs ready`, the terminal's queue and the dashboard's queue list tasks as claims take them.

import { join } from "node:path";
import { expect, test } from "vitest";
import { type Dibs, openDibs } from "../../src/index.js";
import { inQueueOrder } from "../../src/tui/queue-order.js";
import { sortedPlaces, usualKeys } from "../../web/src/views/queue/order.js";
import { afterwards, tempDir } from "../support.js";

type Order = "priority" | "depth-first";

/** Batches with siblings, parents with parts, equal priorities, supplied ids: whatever makes orders differ. */
async function fill(dibs: Dibs): Promise<void> {
  await dibs.tasks.batch({
    tasks: [
      { key: "a", prompt: "a", priority: 60 },
      { key: "b", prompt: "b", priority: 60 },
      { key: "c", prompt: "c", priority: 40 },
      { key: "g1", type: "group", title: "first group" },
      { key: "g1a", prompt: "g1a", parentId: "g1" },
      { key: "g1b", prompt: "g1b", parentId: "g1" },
      { key: "g1c", prompt: "g1c", parentId: "g1" },
      { key: "g2", type: "group", title: "second group" },
      { key: "g2a", prompt: "g2a", parentId: "g2" },
      { key: "g2b", prompt: "g2b", parentId: "g2" },
    ],
  });
  await dibs.tasks.create({ prompt: "later", priority: 60 });
  await dibs.tasks.create({ id: "named", prompt: "named" });
  await dibs.tasks.create({ prompt: "urgent", priority: 90 });
}

async function lists(dibs: Dibs) {
  const { rows } = await dibs.tasks.rows({ limit: 1_000 });
  const { project } = await dibs.projects.get({});
  const now = Date.now();
  const isReady = (row: (typeof rows)[number]) => row.state === "queued" && row.openChildren === 0;
  const terminal = inQueueOrder(rows, { settingsOf: () => project.settings, now });
  const around = { now, settings: new Map([[project.id, project.settings]]), nameOf: () => "" };
  const keys = rows.map((row, place) => usualKeys(row, place, around));
  const [first, second, third] = [0, 1, 2].map((n) => keys.map((each) => each[n]!)) as [
    number[],
    number[],
    number[],
  ];
  const places = [...sortedPlaces({ column: null, first, second, third }, false)];
  const { tasks } = await dibs.tasks.claimable({ limit: 100 });
  return {
    command: tasks.map(({ id }) => id),
    terminal: terminal.filter(isReady).map(({ id }) => id),
    dashboard: places
      .map((place) => rows[place]!)
      .filter(isReady)
      .map(({ id }) => id),
  };
}

test.each<Order>(["priority", "depth-first"])(
  "%s: all lists show the order in which claims take tasks",
  async (order) => {
    const dibs = await openDibs({ path: join(tempDir(), "dibs.db") });
    afterwards(() => dibs.close());
    await dibs.projects.update({ settings: { order } });
    await fill(dibs);
    const shown = await lists(dibs);
    const claimed: string[] = [];
    for (;;) {
      const { claim } = await dibs.tasks.claimNext({ sessionId: `s${claimed.length}`, register: true });
      if (!claim) break;
      claimed.push(claim.taskId);
    }
    expect(claimed.length).toBeGreaterThanOrEqual(11);
    expect(shown).toEqual({ command: claimed, terminal: claimed, dashboard: claimed });
  },
);
