// What is landing or being reviewed when a store is exported: the work moves, the leases on it stay behind.

import { expect, test } from "vitest";
import { importOrg } from "../../src/transfer/import.js";
import { project, Teller } from "../metrics/support.js";
import { drivers, withStores } from "./drivers.js";
import { org } from "./history.js";
import { again, exported } from "./lines.js";

const minute = 60_000;
const commit = (digit: string) => digit.repeat(40);
const place = { repository: commit("a"), target: "main" };
const memory = drivers[0]!;

async function submit(teller: Teller): Promise<string> {
  const held = await teller.claim("author", { start: true });
  await teller.call("tasks.submit", { ...held, commit: commit("1"), base: commit("0") });
  return held.taskId;
}

async function lander(teller: Teller, holder: string): Promise<number> {
  const { lease } = await teller.call("landings.lease", { ...place, holder, ttlMs: 10 * minute });
  return lease.epoch;
}

/** Its intent is recorded, and it is not on the target yet. */
async function intend(teller: Teller, epoch: number, taskId: string): Promise<string> {
  const tasks = [{ taskId, submission: 1, commit: commit("2") }];
  const { landing } = await teller.call("landings.open", { ...place, epoch, tasks, commit: commit("2") });
  return landing.id;
}

test.each(drivers)(
  "an open intent stays behind: the task waits again in $name, and lands there",
  async (to) => {
    await withStores([memory, to], async ([from, target], clock) => {
      await from!.open(org, project);
      const original = new Teller(from!);
      await original.call("projects.update", { settings: { land: place } });
      await original.create(1);
      const taskId = await submit(original);
      const epoch = await lander(original, "before");
      await intend(original, epoch, taskId);
      await expect(original.call("tasks.withdraw", { taskId })).rejects.toMatchObject({
        code: "LANDING_NOW",
      });
      const lines = await exported(from!);
      const rows = lines.map((line) => JSON.parse(line));
      const task = rows.find(({ kind }) => kind === "task").row;
      expect(task).toMatchObject({
        id: taskId,
        state: "submitted",
        submission: { number: 1, landing: null },
      });
      await importOrg(target!, org, again(lines));
      clock.advance(minute);
      const copy = new Teller(target!);
      expect(await copy.call("landings.list")).toMatchObject({
        landings: [],
        lease: null,
        queue: [{ taskId }],
      });
      // At once: no lease of the other installation has to end first.
      const own = await lander(copy, "after");
      const landing = await intend(copy, own, taskId);
      await copy.call("landings.landed", { id: landing, epoch: own });
      expect((await copy.call("tasks.get", { taskId })).task).toMatchObject({
        state: "completed",
        landed: { commit: commit("2") },
      });
    });
  },
);

test.each(drivers)(
  "an open review stays behind, a verdict moves: another reviewer gets it in $name",
  async (to) => {
    await withStores([memory, to], async ([from, target]) => {
      await from!.open(org, project);
      const original = new Teller(from!);
      await original.call("projects.update", { settings: { land: { ...place, review: "agent" } } });
      await original.create(2);
      const ids = [await submit(original), await submit(original)];
      for (const taskId of ids) await inspect(original, taskId);
      const review = { kind: "review", register: true };
      const first = await original.call("tasks.claimNext", { sessionId: "critic", ...review });
      const approved = first.claim.taskId;
      await original.call("tasks.approve", { taskId: approved, submission: 1, sessionId: "critic" });
      const second = await original.call("tasks.claimNext", { sessionId: "critic", ...review });
      const waiting = second.claim.taskId;
      expect([approved, waiting].sort()).toEqual(ids);
      const reviewsOf = async (teller: Teller, taskId: string) =>
        (await teller.call("tasks.submission", { taskId })).submission.reviews;
      expect(await reviewsOf(original, waiting)).toMatchObject([
        { sessionId: "critic", verdict: null, live: true },
      ]);
      await importOrg(target!, org, again(await exported(from!)));
      const copy = new Teller(target!);
      expect(await reviewsOf(copy, approved)).toMatchObject([{ sessionId: "critic", verdict: "approve" }]);
      expect(await reviewsOf(copy, waiting)).toEqual([]);
      const next = await copy.call("tasks.claimNext", { sessionId: "another", ...review });
      expect(next.claim.taskId).toBe(waiting);
    });
  },
);

/** What a lander records before anybody is asked for a review. */
async function inspect(teller: Teller, taskId: string): Promise<void> {
  const epoch = await lander(teller, "lander");
  const { landing } = await teller.call("landings.open", { ...place, epoch, tasks: [] });
  const changed = { base: commit("0"), files: [{ path: "a.ts", insertions: 1, deletions: 0 }], fileCount: 1 };
  const diff = { ...changed, insertions: 1, deletions: 0, reviewPaths: [], patchId: null };
  const patch = { text: "+a\n", omitted: 0 };
  const of = { id: landing.id, epoch };
  await teller.call("landings.diff", { ...of, taskId, submission: 1, diff, patch });
  await teller.call("landings.dropped", of);
}
