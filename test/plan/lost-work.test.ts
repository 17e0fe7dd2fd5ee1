// Plans in which work was lost, as they were met.

import { describe, expect, test } from "vitest";
import { outline, planOf, problemsOf, taskOf } from "./outline.js";

const twelve = Array.from(
  { length: 12 },
  (_, n) =>
    `${n + 1}. **Do part ${n + 1}**\n   Details of ${n + 1}.\n   - look at file ${n + 1}\n${n === 4 ? "   - [ ] first half\n   - [ ] second half\n" : ""}`,
).join("");

describe("numbered items without a box are tasks", () => {
  test("where two boxes are nested in one of them", () => {
    const plan = planOf(twelve);
    expect(plan.tasks).toHaveLength(14);
    expect(outline(plan).slice(3, 8)).toEqual([
      "Do part 4",
      "Do part 5",
      "  first half",
      "  second half",
      "Do part 6",
    ]);
    expect(taskOf(plan, "Do part 9").prompt).toBe("Do part 9\n\nDetails of 9.\n- look at file 9");
    expect(plan.notes).toEqual([]);
  });

  test.each(["   ", "  ", ""])("where the box below is indented by %j", (indent) => {
    const plan = planOf(`1. **Do A**\n${indent}- [ ] sub\n2. Do B (after Do A)\n`);
    expect(outline(plan)).toEqual(["Do A", "  sub", "Do B ← Do A"]);
  });

  test("also under other headings, written in the same way", () => {
    const plan = planOf(
      "## One\n1. **Do A**\n   - [ ] sub\n2. **Do B**\n\n## Two\n3. **Do C**\n4. **Do D**\n",
    );
    expect(outline(plan)).toEqual(["One/", "  Do A", "    sub", "  Do B", "Two/", "  Do C", "  Do D"]);
  });
});

describe("headings are tasks", () => {
  const alpha = "## Task 1: Alpha\n**Priority:** High\n\nDo it exactly like this.\n";

  test.each(["auto", "markdown", "text"] as const)(
    "with the paragraph after their fields, as %s",
    (format) => {
      for (const text of [alpha, alpha.replace("\n\n", "\n"), `${alpha}\n## Task 2: Beta\nDepends on: 1\n`]) {
        const [task] = planOf(text, { format }).tasks;
        expect(task).toMatchObject({ title: "Alpha", priority: 80, key: "1" });
        expect(task?.prompt).toBe("Alpha\n\nDo it exactly like this.");
      }
    },
  );

  test("without any field, next to others that have one", () => {
    const text = `# Plan\n\n${alpha}\n## Task 2: Beta\n\nDo that.\n\n## Task 3: Gamma\n- with care\n- (after 1)\n`;
    const plan = planOf(text, { format: "markdown" });
    expect(outline(plan)).toEqual(["Alpha", "Beta", "Gamma ← Alpha"]);
    expect(plan.tasks[1]?.description).toBe("Do that.");
    expect(plan.tasks[2]?.description).toContain("- with care");
  });

  test("without any field at all, and without numbers", () => {
    expect(outline(planOf("# Plan\n## Alpha\nDo it.\n## Beta\nDo that.\n### Hint\nSlowly.\n"))).toEqual([
      "Alpha",
      "Beta",
    ]);
    const plan = planOf("## Alpha\nPriority: high\n\nDo it.\n\n## Beta\n\nDo that.\n");
    expect(outline(plan)).toEqual(["Alpha", "Beta"]);
    expect(plan.notes).toEqual(['Line 6: "Beta" is next to tasks and was read as one.']);
  });
});

describe("a dependency is read", () => {
  test.each([
    "Beta _(after 1)_",
    "Beta _(depends on 1)_",
    "Beta *(after 1)*",
    "Beta **(after 1)**",
    "Beta — after step 1",
    "Beta → after #1",
    'Beta — waits for "Alpha"',
    "Beta - waits for Alpha",
    "Beta `depends on: 1`",
    "Beta `(after 1)`",
    "Beta, after 1",
    "Beta (after Alpha)",
    "Beta (needs task 1)",
    "Beta (once 1 is done)",
    "Beta ← 1",
    "Beta _after 1_",
    "Beta after step 1",
    "Beta (high priority, after 1)",
    "Beta\n   - Depends on task 1.",
    "Beta\n   - Depends on Alpha.",
    "Beta\n   - `depends on: 1`",
    "Beta\n   - *Depends on: 1*",
    "Beta\n   This depends on task 1.",
    "Beta\n   Must run after #1",
    "Beta\n\n   **Blocked by** task 1",
    "Beta (hängt ab von 1)",
    "Beta (nach Alpha)",
    "Beta (dépend de 1)",
    "Beta (après Alpha)",
    "Beta (depende de la tarea 1)",
    "Beta (después de Alpha)",
    "Beta（依赖：1）",
    "Beta（依赖任务1）",
    "Beta（在任务1之后）",
    "Beta（タスク1の後）",
    "Beta（Alphaに依存）",
    "Beta\n   - Abhängig von: Alpha",
    "Beta\n   - Dépendances : 1",
    "Beta\n   - Depende de: Alpha",
    "Beta\n   - 依赖：Alpha",
    "Beta\n   - 依存関係: タスク1",
  ])("of %s", (beta) => {
    for (const box of ["", "[ ] "]) {
      const plan = planOf(`1. ${box}Alpha\n2. ${box}${beta}\n3. ${box}Gamma\n`);
      expect(outline(plan)).toEqual(["Alpha", "Beta ← Alpha", "Gamma"]);
      expect(plan.notes).toEqual([]);
    }
  });

  test.each([
    ["Show a banner (after login)", '"login" is no task of this plan'],
    ["Show a banner — after the first login", '"the first login" is no task of this plan'],
  ])("but not of %s: that is the title, and a note says so", (title, note) => {
    const plan = planOf(`- [ ] ${title}\n- [ ] Other\n`);
    expect(outline(plan)).toEqual([title, "Other"]);
    expect(plan.notes.join()).toContain(note);
  });

  test.each([
    "Needs 3 retries.",
    "Requires Node 20",
    "After that, clean up.",
    "Once 2 users are there, stop.",
  ])("but not of the text %s", (text) => {
    const plan = planOf(`1. Alpha\n2. Beta\n   ${text}\n3. Gamma\n`);
    expect(outline(plan)).toEqual(["Alpha", "Beta", "Gamma"]);
    expect([plan.tasks[1]?.description, plan.notes]).toEqual([text, []]);
  });

  test.each([
    "- [ ] Beta (depends on: 1)\n- [ ] Gamma\n\n## Later\n\n\n\n\n1. [ ] Alpha\n",
    "- [ ] Beta (depends on: 1)\n- [ ] Gamma\n\n## Later\n\n\n\n\n**1. Alpha**\n- [ ] part\n",
    "## Task 2: Beta\nDepends on: 1\n\n## Task 3: Gamma\n\n\n\n\n## **1. Alpha**\n",
    "## Task 2: Beta\nDepends on: 1\n\n## Task 3: Gamma\n\n\n\n\n## Task 1\nAlpha.\n",
  ])("when the task comes later: %j", (text) => {
    const plan = planOf(text);
    expect(taskOf(plan, "Beta").dependsOn).toHaveLength(1);
  });
});

describe("what describes a task is no task", () => {
  test("acceptance criteria, estimates and examples", () => {
    const text = `1. **Add the parser**
   - Estimate: 2h
   - Acceptance criteria:
     - [ ] handles empty input
   - Should look like this:
     \`\`\`
     parse("")
     \`\`\`
2. **Add the printer**
   - Reads a tree
   - Effort: small

   Acceptance criteria:
   - prints it
`;
    const plan = planOf(text);
    expect(outline(plan)).toEqual(["Add the parser", "Add the printer"]);
    expect(plan.tasks[0]?.description).toBe(
      '- Estimate: 2h\n- Acceptance criteria:\n  - [ ] handles empty input\n- Should look like this:\n  ```\n  parse("")\n  ```',
    );
    expect(plan.tasks[1]?.description).toBe(
      "- Reads a tree\n- Effort: small\n\nAcceptance criteria:\n- prints it",
    );
  });

  test("bullets without a number or bold type below a title that has it", () => {
    expect(outline(planOf("- **A**\n  - about it\n- **B**\n  - Should work\n"))).toEqual(["A", "B"]);
    expect(outline(planOf("- A\n  - Should work\n  - Estimate: 2h\n- B\n"))).toEqual(["A", "B"]);
  });

  test("`[-]` is cancelled: it is not created, and a note says so; `[~]` and `[/]` are open", () => {
    const plan = planOf("- [-] A\n- [~] B\n- [/] C (depends on: A)\n");
    expect(outline(plan)).toEqual(["✓ A", "B", "C ← A"]);
    expect(plan.notes).toEqual([
      'Line 3: "C" depends on "A", which the plan marks as cancelled: it waits only if an earlier load created that task and it is still open.',
      'Line 1: "A" is cancelled and will not be created.',
    ]);
  });

  test("a number in bold is no part of the title", () => {
    for (const text of [
      "- **Task 1:** Alpha",
      "1. **Task 1:** Alpha",
      "**Task 1:** Alpha",
      "- **Task 1**: Alpha",
      "- **1.** Alpha",
    ])
      expect(planOf(`${text}\n`, { format: "markdown" }).tasks).toMatchObject([{ key: "1", title: "Alpha" }]);
  });

  test("a timeout that cannot be read stays in the text, with a note that quotes it", () => {
    const note = (line: number, value: string, where = "description") =>
      `Line ${line}: timeout "${value}" is not a duration such as 30s or 15m; it is part of the ${where}.`;
    for (const [text, line, value] of [
      ["- [ ] Do A\n  - timeout: 30\n", 2, "30"],
      ["- [ ] Do A\n  timeout: soon\n", 2, "soon"],
      ["TASK: Do A\nTIMEOUT: soon\n", 2, "soon"],
      ["| Task | Timeout |\n|---|---|\n| Do A | 30 |\n", 3, "30"],
      ['{"tasks": [{"title": "Do A", "timeout": 30}]}', 1, "30"],
    ] as const) {
      const plan = planOf(text);
      expect(plan.notes, text).toEqual([note(line, value)]);
      expect(taskOf(plan, "Do A").timeoutMs, text).toBeUndefined();
      expect(taskOf(plan, "Do A").description, text).toMatch(new RegExp(`timeout: ${value}`, "i"));
    }
    const inTitle = planOf("- [ ] Do A (timeout: 30)\n");
    expect(inTitle.notes).toEqual([note(1, "30", "title")]);
    expect(planOf("- [ ] Do A\n  Timeout: the login must not time out in tests.\n").notes).toEqual([]);
    expect(planOf('[{"title": "Do A", "timeout": ""}]').notes).toEqual([]);
  });

  test("timeout, retries and capabilities are fields", () => {
    const fields = "**Timeout:** 15s\n**Retries:** 2\n**Capabilities:** gpu, linux\n";
    for (const text of [
      `## Task 1: Alpha\n${fields}`,
      `TASK: Alpha\n${fields}`,
      `- [ ] Alpha\n${fields.replace(/^/gm, "  - ")}`,
    ]) {
      expect(planOf(text).tasks).toMatchObject([
        { title: "Alpha", timeoutMs: 15_000, maxRetries: 2, requires: ["gpu", "linux"] },
      ]);
    }
  });
});

describe("parts wait for what their parent waits for", () => {
  test.each([
    ["Markdown", "1. [ ] A\n2. [ ] B (depends on 1)\n   - [ ] part\n     - [ ] deeper\n"],
    [
      "TASK blocks",
      "TASK: A\n\nTASK: B\nDEPENDS_ON: A\n\nTASK: part\nPARENT: B\n\nTASK: deeper\nPARENT: part\n",
    ],
    [
      "JSON",
      '[{"title":"A"},{"title":"B","dependsOn":["A"],"subtasks":[{"title":"part","subtasks":[{"title":"deeper"}]}]}]',
    ],
  ])("in %s", (_, text) => {
    expect(outline(planOf(text))).toEqual(["A", "B ← A", "  part ← A", "    deeper ← A"]);
  });

  test("but not for each other, where the parent waits for one of them", () => {
    const text = "- [ ] B\n  - depends on: one\n  - [ ] one\n  - [ ] two\n";
    expect(outline(planOf(text))).toEqual(["B ← one", "  one", "  two"]);
  });
});

describe("a line that belongs to no task", () => {
  test("is quoted", () => {
    expect(planOf("Sure, here it is:\n\n- [ ] A\n\nLet me know if you need more.\n").notes).toEqual([
      '2 lines belong to no task and were left out: line 1 "Sure, here it is:", line 5 "Let me know if you need more.".',
    ]);
  });

  test("is quoted in part if it is long, and counted if there are many", () => {
    const text = `${Array.from({ length: 210 }, (_, n) => `Word${n} ${"long ".repeat(60)}\n`).join("\n")}\n- [ ] A\n`;
    const [note = ""] = planOf(text).notes;
    expect(note).toContain('line 1 "Word0 long long');
    expect(note).toMatch(/…", and 10 more lines, from line 401 on\.$/);
    expect(note.length).toBeLessThan(30_000);
  });

  test("is quoted from front matter, comments and around JSON too", () => {
    const notes = planOf("---\nauthor: ann\ntags:\n  - x1\n---\n<!-- draft -->\n- [ ] A\n").notes.join();
    for (const words of ["author: ann", "- x1", "<!-- draft -->"]) expect(notes).toContain(words);
    expect(planOf('Sure:\n[{"title": "A"}]\nBye').notes.join()).toContain('line 1 "Sure:", line 3 "Bye"');
  });
});

test("a plan most of whose items were not understood is refused, with their words", () => {
  const text = "- [ ] A\n\nAlso:\n\n* first thing\n* second thing\n* third thing\n";
  const [problem] = problemsOf(text);
  expect(problem).toMatchObject({ line: 5 });
  expect(problem?.message).toBe(
    '3 of the 4 items of this plan were not understood: line 5 "* first thing", line 6 "* second thing", line 7 "* third thing".',
  );
  expect(problem?.hint).toContain("- [ ] title");
  expect(planOf(text.replace("Also:", "## Notes")).notes.join()).toContain("third thing");
  const blocks = "1. First\n2. Second\n3. Third\n\nTASK: A\n";
  expect(problemsOf(blocks)[0]?.message).toContain("3 of the 4 items");
});
