import { describe, expect, test } from "vitest";
import { previewPlan, toBatch } from "../../src/bridges/plan/index.js";
import { bounds } from "../../src/bridges/plan/plan.js";
import { createTasks } from "../../src/contract/tasks/batch.js";
import { limits } from "../../src/core/limits.js";
import { openDibs } from "../../src/index.js";
import { planOf } from "./outline.js";

const release = `## Build
- [x] Set up CI
- [ ] Schema [high]
- [ ] API
  - depends on: Schema, Set up CI
  - [ ] Routes
  - [ ] Errors

## Ship
- [ ] Docs (depends on: 0001_t2)
- [ ] Release (depends on: API, Docs)
`;

describe("a preview", () => {
  test("shows the tree, the waves and the longest chain", () => {
    const preview = previewPlan(planOf(release), { width: 100 });
    expect(preview.tree).toEqual([
      "t1  Build/",
      "├─ ✓  t2  Set up CI  (done, left out)",
      "├─ t3  Schema  [high 80]",
      "└─ t4  API  ← t3, t2",
      "   ├─ t5  Routes  ← t3",
      "   └─ t6  Errors  ← t3",
      "t7  Ship/",
      "├─ t8  Docs  ← 0001_t2",
      "└─ t9  Release  ← t4, t8",
      "order: t3, t8 → t5, t6 → t4 → t9",
      "6 tasks · 4 waves · up to 2 at once · longest chain: Schema → Routes → API → Release",
    ]);
    expect(preview).toMatchObject({
      waves: [["t3", "t8"], ["t5", "t6"], ["t4"], ["t9"]],
      width: 2,
      longestChain: ["t3", "t5", "t4", "t9"],
    });
  });

  test("goes through groups without counting them", () => {
    const plan = planOf(
      "## One\n- [ ] A\n## Two (depends on: One)\n- [ ] B\n## Three\n- [ ] C (depends on: Two)\n",
    );
    expect(previewPlan(plan)).toMatchObject({
      waves: [["t2"], ["t4"], ["t6"]],
      longestChain: ["t2", "t4", "t6"],
    });
  });

  test("of one task has no chain", () => {
    expect(previewPlan(planOf("- [ ] A\n")).tree).toEqual(["t1  A", "1 task · 1 wave · up to 1 at once"]);
  });

  test("is cut to the width, and moves no cursor", () => {
    const plan = planOf(
      JSON.stringify([{ title: `Evil\u001b[2J\u202e\n${"long ".repeat(40)}` }, { title: "漢字".repeat(40) }]),
    );
    const { tree } = previewPlan(plan, { width: 40 });
    expect(tree[0]).toMatch(/^t1 {2}Evil \[2J +long .*…$/);
    for (const line of tree) expect([...line].length).toBeLessThanOrEqual(40);
    expect([...tree[1]!].length).toBeLessThan(24);
    expect(tree.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe("a batch", () => {
  test("has parents before children, and neither what is done nor who waits for it", () => {
    const input = toBatch(planOf(release));
    expect(input.tasks.map(({ key }) => key)).toEqual(["t1", "t3", "t4", "t5", "t6", "t7", "t8", "t9"]);
    expect(input.tasks[2]).toEqual({
      key: "t4",
      type: "task",
      title: "API",
      prompt: "API",
      parentId: "t1",
      dependsOn: ["t3"],
    });
    expect(createTasks.input.safeParse(input).success).toBe(true);
  });

  test("puts a parent first that comes later in the plan", () => {
    const plan = planOf('[{"title":"Child","parentId":"p"},{"key":"p","title":"P","parentId":"0001"}]');
    expect(toBatch(plan).tasks.map(({ key, parentId }) => [key, parentId])).toEqual([
      ["p", "0001"],
      ["t1", "p"],
    ]);
  });

  test("never takes an id of an existing task for a key", () => {
    const plan = planOf('[{"title":"A"},{"key":"t9","title":"B","dependsOn":["id:t1","id:t9","A"]}]');
    expect(toBatch(plan).tasks.map(({ key, dependsOn }) => [key, dependsOn])).toEqual([
      ["t1x", []],
      ["t2", ["t1x", "t1", "t9"]],
    ]);
  });

  test("keeps a ticked parent of open parts as their group, and is empty when all is done", () => {
    const plan = planOf("- [x] Parent\n  - [ ] Part\n- [ ] After (depends on: Parent)\n");
    expect(toBatch(plan).tasks.map(({ title, type }) => [title, type])).toEqual([
      ["Parent", "group"],
      ["Part", "task"],
      ["After", "task"],
    ]);
    expect(plan.notes[0]).toContain("kept as their group");
    expect(toBatch(planOf("## Group\n- [x] A\n- [x] B\n")).tasks).toEqual([]);
  });

  test("is taken by Dibs, and the first wave is what can be claimed", async () => {
    const dibs = await openDibs({ memory: true, project: "demo" });
    const plan = planOf(release.replace(" (depends on: 0001_t2)", ""));
    const { ids } = await dibs.tasks.batch(toBatch(plan));
    const { tasks } = await dibs.tasks.claimable({});
    expect(tasks.map(({ id }) => id).sort()).toEqual(
      previewPlan(plan)
        .waves[0]!.map((key) => ids[key])
        .sort(),
    );
    await dibs.close();
  });

  test("knows the server's bounds", () => {
    const { batchMax, depthMax, titleLengthMax, promptBytesMax } = limits;
    expect(bounds).toEqual({ tasksMax: batchMax, depthMax, titleLengthMax, promptBytesMax });
  });
});
