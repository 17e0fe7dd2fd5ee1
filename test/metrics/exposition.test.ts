import { describe, expect, test } from "vitest";
import { histogram, renderFamilies, single } from "../../src/operations/metrics/exposition.js";
import { storeFamilies } from "../../src/operations/metrics/families.js";
import { drivers, withStores } from "../transfer/drivers.js";
import { parseExposition } from "./parser.js";
import { org, project, result, Teller } from "./support.js";

const minute = 60_000;

test("labels and help are escaped, numbers are written as Prometheus reads them", () => {
  const value = 'a "quoted" \\ and\na new line';
  const text = renderFamilies([
    {
      name: "one",
      type: "gauge",
      help: "Help \\ of\ntwo lines.",
      samples: [{ labels: { value }, value: 1e21 }],
    },
    single("two_total", "counter", "Plain.", 0.1),
    histogram(
      "three_seconds",
      "Spread.",
      [0.005, 1],
      [{ labels: { at: "x" }, counts: [2, 1], count: 4, sum: 9.5 }],
    ),
  ]);
  expect(text).toBe(
    [
      "# HELP one Help \\\\ of\\ntwo lines.",
      "# TYPE one gauge",
      'one{value="a \\"quoted\\" \\\\ and\\na new line"} 1e+21',
      "# HELP two_total Plain.",
      "# TYPE two_total counter",
      "two_total 0.1",
      "# HELP three_seconds Spread.",
      "# TYPE three_seconds histogram",
      'three_seconds_bucket{at="x",le="0.005"} 2',
      'three_seconds_bucket{at="x",le="1"} 3',
      'three_seconds_bucket{at="x",le="+Inf"} 4',
      'three_seconds_sum{at="x"} 9.5',
      'three_seconds_count{at="x"} 4',
      "",
    ].join("\n"),
  );
  expect(parseExposition(text).get("one")!.samples[0]!.labels.value).toBe(value);
});

describe("the parser of these tests", () => {
  test.each([
    ["no HELP", "# TYPE a gauge\na 1\n"],
    ["no end", "# HELP a x\n# TYPE a gauge\na 1"],
    ["another name", "# HELP a x\n# TYPE a gauge\nb 1\n"],
    ["an unescaped quote", '# HELP a x\n# TYPE a gauge\na{b="c"d"} 1\n'],
    ["no +Inf", '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n'],
    [
      "falling buckets",
      '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
    ],
    ["a series twice", "# HELP a x\n# TYPE a gauge\na 1\na 2\n"],
  ])("refuses %s", (_, text) => {
    expect(() => parseExposition(text)).toThrow();
  });
});

test.each(drivers)("$name: everything that the store tells of an org", async (driver) => {
  await withStores([driver], async ([store], clock) => {
    await store!.open(org, project);
    const teller = new Teller(store!);
    const scrape = async () => {
      const families = parseExposition(renderFamilies(await storeFamilies(teller.executor, org)));
      const samples = [...families.values()].flatMap((family) => family.samples);
      return Object.fromEntries(
        samples.map(({ name, labels, value }) => [
          Object.keys(labels).length === 0 ? name : `${name}{${Object.entries(labels).join()}}`,
          value,
        ]),
      );
    };
    expect(await scrape()).toMatchObject({
      task_completions_total: 0,
      dibs_ready_oldest_age_seconds: 0,
      "task_queue_size{status,available}": 0,
      "dibs_sessions{state,idle}": 0,
    });
    await teller.call("projects.create", { id: "side" });
    await teller.create(1, { project: "side", labels: ["ui"] });
    clock.advance(5 * minute);
    await teller.create(6);
    clock.advance(minute);
    const done = await teller.claim("a", { start: true });
    clock.advance(4 * minute);
    await teller.call("tasks.complete", { ...done, result });
    const failed = await teller.claim("a");
    await teller.call("tasks.fail", { ...failed, error: "broken" });
    const asked = await teller.claim("a");
    await teller.call("tasks.ask", { ...asked, question: "which?" });
    clock.advance(10 * minute);
    await teller.call("tasks.respond", { taskId: asked.taskId, response: "this" });
    await teller.call("tasks.ask", { ...asked, question: "and now?" });
    const lost = await teller.claim("b");
    clock.advance(6 * minute);
    await teller.call("sessions.register", { id: "c" });
    const figures = await scrape();
    expect(figures).toMatchObject({
      "task_queue_size{status,available}": 5,
      "task_queue_size{status,claimed}": 0,
      "task_queue_size{status,in_progress}": 1,
      "task_queue_size{status,done}": 1,
      "task_queue_size{status,failed}": 0,
      "task_queue_size{status,cancelled}": 0,
      task_completions_total: 1,
      task_failures_total: 1,
      task_duration_seconds_count: 1,
      task_duration_seconds_sum: 240,
      "task_duration_seconds_bucket{le,60}": 0,
      "task_duration_seconds_bucket{le,300}": 1,
      "task_duration_seconds_bucket{le,600}": 1,
      "task_duration_seconds_bucket{le,+Inf}": 1,
      dibs_ready_oldest_age_seconds: 26 * 60,
      dibs_claim_wait_seconds_count: 4,
      dibs_claim_wait_seconds_sum: (1 + 5 + 5 + 15) * 60,
      dibs_lease_expirations_total: 1,
      dibs_claims_orphaned_total: 0,
      dibs_questions_open: 1,
      dibs_question_wait_seconds_count: 1,
      dibs_question_wait_seconds_sum: 600,
      "dibs_sessions{state,working}": 1,
      "dibs_sessions{state,idle}": 2,
    });
    await teller.call("sessions.end", { sessionId: "b" });
    await teller.call("projects.pause", { id: "side" });
    await teller.call("tasks.claim", { taskId: lost.taskId, sessionId: "c" });
    await teller.call("sessions.end", { sessionId: "c" });
    expect(await scrape()).toMatchObject({
      dibs_claims_orphaned_total: 1,
      dibs_ready_oldest_age_seconds: 21 * 60,
      "dibs_sessions{state,idle}": 0,
    });
  });
});
