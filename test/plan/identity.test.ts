// By what tasks are known when a plan is loaded again.

import { describe, expect, test } from "vitest";
import { toNamedBatch } from "../../src/bridges/plan/index.js";
import { createTasks } from "../../src/contract/tasks/batch.js";
import { planOf } from "./outline.js";

const identities = (text: string) => planOf(text).tasks.map(({ identity }) => identity);

describe("a task is known", () => {
  test("by its title below those of its parents, whatever its number, case and punctuation", () => {
    const before = identities(
      "## Phase 1: API\n1. [ ] **Routes**\n2. [ ] Errors\n\n## Docs\n1. [ ] Routes\n",
    );
    const after = identities(
      "## Phase 1: API\n1. [ ] New\n2. [ ] routes.\n3. [ ] Errors!\n\n## Docs\n1. [ ] Routes\n",
    );
    expect(after).toEqual(expect.arrayContaining(before));
    expect(after).toHaveLength(before.length + 1);
    expect(new Set(after).size).toBe(after.length);
  });

  test("never by the number of a list, a step or a task", () => {
    for (const lead of ["1.", "Task 1:", "Step 1:", "T001", "1.1"])
      expect(identities(`- [ ] ${lead} Alpha\n`)).toEqual(["alpha"]);
  });

  test("by its own key, whatever its title and its place", () => {
    const plan = (title: string) =>
      JSON.stringify([
        { key: "auth", title },
        { id: 7, title: "B", subtasks: [{ id: 1, title }] },
      ]);
    expect(identities(plan("One"))).toEqual(["key:auth", "key:7", "key:7/key:1"]);
    expect(identities(plan("Two"))).toEqual(identities(plan("One")));
    expect(identities("TASK: Alpha\nID: auth-api\n")).toEqual(["key:auth-api"]);
  });

  test("by something else than any other task of its plan", () => {
    expect(identities("- [ ] Add tests\n- [ ] Add tests!\n")).toEqual(["add tests", "add tests (2)"]);
  });

  test("within the bounds of the server, however long its path is", () => {
    const deep = Array.from(
      { length: 20 },
      (_, level) => `${"  ".repeat(level)}- [ ] ${level} ${"long ".repeat(20)}`,
    );
    const found = identities(`${deep.join("\n")}\n`);
    expect(new Set(found).size).toBe(20);
    expect(Math.max(...found.map((each) => each.length))).toBeLessThanOrEqual(500);
  });
});

test("a named batch has what is done, and who waits for it", () => {
  const plan = planOf("- [x] Set up\n- [ ] Build (depends on: Set up)\n");
  const batch = toNamedBatch(plan, { name: "plan.md", prune: true });
  expect(batch).toMatchObject({
    plan: "plan.md",
    prune: true,
    tasks: [
      { key: "t1", identity: "set up", done: true },
      { key: "t2", identity: "build", dependsOn: ["t1"] },
    ],
  });
  expect(createTasks.input.safeParse(batch).success).toBe(true);
});
