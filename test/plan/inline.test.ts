import { describe, expect, test } from "vitest";
import { outline, planOf, problemsOf } from "./outline.js";

const task = (line: string) => planOf(`- [ ] ${line}\n- [ ] Other\n- [ ] 3rd\n`).tasks[0]!;

describe("beside a title", () => {
  test.each([
    ["Fix it (priority: high)", { title: "Fix it", priority: 80 }],
    ["[p1] Fix it", { title: "Fix it", priority: 100 }],
    ["Fix it [low]", { title: "Fix it", priority: 20 }],
    ["Fix it !critical", { title: "Fix it", priority: 100 }],
    ["P2: Fix it", { title: "Fix it", priority: 80 }],
    ["Fix it (Priority: 75)", { title: "Fix it", priority: 75 }],
    ["Fix it #ui #bug @bob", { title: "Fix it", labels: ["ui", "bug"], assignee: "bob" }],
    ["Fix it files: a.ts, `src/b.ts`", { title: "Fix it", files: ["a.ts", "src/b.ts"] }],
    [
      "**Fix it**: soon, (depends on: Other) #ui",
      { title: "Fix it", description: "soon,", dependsOn: ["t2"], labels: ["ui"] },
    ],
    ["Fix it - depends on Other", { title: "Fix it", dependsOn: ["t2"] }],
    ["Fix it; needs: Other; phase: test", { title: "Fix it", dependsOn: ["t2"], phase: "test" }],
    [
      "[TEST] Fix it (priority: low, depends on: Other, 3rd)",
      { title: "Fix it", phase: "test", priority: 20, dependsOn: ["t2", "t3"] },
    ],
    ["Fix it | owner: bob | labels: ui, bug", { title: "Fix it", assignee: "bob", labels: ["ui", "bug"] }],
  ])("%s", (line, expected) => {
    expect(task(line)).toMatchObject(expected);
  });

  test.each([
    "Install @types/node",
    "Read [the docs](https://example.org/a_(b))",
    "Call foo(after: 3)",
    "Show a banner (after login)",
    "Read the files: all of them",
    "Rename `x[p1]` (it is odd)",
    "Fix issue #12",
    "Handle the priority queue (fast)",
    "Explain what a task depends on",
    "Say hello!",
  ])("%s is all title", (line) => {
    expect(task(line)).toMatchObject({ title: line, dependsOn: [], type: "task" });
    expect(task(line).labels ?? task(line).priority ?? task(line).assignee).toBeUndefined();
  });
});

describe("lists", () => {
  test.each([
    ["two blanks", "  "],
    ["three blanks", "   "],
    ["four blanks", "    "],
    ["a tab", "\t"],
  ])("nest by %s", (_, indent) => {
    const text = [
      "- [ ] A",
      `${indent}+ [ ] B`,
      `${indent}${indent}1) [ ] C`,
      `${indent}* [X] D`,
      "- [ ] E",
    ].join("\r\n");
    expect(outline(planOf(text))).toEqual(["A", "  B", "    C", "  ✓ D", "E"]);
  });

  test("of plain bullets count where there is no box, and as groups of boxes", () => {
    expect(outline(planOf("- A\n- B\n  - C\n"))).toEqual(["A", "B", "  C"]);
    expect(outline(planOf("- Backend\n  - [ ] A\n- Frontend\n  - [ ] B\n"))).toEqual([
      "Backend/",
      "  A",
      "Frontend/",
      "  B",
    ]);
  });

  test("take a plain bullet among boxes for a task, and say so", () => {
    const plan = planOf("- [ ] A\n- B\n  - about B\n\n- [ ] C (depends on: B)\n");
    expect(outline(plan)).toEqual(["A", "B", "C ← B"]);
    expect(plan.tasks[1]).toMatchObject({ type: "task", description: "- about B" });
    expect(plan.notes).toEqual(['Line 2: "B" has no box, but is among tasks; it was read as one.']);
    const grouped = planOf("- Backend\n  - [ ] A\n  - B\n- [ ] C\n  - Subtasks:\n    - D\n    - [ ] E\n");
    expect(outline(grouped)).toEqual(["Backend/", "  A", "  B", "C", "  D", "  E"]);
  });

  test("keep plain bullets below a box in what the agent is told, whatever stands beside them", () => {
    const plan = planOf("- [ ] A\n  - about A\n    - more\n  - [ ] Part\n    1. first\n  - and this\n");
    expect(outline(plan)).toEqual(["A", "  Part"]);
    expect(plan.tasks.map(({ prompt }) => prompt)).toEqual([
      "A\n\n- about A\n  - more\n- and this",
      "Part\n\n1. first",
    ]);
    expect(plan.notes).toEqual([]);
  });

  test("without any box beside a checklist are prose: of their group, or left out and quoted", () => {
    const plan = planOf(
      "## Backend\n- fast\n  - and small\n\nSteps:\n- [ ] A\n\nThat is all.\n\n- really\n\n## Web\n- C\n\n## Risks\n- many\n",
    );
    expect(outline(plan)).toEqual(["Backend/", "  A"]);
    expect(plan.tasks[0]?.description).toBe("- fast\n  - and small\n\nThat is all.\n\n- really");
    expect(plan.notes).toEqual([
      '4 lines belong to no task and were left out: line 12 "## Web", line 13 "- C", line 15 "## Risks", line 16 "- many".',
    ]);
  });

  test("lose nothing beside a comment or a piece of one", () => {
    const text =
      "- [ ] A <!-- id: 7 -->\n  <!-- why\n  - [ ] not this\n  --> because\n  depends on: C\n- [ ] Strip `<!--` off\n- [ ] B <!-- open\n- [ ] C\n";
    const plan = planOf(text);
    expect(outline(plan)).toEqual(["A ← C", "Strip `<!--` off", "B <!-- open", "C"]);
    expect(plan.tasks[0]?.description).toBe("because");
  });

  test("under headings make groups, and a heading above all is the title", () => {
    const text =
      "# Plan\n## Backend\nAbout it.\n### Store\n- [ ] A\n### API\n- [ ] B\n## Web\n- [ ] C\n## Thanks\nBye.\n";
    const plan = planOf(text);
    expect(outline(plan)).toEqual(["Backend/", "  Store/", "    A", "  API/", "    B", "Web/", "  C"]);
    expect(plan.tasks[0]?.description).toBe("About it.");
    expect(plan.notes.join("\n")).toContain('line 10 "## Thanks", line 11 "Bye."');
    expect(outline(planOf("## Backend\n- [ ] A\n"))).toEqual(["Backend/", "  A"]);
  });

  test("may be numbered 1, 1, 1, or by dots without indentation", () => {
    expect(outline(planOf("1. A\n1. B (after 1)\n1. C (after 1, #2)\n"))).toEqual(["A", "B ← A", "C ← A, B"]);
    expect(outline(planOf("1. A\n1.1. B\n1.2. C (after 1.1)\n2. D\n"))).toEqual(["A", "  B", "  C ← B", "D"]);
  });

  test("under `Task 1:` are its parts, unless they are what it is accepted by", () => {
    const parts =
      "### Task 1: Set up\n- [ ] Install\n\n### Task 2: Build\n**Depends on:** Task 1\n- [ ] Compile\n";
    expect(outline(planOf(parts))).toEqual(["Set up/", "  Install", "Build/", "  Compile ← Set up"]);
    const criteria = parts.replaceAll("- [ ]", "\n**Acceptance criteria**:\n\n- [ ]");
    const plan = planOf(criteria);
    expect(outline(plan)).toEqual(["Set up", "Build ← Set up"]);
    expect(plan.tasks[1]?.description).toBe("**Acceptance criteria**:\n\n- [ ] Compile");
  });

  test("have descriptions below their items, and code in them is text", () => {
    const text =
      "- [ ] A\n  first\n\n  second\n  ```\n  - [ ] no\n  depends on: nobody\n  ```\nlazy\n- [ ] B\n\nstray\n";
    const plan = planOf(text);
    expect(outline(plan)).toEqual(["A", "B"]);
    expect(plan.tasks[0]?.description).toContain("first\n\n");
    expect(plan.tasks[0]?.description).toContain("depends on: nobody");
    expect(plan.tasks[1]?.description).toBeUndefined();
    expect(plan.notes).toEqual(['1 line belongs to no task and was left out: line 12 "stray".']);
  });
});

test("criteria of acceptance are text of their task, whether it is an item or a heading", () => {
  const text =
    "## One\n- Priority: high\n\n**Acceptance criteria:**\n\n- [ ] works\n\n## Two\n- Depends on: One\n\n## Three\n- [ ] Item\n  Done when:\n  - [ ] it is\n- [ ] Next\n";
  const plan = planOf(text);
  expect(outline(plan)).toEqual(["One", "Two ← One", "Three/", "  Item", "  Next"]);
  expect(plan.tasks[0]?.description).toBe("**Acceptance criteria:**\n\n- [ ] works");
  expect(plan.tasks[3]?.description).toBe("Done when:\n- [ ] it is");
});

describe("TASK blocks", () => {
  test("have lists below an empty field, and sections of text after the fields", () => {
    const text =
      "TASK: A\nDEPENDS_ON:\n- none\nFILES:\n\n* `a.ts`\n* b.ts\n\n**Steps**\n\n- one\n\n- two\n\nTASK: B\nDEPENDS_ON: A,\n  C\n\nTASK: C\n\nBye!\n";
    const plan = planOf(text);
    expect(outline(plan)).toEqual(["A", "B ← A, C", "C"]);
    expect(plan.tasks[0]).toMatchObject({
      files: ["a.ts", "b.ts"],
      description: "**Steps**\n\n- one\n\n- two",
    });
  });

  test("have a title in the next line, or under its own name", () => {
    expect(outline(planOf("TASK:\nFirst\n\nTASK 2:\nTITLE: Second\nDEPENDS ON: First\n"))).toEqual([
      "First",
      "Second ← First",
    ]);
  });

  test("keep lines of their description that look like fields of no use", () => {
    const [task] = planOf(
      "TASK: A\nDESCRIPTION: Print this:\nName: x\nKey: y\nNote: z\nPRIORITY: low\n",
    ).tasks;
    expect(task).toMatchObject({
      title: "A",
      priority: 20,
      description: "Print this:\nName: x\nKey: y\nNote: z",
    });
  });
});

describe("no plan", () => {
  test("is told with the forms that would be one", () => {
    expect(problemsOf("")).toMatchObject([{ line: 1, column: 1, message: "The plan is empty." }]);
    expect(problemsOf("Just some thoughts.\n")[0]?.hint).toContain("- [ ] title");
    expect(problemsOf('{"answer": 42}')[0]?.message).toBe("There are no tasks in this plan.");
  });

  test.each([
    ['{"tasks": [\n  {"title": "A"}\n  {"title": "B"}\n]}', 3, 3, "A ',' or ']' is expected here, not '{'."],
    ['[{"title": "A}]', 1, 12, "This text has no closing quote on its line."],
    ["[{'title': 1}]", 1, 3, "A field name in double quotes or '}' is expected here, not '''."],
    ['[\n  {"title": "A"},\n', 3, 1, "The text ends, but what line 1 opens is not closed by ']'."],
    ['[{"title": TODO}]', 1, 12, "A value is expected here, not 'TODO'."],
    ['[{"title": "A"}] thanks', 1, 18, "The JSON ends before this 'thanks'."],
    ["Plan:\n```json\n[{]\n```\n", 3, 3, "A field name in double quotes or '}' is expected here, not ']'."],
  ])("but broken JSON is told with its place: %s", (text, line, column, message) => {
    expect(problemsOf(text)).toEqual([{ line, column, message }]);
  });

  test("is what the server would refuse", () => {
    expect(problemsOf(`- [ ] A\n- [ ] B (labels: ${"x".repeat(200)})\n`)).toMatchObject([{ line: 2 }]);
    expect(problemsOf('[{"title": "A", "timeoutMs": -1}]')[0]?.message).toMatch(/^timeoutMs /);
    expect(problemsOf('[{"title": ""}, 7]').map(({ message }) => message)).toEqual([
      "This is not a task.",
      "This task has no title.",
    ]);
  });
});
