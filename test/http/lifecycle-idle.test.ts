// What a fleet that has nothing to do costs: waiting calls and open streams write nothing, and do not look one by one.

import { expect, test } from "vitest";
import { until } from "../faults/support.js";
import { Reader } from "./reader.js";
import { openWorld, storeNames, type World } from "./support.js";

const waiters = 300;
const streams = 100;

interface Figures {
  commits: number;
  reads: number;
  lastSeq: number;
}

async function figures(world: World): Promise<Figures> {
  const { body } = await world.get("/metrics");
  const count = (operation: string) =>
    Number(new RegExp(`^dibs_store_seconds_count\\{operation="${operation}"\\} (\\d+)$`, "m").exec(body)![1]);
  const reader = new Reader({ url: world.url, token: world.token });
  await until("the log's end is told", () => reader.comments.length > 0);
  reader.destroy();
  const lastSeq = Number(reader.comments[0]!.replace("ready ", ""));
  return { commits: count("commit"), reads: count("read"), lastSeq };
}

test.each(storeNames)("many waiting calls and streams cost an idle server on %s no commit", async (store) => {
  const world = await openWorld(store, { limits: { commentMs: 100 } });
  const readers: Reader[] = [];
  try {
    for (let at = 0; at < streams; at++) readers.push(new Reader({ url: world.url, token: world.token }));
    const [clock] = readers;
    /** As many comments, each a tenth of a second after the one before. */
    const pass = async (comments: number) => {
      const from = clock!.comments.length;
      await until("time passes", () => clock!.comments.length >= from + comments);
    };
    const answers = Array.from({ length: waiters }, (_, at) =>
      world.post("/api/tasks/claim-next", { sessionId: `w${at}`, register: true, waitMs: 60_000 }),
    );
    await until("all streams are ready", () => readers.every(({ comments }) => comments.length > 0));
    // Sessions come, and what they began is finished. After that, three seconds pass without a commit.
    let before = await figures(world);
    let after = before;
    for (
      let round = 0;
      round === 0 || after.commits !== before.commits || before.lastSeq < waiters;
      round++
    ) {
      expect(round, "spans of three seconds, all with commits").toBeLessThan(20);
      before = after;
      await pass(30);
      after = await figures(world);
    }
    expect(after.lastSeq).toBe(before.lastSeq);
    // The server looks for dead processes, due leases and revoked tokens, each once for all.
    expect(after.reads - before.reads).toBeLessThan(waiters / 2);

    const id = await world.task();
    const first = await Promise.race(answers);
    expect(first.body.claim.taskId).toBe(id);
    await world.server.close();
    const all = await Promise.all(answers);
    expect(all.filter(({ status }) => status !== 200)).toEqual([]);
    expect(all.filter(({ body }) => body.claim !== null)).toEqual([first]);
    for (const reader of readers) expect(await reader.ended).toBe("complete");
  } finally {
    for (const reader of readers) reader.destroy();
    await world.close();
  }
});
