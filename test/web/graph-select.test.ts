import { expect, test } from "vitest";
import type { WireTaskRow } from "../../src/contract/tasks/rows.js";
import { criticalPath, selectGraph } from "../../web/src/views/graph/select.js";

const row = (id: string, more: Partial<WireTaskRow> = {}) =>
  ({
    id,
    project: "demo",
    state: "queued",
    priority: 50,
    dependsOn: [],
    parentId: null,
    ...more,
  }) as WireTaskRow;
const options = { hops: 1, isFolded: true, nodesMax: 100 };
const idsOf = (rows: WireTaskRow[], more = {}) =>
  selectGraph(rows, { ...options, ...more })
    .nodes.map((node) => node.row.id)
    .sort();

/** a → b → c → d; a and b are done. */
const chain = [
  row("a", { state: "completed" }),
  row("b", { state: "completed", dependsOn: ["a"] }),
  row("c", { dependsOn: ["b"] }),
  row("d", { dependsOn: ["c"] }),
];

test("what is finished is folded, but for what open tasks hang on; the fold says how much is behind it", () => {
  const { nodes, hidden } = selectGraph(chain, options);
  expect(nodes.map(({ row: { id }, folded }) => [id, folded])).toEqual([
    ["b", 1],
    ["c", 0],
    ["d", 0],
  ]);
  expect(hidden).toBe(1);
  expect(idsOf(chain, { isFolded: false })).toEqual(["a", "b", "c", "d"]);
});

test("a project in which everything is finished is shown whole", () => {
  const done = chain.map((each) => ({ ...each, state: "completed" as const }));
  expect(idsOf(done)).toEqual(["a", "b", "c", "d"]);
});

test("around a task its neighbourhood is shown, finished or not, as many steps as asked", () => {
  expect(idsOf(chain, { focus: "b" })).toEqual(["a", "b", "c"]);
  expect(idsOf(chain, { focus: "a", hops: 2 })).toEqual(["a", "b", "c"]);
  expect(idsOf(chain, { focus: "gone" })).toEqual(["b", "c", "d"]);
});

test("a group is seen from its parts, but not looked through", () => {
  const rows = [row("g", { type: "group" }), row("x", { parentId: "g" }), row("y", { parentId: "g" })];
  expect(idsOf(rows, { focus: "x", hops: 3 })).toEqual(["g", "x"]);
  expect(idsOf(rows, { focus: "g" })).toEqual(["g", "x", "y"]);
});

test("edges say what comes first; a parent is joined to the first of its parts", () => {
  const rows = [row("p"), row("x", { parentId: "p" }), row("y", { parentId: "p", dependsOn: ["x"] })];
  expect(selectGraph(rows, options).edges).toMatchObject([
    { from: "p", to: "x", kind: "parent" },
    { from: "x", to: "y", kind: "dependency" },
  ]);
});

test("the longest open chain is the critical one; finished tasks do not count", () => {
  const rows = [...chain, row("e", { dependsOn: ["d"] }), row("f", { dependsOn: ["b"] })];
  expect([...criticalPath(rows)].sort()).toEqual(["c", "d", "e"]);
  expect([...criticalPath([row("lone")])]).toEqual([]);
});

test("a chain of ten thousand and a dependency on itself do not break it", () => {
  const long = Array.from({ length: 10_000 }, (_, n) =>
    row(`${n}`, { dependsOn: n > 0 ? [`${n - 1}`] : [] }),
  );
  expect(criticalPath(long.reverse()).size).toBe(10_000);
  expect(criticalPath([row("a", { dependsOn: ["b"] }), row("b", { dependsOn: ["a"] })]).size).toBeGreaterThan(
    0,
  );
});

test("no more than the allowed number is drawn: what runs and its neighbours first", () => {
  const rows = [
    ...Array.from({ length: 50 }, (_, n) => row(`x${n}`)),
    row("near"),
    row("runs", { state: "running", dependsOn: ["near"] }),
  ];
  const shown = idsOf(rows, { nodesMax: 10 });
  expect(shown).toHaveLength(10);
  expect(shown).toEqual(expect.arrayContaining(["near", "runs"]));
});
