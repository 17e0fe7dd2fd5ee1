import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Plan, previewPlan, readPlan, toBatch } from "../../src/bridges/plan/index.js";
import { createTasks } from "../../src/contract/tasks/batch.js";
import { planOf, problemsOf } from "./outline.js";
import { asJson, asMarkdown, asText, plans, type Written } from "./random.js";

const numRuns = 60;
/** `npm test` judges by the same plans each time. */
const seed = Number(process.env.DIBS_SEED ?? 20_261_115);

function structure(plan: Plan) {
  const titleOf = new Map(plan.tasks.map((task) => [task.key, task.title]));
  return plan.tasks.map((task) => ({
    title: task.title,
    parent: task.parentKey === undefined ? undefined : titleOf.get(task.parentKey),
    description: task.description ?? "",
    priority: task.priority,
    labels: task.labels ?? [],
    files: task.files ?? [],
    assignee: task.assignee,
    done: task.done ?? false,
    waits: task.dependsOn.map((key) => titleOf.get(key)),
  }));
}

function wanted(plan: Written[]) {
  return plan.map(({ parent, waits: _waits, depth: _, ...task }, index) => ({
    priority: undefined,
    assignee: undefined,
    ...task,
    parent: parent === undefined ? undefined : plan[parent]!.title,
    waits: waitsOf(plan, index).map((at) => plan[at]!.title),
  }));
}

/** Its own, and those of its parent that are still open. */
function waitsOf(plan: Written[], index: number): number[] {
  const { parent, waits } = plan[index]!;
  const inherited = parent === undefined ? [] : waitsOf(plan, parent).filter((at) => !plan[at]!.done);
  return [...new Set([...waits, ...inherited])];
}

describe("a random plan reads back to the same structure", () => {
  const check = (write: (plan: Written[]) => string) =>
    fc.assert(
      fc.property(plans, (plan) => {
        expect(structure(planOf(write(plan)))).toEqual(wanted(plan));
      }),
      { seed, numRuns },
    );

  test("from TASK blocks", () => {
    check(asText);
  });

  test.each([
    ["  ", false],
    ["    ", true],
    ["\t", true],
  ])("from Markdown indented by %j, fields in the line: %s", (indent, isInline) => {
    check((plan) => asMarkdown(plan, { indent, isInline }));
  });

  test.each([true, false])("from JSON, nested: %s", (isNested) => {
    check((plan) => asJson(plan, { isNested }));
  });
});

test.each<[string, (plan: Written[]) => string]>([
  ["TASK blocks", asText],
  ["Markdown", (plan) => asMarkdown(plan, { indent: "  ", isInline: true })],
  ["JSON", (plan) => asJson(plan, { isNested: true })],
])("a random plan with one of its first titles again at the end is refused, from %s", (_, write) => {
  const again = (plan: Written[], n: number): Written[] => {
    const roots = plan.filter(({ parent }) => parent === undefined);
    const { title } = roots[n % roots.length]!;
    return [...plan, { title, depth: 0, description: "", labels: [], files: [], done: false, waits: [] }];
  };
  fc.assert(
    fc.property(plans, fc.nat(), (plan, n) => {
      const doubled = again(plan, n);
      const messages = problemsOf(write(doubled)).map(({ message }) => message);
      expect(
        messages.filter((each) => each.includes(`"${doubled.at(-1)!.title}" already, in line`)),
      ).toHaveLength(1);
    }),
    { seed, numRuns: 20 },
  );
});

test("in a list with and without boxes no item is lost: each is a task or told to one", () => {
  const items = fc.array(
    fc.record({ deeper: fc.nat({ max: 3 }), box: fc.constantFrom("[ ] ", "[x] ", "") }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(items, (rest) => {
      let depth = 0;
      const lines = rest.map(({ deeper, box }, n) => {
        depth = Math.min(depth + 1, deeper);
        return `${"  ".repeat(depth)}- ${box}Word${n} here`;
      });
      const { tasks } = planOf(["- [ ] First", ...lines].join("\n"));
      const told = tasks.map(({ prompt }) => prompt).join("\n");
      for (const n of rest.keys()) expect(told).toContain(`Word${n} here`);
    }),
    { seed, numRuns: 200 },
  );
});

/** Whatever was read can be shown and created. */
function isSound(text: string): void {
  const read = readPlan(text);
  if (!read.ok) {
    expect(read.problems.length).toBeGreaterThan(0);
    for (const { line, column } of read.problems) expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
    return;
  }
  const keys = new Set(read.plan.tasks.map(({ key }) => key));
  expect(keys.size).toBe(read.plan.tasks.length);
  for (const { dependsOn, parentKey } of read.plan.tasks) {
    for (const key of [...dependsOn, parentKey]) expect(key === undefined || keys.has(key)).toBe(true);
  }
  const batch = toBatch(read.plan);
  if (batch.tasks.length > 0) expect(createTasks.input.safeParse(batch).success).toBe(true);
  const { waves, tree } = previewPlan(read.plan);
  expect(waves.flat().length).toBe(batch.tasks.filter(({ type }) => type === "task").length);
  expect(tree.join("")).not.toMatch(/\p{Cc}/u);
}

const fragments = fc.constantFrom(
  ...[
    "- [ ] ",
    "* [x] ",
    "1. ",
    "2) ",
    "## ",
    "**",
    "`",
    "```",
    "```json",
    "TASK: ",
    "TASK 2: ",
    "DEPENDS_ON: ",
  ],
  ...[
    "depends on: ",
    "files: ",
    "(after 1)",
    "[p1]",
    "#a",
    "@b",
    "!high",
    "\n",
    "\n\n",
    "  ",
    "\t",
    "\r\n",
    ", ",
    "A",
    "B",
  ],
  ...[
    "{",
    "}",
    "[",
    "]",
    '"title"',
    ":",
    '"A"',
    ",",
    "\u0000",
    "\ud800",
    "\u001b[31m",
    "漢",
    "0001_t1",
    "---",
    "<!--",
    "-->",
    "~~",
  ],
);

describe("nothing makes the reader throw", () => {
  test("no text at all", () => {
    const anything = fc.uint16Array({ maxLength: 200 }).map((units) => String.fromCharCode(...units));
    fc.assert(fc.property(fc.oneof(anything, fc.string({ maxLength: 200 })), isSound), {
      seed,
      numRuns: 200,
    });
  });

  test("no jumble of what plans are made of", () => {
    const jumble = fc.array(fragments, { maxLength: 40 }).map((parts) => parts.join(""));
    fc.assert(fc.property(jumble, isSound), { seed, numRuns: 600 });
  });
});
