// What attempts have cost, on every store: in stats.get, by the minute, and as Prometheus reads it.

import { expect, test } from "vitest";
import { costDaysMax, costNamesMax, countCost, noCostTotals, otherNames } from "../../src/core/cost.js";
import type { DibsEvent } from "../../src/core/event.js";
import { noTotals, wholeBucket, wholeTotals } from "../../src/core/tally.js";
import { renderFamilies } from "../../src/operations/metrics/exposition.js";
import { storeFamilies } from "../../src/operations/metrics/families.js";
import { drivers } from "../transfer/drivers.js";
import { parseExposition } from "./parser.js";
import { org, result, withTeller } from "./support.js";

const minute = 60_000;
const cost = (usd: number, input: number, output: number) => ({
  usd,
  input_tokens: input,
  output_tokens: output,
});

test.each(drivers)(
  "$name: cost by agent type, label and resource, per task, and each report only once",
  async (driver) => {
    await withTeller(driver, async (teller, clock) => {
      await teller.call("resources.set", { id: "claude-max", capacity: 2 });
      await teller.call("resources.set", { id: "db" });
      await teller.call("sessions.register", { id: "a", agentType: "claude", uses: { "claude-max": 1 } });
      await teller.create(1, { labels: ["ui", "__proto__"] });
      await teller.create(2);
      await teller.call("resources.hold", { id: "db" });
      const usage = async (input: object = {}) => (await teller.call("stats.get", input)).usage;
      expect(await usage()).toEqual({
        ...cost(0, 0, 0),
        usd_per_completed: null,
        usd_per_landed: null,
        by_agent_type: {},
        by_label: {},
        by_resource: {},
        by_day: {},
      });
      const first = await teller.claim("a", { start: true });
      await teller.call("tasks.usage", { ...first, usd: 0.1, inputTokens: 900 });
      // Cumulative: the second report adds what is new, the third nothing.
      await teller.call("tasks.usage", { ...first, usd: 0.3, inputTokens: 1000, outputTokens: 50 });
      await teller.call("tasks.usage", { ...first, usd: 0.3, inputTokens: 1000, outputTokens: 50 });
      const inUse = parseExposition(renderFamilies(await storeFamilies(teller.executor, org)));
      expect(valuesOf(inUse)).toMatchObject({
        "dibs_resource_in_use claude-max": 1,
        "dibs_resource_in_use db": 0,
        "dibs_resource_held claude-max": 0,
        "dibs_resource_held db": 1,
      });
      await teller.call("tasks.complete", { ...first, result });
      clock.advance(2 * minute);
      const second = await teller.claim("b", { start: true });
      await teller.call("tasks.complete", { ...second, result });
      // Reports are taken after the end, too.
      await teller.call("tasks.usage", { ...second, usd: 0.5, model: "large" });
      // What a task has cost that says nothing is unknown, not zero.
      await teller.call("tasks.complete", { ...(await teller.claim("c", { start: true })), result });
      const all = await usage();
      expect({ ...all, by_label: Object.entries(all.by_label) }).toEqual({
        ...cost(0.8, 1000, 50),
        usd_per_completed: 0.4,
        usd_per_landed: null,
        by_agent_type: { claude: cost(0.3, 1000, 50), cli: cost(0.5, 0, 0) },
        by_label: [
          ["ui", cost(0.3, 1000, 50)],
          ["__proto__", cost(0.3, 1000, 50)],
        ],
        by_resource: { "claude-max": cost(0.3, 1000, 50) },
        by_day: { "2026-01-01": cost(0.8, 1000, 50) },
      });
      expect(await usage({ project: "*" })).toEqual(all);
      const { points } = await teller.call("metrics.history", {});
      const spent = points.map((point: { usage: { usd: number } }) => point.usage.usd);
      expect(spent.filter((usd: number) => usd > 0)).toEqual([0.3, 0.5]);
      const families = parseExposition(renderFamilies(await storeFamilies(teller.executor, org)));
      expect(valuesOf(families)).toMatchObject({
        dibs_usage_usd_total: 0.8,
        "dibs_usage_tokens_total input": 1000,
        "dibs_usage_tokens_total output": 50,
        "dibs_resource_in_use claude-max": 0,
      });
      clock.set(Date.UTC(2026, 0, 2));
      await teller.call("tasks.usage", { ...second, usd: 0.75 });
      expect(Object.entries((await usage()).by_day)).toEqual([
        ["2026-01-01", cost(0.8, 1000, 50)],
        ["2026-01-02", cost(0.25, 0, 0)],
      ]);
    });
  },
);

const valuesOf = (families: ReturnType<typeof parseExposition>) =>
  Object.fromEntries(
    [...families.values()].flatMap(({ samples }) =>
      samples.map(({ name, labels, value }) => [[name, ...Object.values(labels)].join(" "), value]),
    ),
  );

test("beyond fifty names of a kind, the rest is counted together", () => {
  const totals = noCostTotals();
  for (let at = 0; at < costNamesMax + 5; at++) {
    const data = { added: { usd: 1, inputTokens: null, outputTokens: null }, labels: [`label-${at}`] };
    countCost(totals, { type: "task:usage", data } as unknown as DibsEvent);
  }
  expect(Object.keys(totals.byLabel)).toHaveLength(costNamesMax + 1);
  expect(totals.byLabel[otherNames]?.usd).toBe(5);
  expect(totals.usd).toBe(costNamesMax + 5);
});

test("the last 31 days with a cost are kept, also if the clock goes back", () => {
  const totals = noCostTotals();
  const report = (at: number) => {
    const data = { added: { usd: 1, inputTokens: null, outputTokens: null } };
    countCost(totals, { type: "task:usage", at, data } as unknown as DibsEvent);
  };
  for (let day = 1; day <= 40; day++) report(Date.UTC(2026, 0, day, 23, 59));
  report(Date.UTC(2026, 0, 40));
  report(Date.UTC(2026, 0, 1));
  expect(Object.keys(totals.byDay)).toHaveLength(costDaysMax);
  expect(Object.entries(totals.byDay)[0]).toMatchObject(["2026-01-10", { usd: 1 }]);
  expect(Object.entries(totals.byDay).at(-1)).toMatchObject(["2026-02-09", { usd: 2 }]);
  expect(totals.usd).toBe(42);
});

test("figures of a program that did not count cost continue from 0, and so do events without names", () => {
  const { cost: _, ...older } = noTotals(7);
  expect(wholeTotals({ ...older, completions: 5 })).toEqual({ ...noTotals(7), completions: 5 });
  expect(wholeBucket({ created: 3 }).cost).toEqual({ usd: 0, inputTokens: 0, outputTokens: 0 });
  const totals = noCostTotals();
  countCost(totals, { type: "task:usage", data: { usd: 2, added: { usd: 2 } } } as unknown as DibsEvent);
  expect(totals).toMatchObject({ usd: 2, byLabel: {}, byResource: {} });
});
