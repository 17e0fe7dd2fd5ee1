import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { drivers, withStores } from "../transfer/drivers.js";
import { org, project, result, Teller } from "./support.js";

const minute = 60_000;
const hour = 60 * minute;
const at = (time: number) => new Date(time).toISOString();

const noLanding = {
  submitted: 0,
  submissions: 0,
  landed: 0,
  returned: { conflict: 0, "check-failed": 0, "changes-requested": 0 },
  held: 0,
  flaky_checks: 0,
  avg_landing_time_seconds: null,
  conflicts_per_100_landings: null,
  done_not_landed: 0,
  reviews_waiting: 0,
  oldest_review_seconds: null,
};

const noUsage = {
  usd: 0,
  input_tokens: 0,
  output_tokens: 0,
  usd_per_completed: null,
  usd_per_landed: null,
  by_agent_type: {},
  by_label: {},
  by_resource: {},
  by_day: {},
};

describe.each(drivers)("$name", (driver) => {
  const story = (tell: (teller: Teller, clock: TestClock) => Promise<void>) => () =>
    withStores([driver], async ([store], clock) => {
      await store!.open(org, project);
      await tell(new Teller(store!), clock);
    });

  test(
    "stats are S3's, of a project and of all; available is only what is ready",
    story(async (teller, clock) => {
      expect(await teller.call("stats.get")).toEqual({
        queue_size: 0,
        by_status: {
          available: 0,
          blocked: 0,
          scheduled: 0,
          claimed: 0,
          in_progress: 0,
          done: 0,
          failed: 0,
          cancelled: 0,
        },
        throughput: { tasks_per_minute: 0, avg_completion_time_seconds: 0 },
        agents: { active: 0, idle: 0 },
        landing: noLanding,
        usage: noUsage,
      });
      await teller.call("projects.create", { id: "side" });
      await teller.create(2, { project: "side" });
      await teller.create(8);
      for (const duration of [1, 3]) {
        const hold = await teller.claim("a", { start: true });
        clock.advance(duration * minute);
        await teller.call("tasks.complete", { ...hold, result });
      }
      await teller.claim("a");
      const asked = await teller.claim("b", { start: true });
      await teller.call("tasks.ask", { ...asked, question: "which?" });
      await teller.claim("c", { start: true });
      const broken = await teller.claim("d");
      await teller.call("tasks.fail", { ...broken, error: "broken", retryable: false });
      await teller.call("tasks.cancel", { taskId: "0007" });
      await teller.call("tasks.create", { prompt: "blocked", dependsOn: ["0008"] });
      await teller.call("tasks.create", { prompt: "whole", type: "group" });
      await teller.call("tasks.create", {
        prompt: "later",
        notBefore: at(clock.now() + hour),
        labels: ["ui"],
      });
      const own = {
        queue_size: 11,
        by_status: {
          available: 1,
          blocked: 2,
          scheduled: 1,
          claimed: 1,
          in_progress: 2,
          done: 2,
          failed: 1,
          cancelled: 1,
        },
        throughput: { tasks_per_minute: 0.5, avg_completion_time_seconds: 120 },
        agents: { active: 3, idle: 1 },
        landing: noLanding,
        usage: noUsage,
      };
      expect(await teller.call("stats.get")).toEqual(own);
      expect(await teller.call("stats.get", { project: "*" })).toEqual({
        ...own,
        queue_size: 13,
        by_status: { ...own.by_status, available: 3 },
      });
      await expect(teller.call("stats.get", { project: "ghost" })).rejects.toMatchObject({
        code: "PROJECT_NOT_FOUND",
      });
      clock.advance(2 * hour);
      expect(await teller.call("stats.get")).toMatchObject({
        by_status: { available: 4, blocked: 2, scheduled: 0, claimed: 0, in_progress: 1 },
        throughput: { tasks_per_minute: 0, avg_completion_time_seconds: 120 },
      });
    }),
  );

  test(
    "where work lands, a completion is counted when it lands, for its author, with the time until it was submitted",
    story(async (teller, clock) => {
      const start = clock.now();
      const place = { repository: "a".repeat(40), target: "main" };
      await teller.call("projects.update", { settings: { land: place } });
      await teller.create(1);
      const hold = await teller.claim("author", { start: true });
      clock.advance(3 * minute);
      await teller.call("tasks.submit", { ...hold, commit: "c".repeat(40) });
      const completions = async () => {
        const { points } = await teller.call("metrics.history", { from: at(start) });
        return points.filter(({ completed }: { completed: number }) => completed > 0);
      };
      expect(await completions()).toEqual([]);
      clock.advance(20 * minute);
      const { lease } = await teller.call("landings.lease", { ...place, holder: "lander" });
      const on = { epoch: lease.epoch };
      const tasks = [{ taskId: hold.taskId, submission: 1, commit: "d".repeat(40) }];
      const opened = { ...place, ...on, tasks, commit: "d".repeat(40) };
      const { landing } = await teller.call("landings.open", opened);
      await teller.call("landings.landed", { id: landing.id, ...on });
      expect(await completions()).toMatchObject([
        {
          at: at(start + 23 * minute),
          completed: 1,
          avgDurationMs: 3 * minute,
          byAgent: { author: { completed: 1, avgDurationMs: 3 * minute } },
        },
      ]);
    }),
  );

  test(
    "the history shows every minute, also those in which nothing happened",
    story(async (teller, clock) => {
      const start = clock.now();
      clock.advance(10 * minute);
      await teller.create(3);
      clock.advance(2 * minute);
      const hold = await teller.claim("a", { start: true });
      await teller.call("tasks.ask", { ...hold, question: "which?" });
      clock.advance(30_000);
      await teller.call("tasks.respond", { taskId: hold.taskId, response: "this" });
      clock.advance(30_000);
      await teller.call("tasks.complete", { ...hold, result });
      const work = {
        claimed: 0,
        completed: 0,
        failed: 0,
        lost: 0,
        avgClaimWaitMs: null,
        avgDurationMs: null,
        avgQuestionWaitMs: null,
        answered: 0,
      };
      const landing = { submitted: 0, landed: 0, returned: 0 };
      const usage = { usd: 0, inputTokens: 0, outputTokens: 0 };
      const none = { ...work, ...landing, usage, created: 0, queued: 0, oldestReadyMs: null, byAgent: {} };
      const asked = { avgClaimWaitMs: 2 * minute, avgQuestionWaitMs: 30_000, answered: 1 };
      const shown = await teller.call("metrics.history", { from: at(start + 9 * minute) });
      expect(shown).toEqual({
        step: "minute",
        from: at(start + 9 * minute),
        to: at(clock.now() + 1),
        oldestReadyMs: 3 * minute,
        points: [
          { ...none, at: at(start + 9 * minute) },
          { ...none, at: at(start + 10 * minute), created: 3, queued: 3, oldestReadyMs: minute },
          { ...none, at: at(start + 11 * minute), queued: 3, oldestReadyMs: 2 * minute },
          {
            ...none,
            at: at(start + 12 * minute),
            claimed: 1,
            queued: 2,
            oldestReadyMs: 3 * minute,
            ...asked,
            byAgent: { a: { ...work, claimed: 1, ...asked } },
          },
          {
            ...none,
            at: at(start + 13 * minute),
            completed: 1,
            queued: 2,
            oldestReadyMs: 3 * minute,
            avgDurationMs: minute,
            byAgent: { a: { ...work, completed: 1, avgDurationMs: minute } },
          },
        ],
      });
      expect(await teller.call("metrics.history", { from: at(start + 9 * minute), project: "*" })).toEqual(
        shown,
      );
      const quiet = { from: at(start + 11 * minute), to: at(start + 12 * minute) };
      expect((await teller.call("metrics.history", quiet)).points).toEqual([
        { ...none, at: at(start + 11 * minute), queued: 3, oldestReadyMs: 2 * minute },
      ]);
      clock.advance(3 * hour);
      const later = await teller.call("metrics.history");
      expect(later.points).toHaveLength(181);
      expect(later.points.at(-1)).toEqual({
        ...none,
        at: at(start + 193 * minute),
        queued: 2,
        oldestReadyMs: 183 * minute,
      });
      const byHour = await teller.call("metrics.history", { from: at(start - 4 * hour) });
      expect(byHour.step).toBe("hour");
      expect(byHour.points.map(({ created, queued }: typeof none) => [created, queued])).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
        [0, 0],
        [3, 2],
        [0, 2],
        [0, 2],
        [0, 2],
      ]);
    }),
  );
});

describe("the history", () => {
  const open = async () => {
    const clock = new TestClock();
    const dibs = await openDibs({ memory: true, clock });
    return { dibs, now: clock.now() };
  };

  test("has at most 1500 points and says what to do instead", async () => {
    const { dibs, now } = await open();
    const from = now - 1500 * minute;
    await expect(dibs.metrics.history({ from, step: "minute" })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      message: expect.stringContaining("step=hour"),
    });
    const fits = await dibs.metrics.history({ from, to: now, step: "minute" });
    expect(fits.points).toHaveLength(1500);
    await expect(dibs.metrics.history({ from: now - 1600 * hour })).rejects.toMatchObject({
      message: expect.stringContaining("a shorter span"),
    });
    await dibs.close();
  });

  test("refuses a span that ends before it begins, and knows nothing of the future", async () => {
    const { dibs, now } = await open();
    await expect(dibs.metrics.history({ from: now, to: now })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    await expect(dibs.metrics.history({ from: now + hour })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    const ahead = await dibs.metrics.history({ from: now - minute, to: now + hour });
    expect(ahead.points).toHaveLength(2);
    expect((await dibs.metrics.history({ from: now + hour, to: now + 2 * hour })).points).toEqual([]);
    await dibs.close();
  });
});

test("what was just done is counted, however many ask at the same time", async () => {
  const dibs = await openDibs({ memory: true });
  for (let round = 1; round <= 5; round++) {
    await dibs.tasks.create({ prompt: "x" });
    const answers = await Promise.all(Array.from({ length: 4 }, () => dibs.stats.get()));
    expect(answers.map(({ queue_size }) => queue_size)).toEqual([round, round, round, round]);
  }
  await dibs.close();
});
