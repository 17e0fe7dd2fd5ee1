import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatFilter, matcher, parseFilter, suggest, type Term } from "../../src/client/view/filter.js";
import { filterKeys, isWords, textKeys } from "../../src/client/view/grammar.js";
import type { WireTaskRow } from "../../src/contract/tasks/rows.js";
import { at, claim, now, row } from "./support.js";

const hour = 3_600_000;
const samples: Record<string, WireTaskRow> = {
  ready: row({ id: "0001", labels: ["ui", "Needs Design"], title: "Paint the Button" }),
  blocked: row({ id: "0002", pendingDependencies: 1, dependsOn: ["0001"], priority: 80 }),
  meant: row({
    id: "0022",
    pendingDependencies: 1,
    assignee: "a7",
    agentType: "autonomous",
    labels: ["ui"],
    createdAt: at(2 * hour),
  }),
  parts: row({ id: "0003", openChildren: 2, priority: 100 }),
  scheduled: row({ id: "0004", notBefore: at(-hour), labels: ["api"], priority: 20 }),
  claimed: row({ id: "0005", state: "claimed", claim: claim(), phase: "implementation" }),
  running: row({
    id: "0006",
    state: "running",
    claim: claim({ sessionId: "b2", agentType: "autonomous", healthStatus: "stale" }),
  }),
  waiting: row({ id: "0007", state: "awaiting_response", claim: claim({ healthStatus: "paused" }) }),
  done: row({ id: "0008", state: "completed", createdAt: at(48 * hour) }),
  failed: row({ id: "0009", state: "failed", project: "barn", assignee: "robot-1" }),
  cancelled: row({ id: "0010", state: "cancelled", parentId: "0003" }),
  group: row({ id: "0011", type: "group", openChildren: 1 }),
};

function found(text: string): string[] {
  const filter = parseFilter(text);
  expect(filter.problems).toEqual([]);
  const matches = matcher(filter, now);
  return Object.keys(samples).filter((name) => matches(samples[name]!));
}

describe("a filter finds", () => {
  test.each<[string, string[]]>([
    ["is:ready", ["ready"]],
    ["is:blocked", ["blocked", "meant", "parts"]],
    ["is:blocked agent:a7 label:ui age:>1h", ["meant"]],
    ["is:blocked agent:b2 label:ui age:>1h", []],
    ["is:scheduled", ["scheduled"]],
    ["is:claimed", ["claimed"]],
    ["is:running", ["running"]],
    ["is:working", ["claimed", "running"]],
    ["is:waiting", ["waiting"]],
    ["is:done", ["done"]],
    ["is:completed", ["done"]],
    ["is:failed,cancelled", ["failed", "cancelled"]],
    ["is:ended", ["done", "failed", "cancelled"]],
    ["is:stale", ["running"]],
    ["is:group", ["group"]],
    ["is:open -is:task", ["group"]],
    ["agent:a", ["meant", "claimed", "running", "waiting"]],
    ["agent:a7", ["meant", "claimed", "waiting"]],
    ["agent:auto", ["meant", "running"]],
    ["label:ui,api", ["ready", "meant", "scheduled"]],
    ['label:"needs design"', ["ready"]],
    ["-label:none", ["ready", "meant", "scheduled"]],
    ["phase:impl", ["claimed"]],
    ["project:BARN", ["failed"]],
    ["assignee:robot", ["failed"]],
    ["parent:0003", ["cancelled"]],
    ["id:001", ["cancelled", "group"]],
    ["priority:high", ["blocked"]],
    ["priority:>=high", ["blocked", "parts"]],
    ["priority:>high", ["parts"]],
    ["priority:<medium", ["scheduled"]],
    ["priority:80", ["blocked"]],
    ["priority:p2", ["blocked"]],
    ["priority:>70,20", ["blocked", "parts", "scheduled"]],
    ["age:>1d", ["done"]],
    ["idle:>1h", []],
    ["the button", ["ready"]],
    ['"the button"', ["ready"]],
    ['"button the"', []],
    ["button the", ["ready"]],
    ["-is:open -is:ended", []],
    ["0007", ["waiting"]],
    ["DESIGN", ["ready"]],
  ])("%s", (text, names) => {
    expect(found(text)).toEqual(names);
  });

  test("everything when it says nothing", () => {
    for (const text of ["", "   "]) expect(found(text)).toEqual(Object.keys(samples));
  });
});

describe("what cannot be understood", () => {
  test.each<[string, string, string]>([
    ["colour:red", "colour:red", "'colour:' is not known"],
    ["is:purple", "is:purple", "is:purple is not known"],
    ["label:", "label:", "label: what?"],
    ["age:soon", "age:soon", "'soon' is not understood"],
    ["age:=1h", "age:=1h", "write for example >1h"],
    ["priority:>urgent", "priority:>urgent", "priority:>urgent is not known"],
    ['label:"ui', 'label:"ui', 'A closing " is missing'],
    ['"half', '"half', 'A closing " is missing'],
  ])("%s is told with its place, and the rest still counts", (wrong, marked, message) => {
    const text = `is:done ${wrong}`;
    const { terms, problems } = parseFilter(text);
    expect(terms).toEqual([{ negated: false, key: "is", values: ["done"] }]);
    expect(problems).toHaveLength(1);
    expect(text.slice(problems[0]!.from, problems[0]!.to)).toBe(marked);
    expect(problems[0]!.message).toContain(message);
  });

  test("no text whatever is thrown at", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const filter = parseFilter(text);
        matcher(filter, now)(samples.ready!);
        for (const { from, to } of filter.problems) expect(text.slice(from, to)).not.toBe("");
        suggest(text, text.length, { labels: ["ui"], agents: [], projects: [], phases: [] });
      }),
    );
  });
});

const word = fc.string({ minLength: 1 }).filter((text) => text.trim() !== "");
const op = fc.constantFrom(">", ">=", "<", "<=") as fc.Arbitrary<">" | ">=" | "<" | "<=">;
const some = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 3 });
const term: fc.Arbitrary<Term> = fc
  .oneof(
    fc.record({ key: fc.constant("words" as const), text: word, exact: fc.constant(true) }),
    fc.record({ key: fc.constant("is" as const), values: some(fc.constantFrom(...isWords)) }),
    fc.record({ key: fc.constantFrom(...textKeys), values: some(word) }),
    fc.record({
      key: fc.constant("priority" as const),
      values: some(fc.record({ op: fc.oneof(op, fc.constant("=" as const)), value: fc.nat(100) })),
    }),
    fc.record({
      key: fc.constantFrom("age" as const, "idle" as const),
      values: some(fc.record({ op, ms: fc.integer({ min: 1, max: 1_000_000 }).map((s) => s * 1000) })),
    }),
  )
  .chain((each) => fc.boolean().map((negated) => ({ ...each, negated }) as Term));

test("a filter that is written down and read again means the same", () => {
  fc.assert(
    fc.property(fc.array(term, { maxLength: 5 }), (terms) => {
      expect(parseFilter(formatFilter({ terms }))).toEqual({ terms, problems: [] });
    }),
  );
});

test("a hundred thousand rows are tested while somebody types", () => {
  const rows = Array.from({ length: 100_000 }, (_, at) =>
    row({ id: String(at), title: `Task number ${at} of many`, labels: ["ui", "api"] }),
  );
  const matches = matcher(parseFilter("is:open label:ui age:>1m -agent:a7 number 9999"), now);
  const timed = (work: () => void) => {
    const before = performance.now();
    work();
    return performance.now() - before;
  };
  const best = (work: () => void) => Math.min(...Array.from({ length: 5 }, () => timed(work)));
  const bare = best(() => rows.filter(({ title }) => title.toLowerCase().includes("9999")));
  expect(rows.filter(matches)).toHaveLength(19);
  // About six times a bare search; thirty would mean that something is compiled for every row.
  expect(best(() => rows.filter(matches)) / bare).toBeLessThan(30);
});

describe("suggestions", () => {
  const facts = {
    labels: ["ui", "api", "needs design"],
    agents: ["a7", "cli"],
    names: [
      { name: "cli", sessionId: "a7" },
      { name: "Night shift", sessionId: "a7" },
    ],
    projects: ["shop"],
    phases: ["test"],
  };
  const taken = (text: string, caret = text.length) =>
    suggest(text, caret, facts).map(({ from, to, insert }) => text.slice(0, from) + insert + text.slice(to));

  test.each<[string, string[]]>([
    ["", filterKeys.map((key) => `${key}:`)],
    ["i", ["is:", "id:", "idle:"]],
    ["is:do", ["is:done"]],
    ["-is:bl", ["-is:blocked"]],
    ["-lab", ["-label:"]],
    ["label:", ["label:ui", "label:api", 'label:"needs design"']],
    ["label:ui,a", ["label:ui,api"]],
    ['label:"nee', ['label:"needs design"']],
    ["is:done agent:", ["is:done agent:a7", "is:done agent:cli", 'is:done agent:"Night shift"']],
    ["agent:ni", ['agent:"Night shift"']],
    ["assignee:", ["assignee:a7", "assignee:cli"]],
    ["project:", ["project:shop"]],
    ["phase:t", ["phase:test"]],
    ["zebra", []],
  ])("for '%s'", (text, texts) => {
    expect(taken(text)).toEqual(texts);
  });

  test("say whose name it is", () => {
    expect(suggest("agent:ni", 8, facts)).toMatchObject([{ label: "Night shift", help: "a7" }]);
  });

  test("replace the piece at the caret and leave the others alone", () => {
    expect(taken("is:do label:ui", 5)).toEqual(["is:done label:ui"]);
    expect(taken("la is:done", 2)).toEqual(["label: is:done"]);
  });
});
