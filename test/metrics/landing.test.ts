// The figures of landing, on every store: in stats.get, by the minute, and as Prometheus reads them.

import { expect, test } from "vitest";
import { noTotals, wholeTotals } from "../../src/core/tally.js";
import { renderFamilies } from "../../src/operations/metrics/exposition.js";
import { storeFamilies } from "../../src/operations/metrics/families.js";
import { drivers } from "../transfer/drivers.js";
import { parseExposition } from "./parser.js";
import { org, type Teller, withTeller } from "./support.js";

const minute = 60_000;
const commit = (digit: string) => digit.repeat(40);
const place = { repository: commit("a"), target: "main" };

const check = (state: "flaky" | "failed") => ({
  name: "test",
  state,
  exitCode: state === "failed" ? 1 : 0,
  durationMs: 5,
  tree: commit("b"),
  ranBy: "lander",
  logTail: "",
});

async function submit(teller: Teller, sessionId: string): Promise<string> {
  const held = await teller.claim(sessionId, { start: true });
  await teller.call("tasks.submit", { ...held, commit: commit("1"), base: commit("0") });
  return held.taskId;
}

test.each(drivers)(
  "$name: what was submitted, landed, returned, held, flaky and reviewed",
  async (driver) => {
    await withTeller(driver, async (teller, clock) => {
      await teller.call("projects.update", { settings: { land: { target: "main" } } });
      await teller.create(3);
      const stats = async () => (await teller.call("stats.get")).landing;
      await submit(teller, "a");
      // No lander has come yet.
      expect(await stats()).toMatchObject({ submitted: 1, submissions: 1, held: 1 });
      const { lease } = await teller.call("landings.lease", {
        ...place,
        holder: "lander",
        ttlMs: 10 * minute,
      });
      const { epoch } = lease;
      const open = async (...ids: string[]) => {
        const tasks = ids.map((taskId) => ({ taskId, submission: 1 }));
        return (await teller.call("landings.open", { ...place, epoch, tasks })).landing.id;
      };
      const second = await submit(teller, "b");
      clock.advance(2 * minute);
      const id = await open("0001");
      const tasks = [{ taskId: "0001", submission: 1 }];
      await teller.call("landings.checks", { id, epoch, tasks, checks: [check("flaky")] });
      const landed = [{ ...tasks[0], commit: commit("2") }];
      await teller.call("landings.intent", { id, epoch, commit: commit("2"), tasks: landed });
      await teller.call("landings.landed", { id, epoch });
      const back = { epoch, taskId: second, submission: 1, reason: "conflict", detail: "in a.ts" };
      await teller.call("landings.returned", { id: await open(second), ...back });
      await submit(teller, "c");
      const hold = { reason: "TARGET_RED", message: "main is red", tasks: [] };
      await teller.call("landings.held", { id: await open(), epoch, holds: [hold] });
      expect(await stats()).toEqual({
        submitted: 1,
        submissions: 3,
        landed: 1,
        returned: { conflict: 1, "check-failed": 0, "changes-requested": 0 },
        held: 1,
        flaky_checks: 1,
        avg_landing_time_seconds: 120,
        conflicts_per_100_landings: 100,
        done_not_landed: 0,
        reviews_waiting: 0,
        oldest_review_seconds: null,
      });
      await teller.call("projects.create", { id: "reviewed" });
      const land = { target: "main", review: "human" };
      await teller.call("projects.update", { id: "reviewed", settings: { land } });
      await teller.create(1, { project: "reviewed" });
      const held = await teller.claim("r", { project: "reviewed", start: true });
      const by = { ...held, project: "reviewed", commit: commit("1"), base: commit("0") };
      await teller.call("tasks.submit", by);
      clock.advance(3 * minute);
      expect(await teller.call("stats.get", { project: "*" })).toMatchObject({
        landing: { submitted: 2, submissions: 4, reviews_waiting: 1, oldest_review_seconds: 180 },
      });
      expect(await stats()).toMatchObject({ reviews_waiting: 0 });
      const families = parseExposition(renderFamilies(await storeFamilies(teller.executor, org)));
      const values = [...families.values()].flatMap(({ samples }) =>
        samples.map(({ name, labels, value }) => [[name, ...Object.values(labels)].join(" "), value]),
      );
      expect(Object.fromEntries(values)).toMatchObject({
        dibs_submitted: 2,
        dibs_submissions_total: 4,
        dibs_landed_total: 1,
        "dibs_returned_total conflict": 1,
        "dibs_returned_total check-failed": 0,
        "dibs_landing_seconds_bucket 60": 0,
        "dibs_landing_seconds_bucket 300": 1,
        dibs_landing_seconds_sum: 120,
        dibs_flaky_checks_total: 1,
        dibs_done_not_landed: 0,
        dibs_reviews_waiting: 1,
        dibs_review_oldest_age_seconds: 180,
      });
      const { points } = await teller.call("metrics.history", {});
      const sum = (field: string) => points.reduce((all: number, point: never) => all + point[field], 0);
      expect(["submitted", "landed", "returned"].map(sum)).toEqual([3, 1, 1]);
    });
  },
);

test.each(drivers)(
  "$name: a task's duration is the work until submit, not the wait for its landing",
  async (driver) => {
    await withTeller(driver, async (teller, clock) => {
      await teller.call("projects.update", { settings: { land: { target: "main" } } });
      await teller.create(1);
      const held = await teller.claim("a", { start: true });
      clock.advance(2 * minute);
      await teller.call("sessions.heartbeat", { sessionId: "a" });
      await teller.call("tasks.submit", { ...held, commit: commit("1"), base: commit("0") });
      const seconds = async () => {
        const families = parseExposition(renderFamilies(await storeFamilies(teller.executor, org)));
        const samples = [...families.values()].flatMap((family) => family.samples);
        const sample = (wanted: string) => samples.find(({ name }) => name === wanted)?.value;
        return [sample("task_duration_seconds_count"), sample("task_duration_seconds_sum")];
      };
      expect(await seconds()).toEqual([0, 0]);
      clock.advance(10 * minute);
      const { lease } = await teller.call("landings.lease", { ...place, holder: "lander" });
      const { epoch } = lease;
      const tasks = [{ taskId: held.taskId, submission: 1, commit: commit("2") }];
      const { landing } = await teller.call("landings.open", { ...place, epoch, tasks, commit: commit("2") });
      await teller.call("landings.landed", { id: landing.id, epoch });
      expect(await seconds()).toEqual([1, 120]);
      expect(await teller.call("stats.get")).toMatchObject({
        throughput: { avg_completion_time_seconds: 120 },
      });
    });
  },
);

test("totals of a program that did not count landings continue from 0", () => {
  const { returns, submissions, landings, flakyChecks, landingWaits, notLanded, ...older } = noTotals(7);
  expect(wholeTotals({ ...older, completions: 5 })).toEqual({ ...noTotals(7), completions: 5 });
});
