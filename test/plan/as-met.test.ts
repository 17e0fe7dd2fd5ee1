// Sentences about dependencies as they are met in plans of people and models: none may be lost, turned round or invented.

import { describe, expect, test } from "vitest";
import { outline, planOf, taskOf } from "./outline.js";

describe("a task's text says what it waits for", () => {
  test.each([
    "Blocked by 1. Use Playwright.",
    "Count retries. After task 1.",
    "Must wait for Task 1.",
    "Cannot start until Task 1 is complete.",
    "Do not start before Task 1 has been rolled out.",
    "Once Task 1 is merged, deploy it.",
    "When Task 1 is finished, write the docs.",
    "After completing Task 1, write the docs.",
    "Can run next to task 3, but must wait for Task 1.",
    "Builds on Task 1.",
    "**Predecessors:** 1",
    "🔗 Depends on: 1",
    "Requires: Task 1",
  ])("%s", (text) => {
    const plan = planOf(
      `## Task 1: Alpha\n\nDo it.\n\n## Task 2: Beta\n\n${text}\n\n## Task 3: Gamma\n\nDo it.\n`,
    );
    expect(outline(plan)).toEqual(["Alpha", "Beta ← Alpha", "Gamma"]);
  });

  test.each([
    "Does not depend on Task 1.",
    "It is not blocked by Task 1.",
    "Doesn't need Task 1, needs 3 retries.",
  ])("but not %s", (text) => {
    const plan = planOf(`## Task 1: Alpha\n\nDo it.\n\n## Task 2: Beta\n\n${text}\n`);
    expect(outline(plan)).toEqual(["Alpha", "Beta"]);
    expect(taskOf(plan, "Beta").description).toBe(text);
  });
});

test.each([
  ["(2h, depends on 1)", "2h"],
  ["(depends on 1; 2h)", "2h"],
  ["(3 pts, blocked by 1)", "3 pts"],
  ["(after 1)", undefined],
])("brackets with an estimate in them: %s", (brackets, description) => {
  const plan = planOf(`1. Alpha\n2. Beta ${brackets}\n`);
  expect(outline(plan)).toEqual(["Alpha", "Beta ← Alpha"]);
  expect(taskOf(plan, "Beta").description).toBe(description);
});

test("what a task blocks waits for it", () => {
  const plan = planOf("### US-4: Revoke\n**Blocks:** US-5\n\n### US-5: Audit\nLog it.\n");
  expect(outline(plan)).toEqual(["Revoke", "Audit ← Revoke"]);
  expect(taskOf(plan, "Revoke").description).toBe("Blocks: US-5");
});

test("a section about dependencies is read, and no line of it is reported as left out", () => {
  const plan = planOf(
    "## Tasks\n- **T1**: One\n- **T2**: Two\n- **T3**: Three\n## Dependencies\n- T3 depends on T1 and T2\n",
  );
  expect(outline(plan)).toEqual(["One", "Two", "Three ← One, Two"]);
  expect(plan.notes.join()).not.toContain("T3 depends");
});

test("a table says more about tasks that headings describe", () => {
  const plan = planOf(
    "| ID | Title | Depends on | Priority |\n|---|---|---|---|\n| T1 | One | - | high |\n| T2 | Two | T1 | low |\n\n### T1: One\nFirst.\n\n### T2: Two\nSecond.\n",
  );
  expect(outline(plan)).toEqual(["One", "Two ← One"]);
  expect(taskOf(plan, "One")).toMatchObject({ priority: 80, description: "First." });
});

test("prose never makes subtasks wait for what waits for their parent", () => {
  const plan = planOf(
    "## Task 1: Alpha\n\nRevisit it after task 2.\n\n- [ ] One\n- [ ] Two\n\n## Task 2: Beta\n\nDepends on: 1\n",
  );
  expect(outline(plan)).toEqual(["Alpha", "  One", "  Two", "Beta ← Alpha"]);
});

test("prose never makes tasks wait for each other: the sentence gives way, and a note says so", () => {
  const plan = planOf("## Task 1: Alpha\n\nRevisit it after task 2.\n\n## Task 2: Beta\n\nDepends on: 1\n");
  expect(outline(plan)).toEqual(["Alpha", "Beta ← Alpha"]);
  expect(plan.notes.join()).toContain('"Alpha" does not wait for "Beta"');
});

test.each([
  ["- [ ] ~~Old~~ (won't do)\n- [ ] New\n", ["✓ Old", "New"]],
  ["- ⬜ New\n- ❌ Old (dropped)\n", ["New", "✓ Old (dropped)"]],
  ["### Task 1: Old ✅\n\nx\n\n### Task 2: New\n\ny\n", ["✓ Old", "New"]],
  ["### ✅ Task 1: Old\n\nx\n\n### Task 2: New\n\nDepends on Task 1\n", ["✓ Old", "New ← Old"]],
  ["- DONE: Old\n- TODO: New\n", ["✓ Old", "New"]],
  ["* Project\n** DONE Old\n** TODO [#A] New\n", ["✓ Old", "New"]],
])("what is done or dropped is not created: %j", (text, expected) => {
  expect(outline(planOf(text))).toEqual(expected);
});

test("steps in bold below a task are how to do it, not tasks", () => {
  const plan = planOf(
    "### Task 1: Slug\n\n- [ ] **Step 1: Write the test**\n- [ ] **Step 2: Commit**\n\n### Task 2: Page\n\nx\n",
  );
  expect(outline(plan)).toEqual(["Slug", "Page"]);
  expect(taskOf(plan, "Slug").prompt).toContain("- [ ] **Step 2: Commit**");
});

test("todos of the front matter are the tasks, and each gets the document below it", () => {
  const plan = planOf(
    "---\nname: OAuth\ntodos:\n  - id: a\n    content: Configure\n    status: pending\n  - id: b\n    content: Route\n    dependencies:\n      - a\n---\n\n# OAuth\n\nUse openid-client.\n",
  );
  expect(outline(plan)).toEqual(["Configure", "Route ← Configure"]);
  expect(taskOf(plan, "Route").prompt).toBe("Route\n\n# OAuth\n\nUse openid-client.");
});

test("fields below the document's title are about the document", () => {
  const plan = planOf(
    "# Tasks: Photos\n\n**Prerequisites**: plan.md (required)\n\n- [ ] T001 Create project\n",
  );
  expect(outline(plan)).toEqual(["Create project"]);
  expect(plan.notes.join()).toContain("plan.md (required)");
});

test("of a list of dependencies what is found counts, and a note quotes the rest", () => {
  const plan = planOf(
    '1. Alpha\n2. Beta - depends on "Alpha", can take a while\n3. **Gamma** — high priority\n',
  );
  expect(outline(plan)).toEqual(["Alpha", 'Beta - depends on "Alpha", can take a while ← Alpha', "Gamma"]);
  expect(plan.notes.join()).toContain('"can take a while" is no task of this plan');
  expect(taskOf(plan, "Gamma").priority).toBe(80);
});
