// No word of a plan disappears, whatever the document is made of.

import fc from "fast-check";
import { expect, test } from "vitest";
import { readPlan } from "../../src/bridges/plan/index.js";
import { lostWords } from "./words.js";

const seed = Number(process.env.DIBS_SEED ?? 20_261_115);

/** `~` is a word of its own in each place. */
const openings = [
  [
    "# ~ ~",
    "## ~",
    "## Task @: ~ ~",
    "## @. ~",
    "### Step @ – ~",
    "## Phase @: ~",
    "### Notes on ~",
    "## **~ ~**",
  ],
  [
    "## Acceptance criteria",
    "## Tasks",
    "## Risks",
    "**~ ~**",
    "**Task @:** ~",
    "~ ~:",
    "Task @: ~",
    "TASK: ~ ~",
  ],
  [
    "- [ ] ~ ~",
    "- [x] ~",
    "- [-] ~",
    "* [~~] ~",
    "- ~ ~",
    "- **~**: ~ ~",
    "- **~:** ~",
    "* ~",
    "@. ~ ~",
    "@. [ ] ~",
  ],
  [
    "@. **~ ~** – ~",
    "@) ~ (after ~)",
    "- ~ — after ~",
    "- ~, needs ~",
    "- `~ ~` ~",
    "☐ ~",
    "a) ~",
    "- ~ (~ ~) [~]",
  ],
  [
    "- ~ #~ @~",
    "- Estimate: ~ ~",
    "- Should ~ ~",
    "- Acceptance criteria:",
    "- Subtasks:",
    "- Done when ~",
    "- ~:",
  ],
  [
    "Priority: high",
    "Priority: high, ~ ~",
    "**Files:** src/~.ts, `~/a.ts` (~)",
    "- Owner: ~",
    "Labels: ~, ~",
  ],
  [
    "Timeout: 15s",
    "Timeout: ~",
    "**Status:** ~",
    "ID: ~",
    "- **Prompt:** ~ ~",
    "Description: ~ ~",
    "Retries: 2 ~",
  ],
  [
    "Title: ~",
    "Type: ~",
    "Phase: ~ ~",
    "Requires: ~",
    "Depends on: none ~",
    "Goal:",
    "Files:",
    "Depends on the ~.",
  ],
  ["~ ~ ~.", "~ ~ ~ depends on ~.", "> ~ ~", "<!-- ~ ~ -->", "![~](https://example.org/~)", "~ | ~", "*~ ~*"],
  ["---", "***", "", "", "", "```", "```ts", "| Task | ~ |", "|---|---|", "| ~ | ~ |", "| ~ | high |"],
].flat();

const line = fc.record({
  opening: fc.constantFrom(...openings),
  indent: fc.constantFrom("", "", "", "  ", "   ", "    ", "\t", "      "),
});

const documents = fc.array(line, { minLength: 1, maxLength: 16 }).map((lines) => {
  let words = 0;
  let numbers = 0;
  const word = () => `qu${String(words++).replace(/\d/g, (digit) => "bcdfghjklm"[Number(digit)]!)}x`;
  return lines
    .map(({ opening, indent }) => {
      const numbered = opening
        .replace("@~", "\u0001")
        .replaceAll("@", () => `${++numbers}`)
        .replace("\u0001", "@~");
      const filled = numbered.replace("[~~]", "\u0002").replaceAll("~", word).replace("\u0002", "[~]");
      return filled === "" ? "" : indent + filled;
    })
    .join("\n");
});

test.each(["auto", "markdown", "text"] as const)("no word of a document is lost, read as %s", (format) => {
  let read = 0;
  fc.assert(
    fc.property(documents, (source) => {
      const result = readPlan(source, { format });
      if (!result.ok) return;
      read++;
      const lost = lostWords(source, result).filter((word) => word.startsWith("qu"));
      expect(lost).toEqual([]);
    }),
    { seed, numRuns: 1500 },
  );
  expect(read).toBeGreaterThan(300);
});

// Of fields about the state of work, such as created_at, one value is quoted: json-extra.json is a fixture for that.
test("no word of a JSON plan is lost, whatever its fields are called", () => {
  const names = [
    "title",
    "name",
    "task",
    "description",
    "details",
    "prompt",
    "why",
    "estimate",
    "type",
    "owner",
  ];
  const fields = [...names, "labels", "timeout", "acceptance_criteria", "notes", "status", "context"];
  const value = fc.constantFrom("text", "list", "object", "objects");
  const task = fc.dictionary(fc.constantFrom(...fields), value, { minKeys: 1, maxKeys: 6 });
  fc.assert(
    fc.property(fc.array(task, { minLength: 1, maxLength: 4 }), fc.boolean(), (tasks, isWrapped) => {
      let words = 0;
      const word = () => `qu${String(words++).replace(/\d/g, (digit) => "bcdfghjklm"[Number(digit)]!)}x`;
      const make = (kind: string) => {
        if (kind === "text") return word();
        if (kind === "list") return [word(), word()];
        return kind === "object"
          ? { text: word(), more: word() }
          : [{ text: word() }, { id: 1, text: word() }];
      };
      const written = tasks.map((each) => ({
        title: word(),
        ...Object.fromEntries(Object.entries(each).map(([name, kind]) => [name, make(kind)])),
      }));
      const source = JSON.stringify(isWrapped ? { goal: word(), tasks: written } : written, null, 1);
      const result = readPlan(source);
      if (!result.ok) return;
      expect(lostWords(source, result).filter((each) => each.startsWith("qu"))).toEqual([]);
    }),
    { seed, numRuns: 400 },
  );
});
