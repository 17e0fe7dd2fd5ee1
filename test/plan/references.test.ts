import { describe, expect, test } from "vitest";
import { outline, planOf, problemsOf } from "./outline.js";

/** Checklist of titles, the last of which waits for something. */
const waiting = (words: string, ...titles: string[]) =>
  `${titles.map((title) => `- [ ] ${title}\n`).join("")}- [ ] Last\n  - depends on: ${words}\n`;
const waitsOf = (words: string, ...titles: string[]) => {
  const plan = planOf(waiting(words, ...titles));
  const last = plan.tasks.at(-1)!;
  return {
    titles: last.dependsOn.map((key) => plan.tasks.find((task) => task.key === key)!.title),
    ids: last.dependsOnIds,
    notes: plan.notes,
  };
};

describe("a reference finds its task", () => {
  test.each([
    ["the exact title", "Build the API", ["Build the API"]],
    ["another case, quotes and emphasis", '"build the **api**".', ["Build the API"]],
    ["numbering before it", "2. Build the API", ["Build the API"]],
    ["several, by comma and `and`", "Build the API, Schema and Docs", ["Build the API", "Schema", "Docs"]],
    ["brackets around the list", "[Schema, Docs]", ["Schema", "Docs"]],
    ["none", "None (can start at once)", []],
  ])("by %s", (_, words, titles) => {
    expect(waitsOf(words, "Build the API", "Schema", "Docs")).toMatchObject({ titles, notes: [] });
  });

  test("by a title that has commas and `and` in it", () => {
    const titles = ["Wire, log and document", "Log", "Lint and format"];
    expect(waitsOf("Log, Wire, log and document, Lint and format", ...titles).titles).toEqual([
      "Log",
      "Wire, log and document",
      "Lint and format",
    ]);
  });

  test("by the beginning or a part of one title, and says so", () => {
    const { titles, notes } = waitsOf("Build the API, pages", "Build the API server", "Render all pages");
    expect(titles).toEqual(["Build the API server", "Render all pages"]);
    expect(notes).toEqual([
      'Line 4: "Build the API" was read as "Build the API server", by its beginning.',
      'Line 4: "pages" was read as "Render all pages", by a part of its title.',
    ]);
  });

  test("by its place where nothing is numbered, and says so", () => {
    const { titles, notes } = waitsOf("#2", "One thing", "Other thing");
    expect(titles).toEqual(["Other thing"]);
    expect(notes[0]).toContain("by its place in the plan");
  });

  test("by `all previous tasks` and `the previous step`", () => {
    expect(waitsOf("all previous tasks", "A1", "B1").titles).toEqual(["A1", "B1"]);
    expect(waitsOf("the previous step", "A1", "B1").titles).toEqual(["B1"]);
  });

  test("as an id of a task that exists, if no title is called so", () => {
    expect(waitsOf("0001_t2, A123, id:my-slug, Schema", "Schema")).toMatchObject({
      titles: ["Schema"],
      ids: ["0001_t2", "A123", "my-slug"],
    });
    expect(waitsOf("0001_t2", "0001_t2")).toMatchObject({ titles: ["0001_t2"], ids: [] });
    const plan = planOf(waiting("auth-7", "Schema"), { exists: (id) => id === "auth-7" });
    expect(plan.tasks.at(-1)?.dependsOnIds).toEqual(["auth-7"]);
  });

  test("by the number beside it before any other", () => {
    const plan = planOf(
      "1. A\n   1. A one\n   2. A two (after 1)\n2. B\n   1. B one\n   2. B two (after 1, 1.2)\n",
    );
    expect(outline(plan)).toEqual([
      "A",
      "  A one",
      "  A two ← A one",
      "B",
      "  B one",
      "  B two ← B one, A two",
    ]);
  });

  test("as a dependency or a capability, after `requires`", () => {
    const plan = planOf("- [ ] Schema\n- [ ] Train it\n  - requires: Schema, gpu\n");
    expect(plan.tasks[1]).toMatchObject({ dependsOn: ["t1"], requires: ["gpu"] });
  });
});

describe("a reference is a problem", () => {
  test("when no task is called so; the closest titles are told", () => {
    expect(problemsOf(waiting("Schema, Bulid the API", "Build the API", "Schema"))).toEqual([
      {
        line: 4,
        column: 25,
        message: 'There is no task "Bulid the API" in this plan.',
        hint: 'Did you mean "Build the API"? A task that exists already is written id:its-id.',
      },
    ]);
  });

  test("when it may be several tasks", () => {
    const [problem] = problemsOf(waiting("tests", "Write tests", "Run tests"));
    expect(problem).toMatchObject({ line: 4, column: 17 });
    expect(problem?.message).toBe('"tests" matches 2 tasks: "Write tests" (line 1), "Run tests" (line 2).');
  });

  test("each of them is told, up to fifty", () => {
    const text = Array.from({ length: 80 }, (_, n) => `- [ ] Task ${n} (depends on: nothing like ${n})`).join(
      "\n",
    );
    expect(problemsOf(text)).toHaveLength(50);
    expect(problemsOf(waiting("Foo, Bar", "Other")).map(({ column }) => column)).toEqual([17, 22]);
  });

  test("with its place in JSON too", () => {
    const text = '[\n  {"title": "A"},\n  {"title": "B",\n   "dependsOn": ["A", "Nope"]}\n]';
    expect(problemsOf(text)).toMatchObject([
      { line: 4, column: 24, message: 'There is no task "Nope" in this plan.' },
    ]);
  });
});

describe("a title that comes twice", () => {
  const message = 'There is a task "Test" already, in line 1.';

  test("is a problem beside the first, with the line of both", () => {
    expect(problemsOf("- [ ] Test\n- [ ] Other\n- [ ] test\n")).toEqual([
      {
        line: 3,
        column: 7,
        message: 'There is a task "test" already, in line 1.',
        hint: "Give each part its own title.",
      },
    ]);
    expect(problemsOf('[{"title": "Test"},\n {"title": "Test"},\n {"title": "Test"}]')).toMatchObject([
      { line: 2, column: 2, message },
      { line: 3, column: 2, message },
    ]);
    const nested = "- [ ] A\n  - [ ] Test\n  - [x] Test\n";
    expect(problemsOf(nested)).toMatchObject([{ line: 3, message: expect.stringContaining("line 2") }]);
    const flat =
      '[{"key": "a", "title": "A"},\n{"title": "Test", "parentId": "a"},\n{"title": "Test", "parentId": "a"}]';
    expect(problemsOf(flat)).toMatchObject([{ line: 3, message: expect.stringContaining("line 2") }]);
  });

  test("is a problem anywhere in TASK blocks, also under another parent", () => {
    expect(problemsOf("TASK: Test\nPRIORITY: low\n\nTASK: Other\n\nTASK: Test\n")).toMatchObject([
      { line: 6, message, hint: "Give each task its own title." },
    ]);
    const parents = "TASK: Test\nPARENT: A\n\nTASK: Test\nPARENT: B\n\nTASK: A\n\nTASK: B\n";
    expect(problemsOf(parents)).toMatchObject([{ line: 4, message }]);
  });

  test("is noted under different parents, and a problem only for whoever waits for it", () => {
    const features = "- [ ] Search\n  - [ ] Write tests\n- [ ] Export\n  - [ ] Write tests\n";
    expect(planOf(features).notes).toEqual(['2 tasks are called "Write tests" (lines 2, 4).']);
    expect(problemsOf(`${features}- [ ] Ship (depends on: Write tests)\n`)).toMatchObject([
      { line: 5, message: expect.stringContaining('"Write tests" matches 2 tasks') },
    ]);
    const existing = '[{"title": "Test", "parentId": "0001"}, {"title": "Test", "parentId": "0002"}]';
    expect(planOf(existing).tasks.map(({ parentId }) => parentId)).toEqual(["0001", "0002"]);
  });

  test("is none where the reader made the title, of texts that differ later on", () => {
    const begin = "Create the endpoint that takes an email and a password and";
    const plan = planOf(JSON.stringify([{ prompt: `${begin} logs in` }, { prompt: `${begin} logs out` }]));
    expect(plan.tasks.map(({ title }) => title)).toEqual([plan.tasks[0]!.title, plan.tasks[0]!.title]);
    expect(problemsOf(JSON.stringify([{ prompt: begin }, { prompt: begin }]))).toHaveLength(1);
  });

  test("is like an id that comes twice in JSON; children may have ids of their own", () => {
    expect(problemsOf('[{"id": 7, "title": "A"},\n{"id": 7, "title": "B"}]')).toEqual([
      {
        line: 2,
        column: 1,
        message: 'There is a task with the id "7" already, in line 1.',
        hint: "Give each task its own id.",
      },
    ]);
    const nested =
      '[{"id":1,"title":"A","subtasks":[{"id":1,"title":"C"}]},{"id":2,"title":"B","subtasks":[{"id":1,"title":"D"}]}]';
    expect(planOf(nested).tasks.map(({ key }) => key)).toEqual(["1", "1.1", "2", "2.1"]);
    expect(planOf("TASK 1: A\n\nTASK 1: B\n").notes).toEqual(['2 tasks are numbered "1" (lines 1, 3).']);
  });
});

describe("cycles", () => {
  test("are written out by titles and lines", () => {
    const problems = problemsOf("TASK: A\nDEPENDS_ON: C\nTASK: B\nDEPENDS_ON: A\nTASK: C\nDEPENDS_ON: B\n");
    expect(problems).toEqual([
      {
        line: 2,
        column: 13,
        message:
          'These tasks wait for each other: "A" (line 1) → "C" (line 5) → "B" (line 3) → "A" (line 1).',
        hint: "Leave out one of these dependencies.",
      },
    ]);
  });

  test("count the edge from a parent to its parts", () => {
    const [problem] = problemsOf("- [ ] Parent\n  - [ ] Part\n    - depends on: Parent\n");
    expect(problem?.message).toContain('"Parent" (line 1) → "Part" (line 2) → "Parent" (line 1)');
    expect(problem?.hint).toContain("A parent waits for its subtasks");
  });

  test("of one task, of parents, and of several knots are told apart", () => {
    expect(problemsOf("- [ ] A (depends on: A)\n")[0]?.message).toBe('"A" waits for itself.');
    expect(
      problemsOf('[{"key":"a","title":"A","parentId":"b"},{"key":"b","title":"B","parentId":"a"}]')[0]
        ?.message,
    ).toContain("cannot be its own ancestor");
    const two =
      "- [ ] A (depends on: B)\n- [ ] B (depends on: A)\n- [ ] C (depends on: D)\n- [ ] D (depends on: C)\n";
    expect(problemsOf(two)).toHaveLength(2);
  });

  test("through what is done are none", () => {
    expect(outline(planOf("- [x] A (depends on: B)\n- [ ] B (depends on: A)\n"))).toEqual([
      "✓ A ← B",
      "B ← A",
    ]);
  });
});
