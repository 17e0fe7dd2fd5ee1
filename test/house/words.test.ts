// Texts for people use plain words: they name the thing, say what happened, and say what to run.

import { describe, expect, test } from "vitest";
import { expectNone, filesUnder, isTest, readSources } from "./source.js";
import { badWords, inProse, markdownTexts, programTexts } from "./words.js";

const pages = [
  "README.md",
  ...filesUnder("docs").filter((path) => path.endsWith(".md") && !path.includes("/adr/")),
];

/** "file: the words as written". Each needs a reason. */
const allowed = new Set<string>();

/** Places with words that are still to be replaced, and how many. A number must not rise; lower it when you fix texts. */
const left: Record<string, number> = {
  "src/bridges": 18,
  "src/client": 1,
  "src/contract": 22,
  "src/core": 22,
  "src/demo": 5,
  "src/runner": 7,
  "src/runtime": 1,
  "src/store/postgres": 2,
  "src/store/sqlite": 3,
  "src/surfaces/cli": 100,
  // The block that `dibs init` writes into AGENTS.md.
  "src/surfaces/cli/agents-md.ts": 2,
  "src/surfaces/http": 21,
  "src/transfer": 3,
  "src/tui": 2,
};

/** Places without any. */
const clean = ["web/src", "src/surfaces/mcp", "src/operations", "src/store/memory", "src/serve.ts"];

const wordsIn = (place: string) => {
  const sources = readSources(place.replace(/\/[^/]+\.ts$/, ""));
  const texts = sources.filter(({ path }) => path.startsWith(place) && !isTest(path)).flatMap(programTexts);
  return badWords(texts, allowed);
};

describe("texts for people use plain words", () => {
  test.each(pages)("%s", (page) => expectNone(badWords(markdownTexts(page), allowed)));

  test.each(clean)("%s", (place) => expectNone(wordsIn(place)));

  test.each(Object.entries(left))("%s has %i uses left at most", (place, most) => {
    const found = wordsIn(place);
    if (found.length > most) expect.fail(`${found.length} instead of ${most}:\n${found.join("\n")}`);
  });
});

describe("the rule about words", () => {
  test.each([
    ["The answer is told once.", "told"],
    ["when its lease is over", "is over"],
    ["Leave the id away: one is made.", "Leave the id away"],
    ["The holder goes on.", "goes on"],
    ["Nobody holds it.", "Nobody"],
    ["Who asked is gone.", "Who"],
    ["It may be archived.", "may"],
    ["It has two open parts.", "open parts"],
  ])("finds the word in '%s'", (text, word) => {
    expect(badWords([{ path: "a.md", line: 1, text }]).join()).toContain(`"${word}`);
  });

  test.each([
    "The session is over HTTP.",
    "A child process ends.",
    "The task is ready.",
    "Who answers?",
    "The response of the server has a header.",
  ])("leaves '%s' alone", (text) => {
    expect(badWords([{ path: "a.md", line: 1, text }])).toEqual([]);
  });

  test("code and generated sections are no prose", () => {
    const page = [
      "Run `dibs told`, then [read](told.md).",
      "```sh",
      "told",
      "```",
      "<!-- generated: x -->",
      "told",
      "<!-- end: x -->",
      "told",
    ];
    expect(
      inProse(page.join("\n"))
        .split("\n")
        .map((line) => line.includes("told")),
    ).toEqual([...Array(7).fill(false), true]);
  });
});
