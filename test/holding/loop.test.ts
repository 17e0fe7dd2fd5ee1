// The work loop: what its slots do when there is nothing to claim, when something comes, and when it must stop.

import { expect, test } from "vitest";
import { type Answer, WorkLoop } from "../../src/client/holding/index.js";
import { aborted } from "../support.js";

type Options = ConstructorParameters<typeof WorkLoop<string>>[0];

/** Claims are answered in order, then with nothing. A waiting claim waits for its signal, as at an idle store. */
function loopOf(answers: Partial<Answer<string>>[], more: Partial<Options> = {}) {
  const log: string[] = [];
  const loop: WorkLoop<string> = new WorkLoop<string>({
    slots: 1,
    ends: "idle",
    claimWaitMs: 60_000,
    idleWaitMs: 0,
    claim: async (slot, { waitMs, signal }) => {
      log.push(`claim ${slot}${waitMs > 0 ? " waiting" : ""}`);
      const answer = answers.shift();
      if (answer) return { claimed: null, ...answer };
      if (waitMs > 0) await aborted(signal);
      return { claimed: null };
    },
    run: async (slot, task) => {
      log.push(`run ${slot} ${task}`);
      return "completed";
    },
    ...more,
  });
  return { loop, log };
}

test("it ends after a look without waiting that found nothing", async () => {
  const { loop, log } = loopOf([{ claimed: "a" }, { claimed: "b" }]);
  await loop.run();
  expect(log).toEqual(["claim 0", "run 0 a", "claim 0", "run 0 b", "claim 0"]);
});

test("while another slot runs it waits, because that can unblock something, and looks again afterwards", async () => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const answers: Partial<Answer<string>>[] = [{ claimed: "a" }, {}];
  const { loop, log } = loopOf(answers, {
    slots: 2,
    run: async (slot, task) => {
      log.push(`run ${slot} ${task}`);
      if (task === "a") {
        await finished;
        answers.push({ claimed: "unblocked" });
      }
      return "completed";
    },
  });
  const done = loop.run();
  await expect.poll(() => log.includes("claim 1 waiting"), { timeout: 60_000 }).toBe(true);
  finish();
  await done;
  expect(log).toContainEqual(expect.stringMatching(/^run \d unblocked$/));
});

test("without an end it waits for work until it is stopped", async () => {
  const { loop, log } = loopOf([], { ends: "never" });
  const done = loop.run();
  await expect.poll(() => log.includes("claim 0 waiting"), { timeout: 60_000 }).toBe(true);
  loop.stop();
  await done;
});

test("a task that is scheduled keeps a loop that works until empty, not one that works until idle", async () => {
  const later = { scheduledAt: "2030-01-01T00:00:00.000Z" };
  const idle = loopOf([later]);
  await idle.loop.run();
  expect(idle.log).toEqual(["claim 0"]);
  const empty = loopOf([later, later, { claimed: "retry" }], { ends: "empty" });
  await empty.loop.run();
  expect(empty.log).toContain("run 0 retry");
});

test("a breaker is reported once, again after a success, and given up at last", async () => {
  const open = (failures: number) => ({ breaker: { failures } as never });
  const reported: number[] = [];
  const { loop } = loopOf([open(5), open(6), { claimed: "probe" }, open(5), open(11)], {
    ends: "empty",
    onBreaker: ({ failures }) => reported.push(failures),
  });
  await loop.run();
  expect(reported).toEqual([5, 5]);
});

test("a claim sent together with a report is used, and never the last look", async () => {
  const { loop, log } = loopOf([{ claimed: "a" }, { claimed: "b" }, {}], {
    run: async (slot, task, askNext) => {
      log.push(`run ${slot} ${task}`);
      askNext();
      return "completed";
    },
  });
  await loop.run();
  expect(log).toEqual(["claim 0", "run 0 a", "claim 0", "run 0 b", "claim 0", "claim 0"]);
});

test("if one slot cannot continue, the others finish what they run, and the loop ends with that error", async () => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const log: string[] = [];
  const { loop } = loopOf([{ claimed: "slow" }, { claimed: "broken" }], {
    slots: 2,
    run: async (_, task) => {
      if (task === "broken") {
        finish();
        throw new Error("cannot continue");
      }
      await finished;
      log.push("finished");
      return "completed";
    },
  });
  await expect(loop.run()).rejects.toThrow("cannot continue");
  expect(log).toEqual(["finished"]);
});
