// Texts for people use plain words: they name the thing, say what happened, and say what to run.

import { describe, expect, test } from "vitest";
import { expectNone, filesUnder, isTest, readSources } from "./source.js";
import { badWords, inProse, markdownTexts, printedTexts, programTexts } from "./words.js";

const pages = [
  "README.md",
  ...filesUnder("docs").filter((path) => path.endsWith(".md") && !path.includes("/adr/")),
];

/** "file: the words as written". */
const allowed = new Set([
  // Words of other tools that files and plans may use for a state.
  "src/bridges/plan/fields.ts: pending",
  "src/bridges/tasks-json/dialect.ts: pending",
]);

const sources = ["src", "web/src"];

/** What the command line prints, compared word by word in test/cli. */
const printed = filesUnder("test/cli/golden");

const wordsIn = (place: string) =>
  badWords(readSources(place).filter(isForPeople).flatMap(programTexts), allowed);

/** The sentences of the conformance suite are for those who write a store. */
const isForPeople = ({ path }: { path: string }) =>
  !isTest(path) && !path.startsWith("src/store/conformance/");

describe("texts for people use plain words", () => {
  test.each(pages)("%s", (page) => expectNone(badWords(markdownTexts(page), allowed)));

  test.each(sources)("%s", (place) => expectNone(wordsIn(place)));

  test("what the command line prints", () => {
    expect(printed.length).toBeGreaterThan(80);
    expectNone(badWords(printed.flatMap(printedTexts), allowed));
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
