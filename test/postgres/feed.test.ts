// Who follows the log in another process, while many write through others, misses nothing and sees nothing twice.

import { expect, test } from "vitest";
import type { Dibs } from "../../src/index.js";
import { Child, open, until } from "../faults/support.js";
import { testDatabase } from "./database.js";
import { stored } from "./support.js";

const database = await testDatabase();
const writersPerStore = 8;
const rounds = 10;

async function follower(after: number): Promise<Child> {
  const child = new Child("client.mjs", { url: `${database.url}?pool=2` });
  await child.said("ready");
  child.send("follow", { after });
  return child;
}

async function write(dibs: Dibs): Promise<void> {
  const { session } = await dibs.sessions.register();
  const sessionId = session.id;
  for (let round = 0; round < rounds; round++) {
    await dibs.tasks.create({ prompt: "work" });
    const { claim } = await dibs.tasks.claimNext({ sessionId });
    if (!claim) continue;
    const { taskId, epoch } = claim;
    if (round % 3 === 0) await dibs.tasks.release({ taskId, sessionId, epoch });
    else await dibs.tasks.complete({ taskId, sessionId, epoch });
  }
}

test("two followers see every event of sixteen writers once, in order, up to the last", async () => {
  const stores = await Promise.all([open({ url: database.url }), open({ url: database.url })]);
  const early = await follower(0);
  const writing = stores.flatMap((dibs) => Array.from({ length: writersPerStore }, () => write(dibs)));
  // The second one comes when much has happened already, and begins in the middle.
  await until("events were seen", () => early.of("event").length > 100);
  const late = await follower(50);
  await Promise.all(writing);

  const { events } = await stored(database.url);
  expect(events.length).toBeGreaterThan(2 * writersPerStore * rounds * 3);
  const expected = events.map(({ seq, type, taskId }) => `${seq} ${type} ${taskId}`);
  const seenBy = (child: Child) =>
    child.of("event").map(({ event: { seq, type, taskId } }) => `${seq} ${type} ${taskId}`);
  for (const child of [early, late]) {
    await until("the last event arrives", () => child.of("event").at(-1)?.event.seq === events.length);
  }
  // One more commit: had anything come twice, it would have come before this.
  await stores[0]!.tasks.create({ prompt: "the end" });
  const total = (await stored(database.url)).events.length;
  for (const child of [early, late]) {
    await until("the end arrives", () => child.of("event").at(-1)?.event.seq === total);
  }
  expect(seenBy(early).slice(0, expected.length)).toEqual(expected);
  expect(seenBy(late).slice(0, expected.length - 50)).toEqual(expected.slice(50));
  expect(seenBy(early)).toHaveLength(total);
  expect(seenBy(late)).toHaveLength(total - 50);
});
