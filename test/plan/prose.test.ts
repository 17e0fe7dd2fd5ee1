// JSON between the words of a model, with no fence around it.

import { expect, test } from "vitest";
import { planOf, problemsOf } from "./outline.js";

const titles = (source: string) => planOf(source).tasks.map(({ title }) => title);
const tasks = '{"tasks": [{"title": "One"}, {"title": "Two", "dependsOn": ["One"]}]}';

test.each([
  ["lines before and behind it", `Sure! Here:\n${tasks}\nHope it helps`],
  ["words before it on its line", `Here is the plan: ${tasks}\n\nAnything else?`],
  ["only words behind it", `${tasks}\nHope it helps`],
  ["many lines", `Sure:\n\n${JSON.stringify(JSON.parse(tasks), null, 2)}\n\nDone.`],
  ["a list", 'Sure:\n[\n  {"title": "One"},\n  {"title": "Two"}\n]\nDone.'],
])("a plan is found with %s", (_, source) => {
  expect(titles(source)).toEqual(["One", "Two"]);
});

test("the words around it are told, and places are those of the document", () => {
  expect(planOf(`Sure! Here:\n${tasks}\nHope it helps`).notes).toEqual([
    '2 lines belong to no task and were left out: line 1 "Sure! Here:", line 3 "Hope it helps".',
  ]);
  const [problem] = problemsOf('Sure: {"tasks": [{"title": "One", "dependsOn": ["Three"]}]}\nBye');
  expect(problem).toMatchObject({ line: 1, column: 50 });
});

test.each([
  ["two plans are none", `First:\n${tasks}\nSecond:\n${tasks}\n`],
  ["a bracket too much is a mistake", '[{"title": "One"}]]'],
])("%s", (_, source) => {
  expect(problemsOf(source).length).toBeGreaterThan(0);
});

test("a list of tasks stays one, with an example of JSON beside it", () => {
  expect(titles('- [ ] One\n- [ ] Two\n\nThe answer is like this:\n[{"title": "x"}]\n')).toEqual([
    "One",
    "Two",
  ]);
});
