import { expect, test } from "vitest";
import type { WireTaskRow } from "../../src/contract/tasks/rows.js";
import { newestAtWork, selectGraph } from "../../web/src/views/graph/select.js";
import { criticalPath, structureOf } from "../../web/src/views/graph/structure.js";

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
const options = { hops: 1, isFolded: true, isWhole: false, partMax: 80, nodesMax: 100 };
const select = (rows: WireTaskRow[], more = {}) => selectGraph(structureOf(rows), { ...options, ...more });
const idsOf = (rows: WireTaskRow[], more = {}) =>
  select(rows, more)
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
  const { nodes, total } = select(chain);
  expect(nodes.map(({ row: { id }, folded }) => [id, folded])).toEqual([
    ["b", 1],
    ["c", 0],
    ["d", 0],
  ]);
  expect(total).toBe(4);
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
  expect(select(rows).edges).toMatchObject([
    { from: "p", to: "x", kind: "parent" },
    { from: "x", to: "y", kind: "dependency" },
  ]);
  // One that waits for somebody else's work is still the first of its own parent's.
  const later = [...rows, row("q"), row("z", { parentId: "q", dependsOn: ["y"] })];
  expect(select(later).edges.slice(2)).toMatchObject([
    { from: "q", to: "z", kind: "parent" },
    { from: "y", to: "z", kind: "dependency" },
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

test("a finished part of an open group is folded into the group", () => {
  const parts = Array.from({ length: 12 }, (_, n) => row(`p${n}`, { parentId: "g", state: "completed" }));
  const rows = [row("g", { type: "group" }), ...parts, row("open", { parentId: "g", dependsOn: ["p0"] })];
  expect(select(rows).nodes.map(({ row: { id }, folded, parentTitle }) => [id, folded, parentTitle])).toEqual(
    [
      ["g", 11, null],
      ["p0", 0, undefined],
      ["open", 0, undefined],
    ],
  );
});

/** Two hundred tasks in chains of ten; n-m is the m-th of chain n. */
const chains = (states: Record<string, WireTaskRow["state"]> = {}) =>
  Array.from({ length: 200 }, (_, n) => {
    const [line, place] = [Math.floor(n / 10), n % 10];
    const id = `${line}-${place}`;
    return row(id, {
      dependsOn: place > 0 ? [`${line}-${place - 1}`] : [],
      state: states[id] ?? "queued",
      updatedAt: `2026-01-01T00:00:${String(line).padStart(2, "0")}Z`,
    });
  });

test("a large project begins with what is at work or failed and what is near it; all of it is there if asked for", () => {
  const rows = chains({ "7-4": "running", "12-0": "failed", "15-9": "awaiting_response" });
  const { nodes, isPart, anchor } = select(rows, { partMax: 30 });
  const ids = nodes.map((node) => node.row.id);
  expect(ids).toHaveLength(30);
  expect(ids).toEqual(expect.arrayContaining(["7-4", "7-3", "7-5", "12-0", "12-1", "15-9", "15-8"]));
  expect([isPart, anchor]).toEqual([true, "7-4"]);
  expect(select(rows, { partMax: 30, isWhole: true, nodesMax: 200 })).toMatchObject({
    isPart: false,
    total: 200,
  });
  expect(idsOf(rows, { partMax: 30, isWhole: true, nodesMax: 200 })).toHaveLength(200);
});

test("where nothing is at work a large project begins with its longest open chain", () => {
  const rows = [...chains(), row("end", { dependsOn: ["4-9"] })];
  const { nodes, anchor } = select(rows, { partMax: 20 });
  const ids = nodes.map((node) => node.row.id);
  expect(ids).toEqual(expect.arrayContaining(["4-0", "4-5", "end"]));
  expect(anchor).toBe("4-0");
});

test("what is drawn stays as long as it shows what matters", () => {
  const drawn = new Set(idsOf(chains({ "7-4": "running" }), { partMax: 30 }));
  const moved = chains({ "7-4": "completed", "7-5": "running" });
  expect(idsOf(moved, { partMax: 30, drawn })).toEqual([...drawn].sort());
  const away = idsOf(chains({ "7-4": "running", "19-2": "running" }), { partMax: 30, drawn });
  expect(away).toEqual(expect.arrayContaining(["7-4", "19-2"]));
});

test("the one that was started last is the one to look at; one that waits for an answer only where nothing runs", () => {
  const rows = chains({ "1-0": "running", "2-0": "running", "3-0": "awaiting_response" });
  expect(newestAtWork(select(rows, { partMax: 300 }).nodes)?.id).toBe("2-0");
  const asking = chains({ "3-0": "awaiting_response" });
  expect(newestAtWork(select(asking, { partMax: 300 }).nodes)?.id).toBe("3-0");
});

test("links and the longest chain are kept while only states change", () => {
  const first = structureOf(chains());
  const started = structureOf(chains({ "1-0": "running" }), first);
  expect(started.links).toBe(first.links);
  expect(started.chain).toBe(first.chain);
  expect(started.byId.get("1-0")!.state).toBe("running");
  const done = structureOf(chains({ "0-0": "completed" }), first);
  expect(done.links).toBe(first.links);
  expect(done.chain).not.toBe(first.chain);
  const rewired = chains();
  rewired[5] = { ...rewired[5]!, dependsOn: ["1-0"] };
  expect(structureOf(rewired, first).links.get("1-0")!.after).toEqual(["0-5", "1-1"]);
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
