// What models and people really write.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { outline, planOf, taskOf } from "./outline.js";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");
const read = (name: string) => planOf(fixture(name));

describe("TASK blocks", () => {
  test("are read as decomposition prompts ask for them", () => {
    const plan = read("s2-blocks.txt");
    expect(plan.format).toBe("text");
    expect(outline(plan)).toEqual([
      "Create the User model",
      "Create the session store",
      "Login endpoint ← Create the User model, Create the session store",
      "Login form",
      "End-to-end test ← Login endpoint, Login form",
    ]);
    expect(plan.tasks.map(({ priority }) => priority)).toEqual([80, 50, 100, 20, 50]);
    expect(taskOf(plan, "Create the User model")).toMatchObject({
      description:
        "Add a User entity with email, password hash and timestamps.\nKeep validation in the model:\n  - email is unique\n  - password is never serialised",
      files: ["src/models/user.ts", "src/models/index.ts"],
      line: 3,
    });
    expect(plan.notes).toEqual([
      '2 lines belong to no task and were left out: line 1 "Sure! I broke the feature down into five tasks that can mostly run in parallel:", line 36 "Let me know if you would like me to split any of these further!".',
    ]);
  });

  test("may have headings, bold names, emoji, bulleted files, rules and code between them", () => {
    const plan = read("s2-decorated.md");
    expect(outline(plan)).toEqual([
      "Set up the project skeleton",
      "Parse the config ← Set up the project skeleton",
      "Wire, log and document ← Set up the project skeleton, Parse the config",
    ]);
    const [first, second] = plan.tasks;
    expect(first).toMatchObject({ key: "1", priority: 80, files: ["package.json", "tsconfig.json"] });
    expect(first?.description).toContain("npm init -y\n# TASK-like comment: not a field");
    expect(second).toMatchObject({ description: "Read the file, validate it.", priority: 80 });
  });

  test("may be numbered within a fence, and refer by number or with another case", () => {
    expect(outline(read("s2-fenced.txt"))).toEqual([
      "Extract the parser",
      "Fuzz the parser ← Extract the parser",
      "Release notes ← Extract the parser, Fuzz the parser",
    ]);
  });
});

describe("Markdown", () => {
  test("has bold groups, tabs, inline fields, nested criteria and prose around it", () => {
    const plan = read("checklist.md");
    expect(plan.format).toBe("markdown");
    expect(outline(plan)).toEqual([
      "Backend/",
      "  ✓ Pick a queue library",
      "  Add `Queue` interface",
      "    In-memory driver",
      "    Redis driver ← In-memory driver, Pick a queue library",
      "  Metrics ← Add `Queue` interface",
      "Frontend/",
      "  Queue page ← Metrics",
    ]);
    expect(taskOf(plan, "Add `Queue` interface")).toMatchObject({
      priority: 80,
      labels: ["core"],
      assignee: "alice",
    });
    expect(taskOf(plan, "Metrics").files).toEqual(["src/metrics.ts", "src/metrics.test.ts"]);
    expect(taskOf(plan, "Queue page").description).toContain("* [ ] loads in under a second");
    expect(plan.notes.join("\n")).toContain("which the plan marks as done");
  });

  test("of spec-kit has numbered tasks with tags under phases", () => {
    const plan = read("spec-kit.md");
    expect(outline(plan)).toEqual([
      "Phase 1: Setup/",
      "  ✓ Create project structure per implementation plan",
      "  Configure linting in biome.json",
      "Phase 2: User Story 1/",
      "  Contract test in tests/contract/test_albums.py",
      "  Album model in src/models/album.py ← Contract test in tests/contract/test_albums.py",
      "  Album service in src/services/albums.py ← Contract test in tests/contract/test_albums.py, Album model in src/models/album.py",
    ]);
    expect(plan.tasks.map(({ key }) => key)).toEqual(["t1", "T001", "T002", "t4", "T003", "T004", "T005"]);
    expect(plan.tasks.at(-1)?.labels).toEqual(["US1"]);
  });

  test("of Kiro nests by number or by indentation, and its plain bullets are details", () => {
    const plan = read("kiro.md");
    expect(outline(plan)).toEqual([
      "Set up project structure and core interfaces",
      "Implement data models and validation",
      "  Create core data model interfaces",
      "  Implement validation ← Create core data model interfaces",
      "Create the storage layer",
      "  Write connection code",
      "  Repositories ← Write connection code, Implement data models and validation",
    ]);
    expect(plan.tasks[0]?.description).toBe(
      "- Create directories for models, services and API\n- Define the interfaces between them\n- _Requirements: 1.1, 1.3_",
    );
    expect(taskOf(plan, "Write connection code").description).toBe("```ts\n- [ ] not a task\n```");
  });

  test("without any box takes numbered steps as tasks", () => {
    const plan = read("numbered.md");
    expect(outline(plan)).toEqual([
      "Audit the current auth flow",
      "Introduce a token service ← Audit the current auth flow",
      "Migrate the middleware ← Introduce a token service",
      "Remove the old cookie ← Introduce a token service, Migrate the middleware",
      "Announce it",
      "  Write the changelog",
      "  Send the mail ← Write the changelog",
    ]);
    expect(plan.tasks.map(({ key }) => key)).toEqual(["1", "2", "3", "4", "5", "5.1", "5.2"]);
    expect(plan.tasks[2]).toMatchObject({ description: "This is the risky part." });
    expect(plan.tasks[4]).toMatchObject({ priority: 20 });
  });

  test("may have one heading per task with its fields below", () => {
    const plan = read("headings.md");
    expect(outline(plan)).toEqual([
      "Dump the old database",
      "Load it ← Dump the old database",
      "Switch over ← Dump the old database, Load it",
    ]);
    expect(plan.tasks[0]).toMatchObject({
      key: "1",
      type: "task",
      priority: 80,
      files: ["scripts/dump.sh"],
      description: "Take a consistent snapshot.",
    });
    expect(plan.tasks[2]).toMatchObject({ assignee: "dana" });
  });
});

describe("JSON", () => {
  test("of task-master has numbers, subtasks with their own, and words for states", () => {
    const plan = read("task-master.json");
    expect(outline(plan)).toEqual([
      "✓ Initialise repository",
      "Auth module ← Initialise repository",
      "  Password hashing",
      "  Login route ← Password hashing",
      "  Rate limit ← Login route",
      "Profile page ← Auth module",
    ]);
    expect(plan.tasks.map(({ key }) => key)).toEqual(["1", "2", "2.1", "2.2", "2.3", "3"]);
    expect(plan.tasks[0]?.description).toBe(
      "Create the repo and CI.\n\nUse the template.\n\nTest strategy: CI is green.",
    );
    expect(plan.tasks.at(-1)?.description).toBe("Shows the user.\n\ncomplexityScore: 3");
    expect(plan.notes.join()).toContain('line 38 "metadata: {"created":"2025-06-01"}"');
  });

  test("may stand in a fence within prose, with comments and trailing commas", () => {
    const plan = read("in-prose.md");
    expect(plan.format).toBe("json");
    expect(outline(plan)).toEqual([
      "Define the schema",
      "Build the API ← Define the schema",
      "Document the API ← Build the API, 0001_t2",
    ]);
    expect(plan.tasks[0]).toMatchObject({ key: "schema", prompt: "Write schema.sql", line: 12 });
    expect(plan.tasks[2]).toMatchObject({ dependsOn: ["api"], dependsOnIds: ["0001_t2"] });
  });

  test("may have S2's names", () => {
    const plan = read("pascal.json");
    expect(outline(plan)).toEqual(["Queue", "Lock ← Queue", "Store ← Queue, Lock"]);
    expect(plan.tasks[0]).toMatchObject({
      key: "task-1",
      files: ["Parallel/TaskQueue.cs"],
      maxRetries: 2,
      priority: 80,
    });
  });

  test("may have S3's, where the description is the task", () => {
    const plan = read("s3.json");
    expect(plan.tasks[1]).toMatchObject({
      title: "Create login endpoint that takes an email and a...",
      prompt: "Create login endpoint that takes an email and a password and answers with a token",
      dependsOn: ["task-20240115-a1b2"],
      dependsOnIds: ["task-20240114-ffff"],
    });
    expect(plan.notes.join("\n")).toContain("write p1 to p5");
  });

  test("may have phases, whose dependencies bind their parts", () => {
    const plan = read("phases.json");
    expect(outline(plan)).toEqual([
      "Foundation/",
      "  Choose a framework",
      "  Set up CI",
      "Features/",
      "  Search ← Foundation",
      "  Export ← Search, Foundation",
    ]);
    expect(taskOf(plan, "Search")).toMatchObject({ requires: ["elastic"] });
    expect(taskOf(plan, "Search").prompt).toContain("- finds typos");
  });
});
