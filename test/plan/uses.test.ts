// Resources that tasks of a plan use: units of the task, and not words of its prompt.

import { describe, expect, test } from "vitest";
import { planOf, problemsOf } from "./outline.js";

const json = (uses: unknown) => JSON.stringify([{ title: "Migrate", description: "Do it.", uses }]);

describe("uses", () => {
  test.each([
    ["an object", json({ db: 1, gpu: 2 })],
    ["a list", json(["db", "gpu=2"])],
    ["a text", json("db, gpu=2")],
    ["a line of a block", "TASK: Migrate\nDESCRIPTION: Do it.\nUSES: db, gpu = 2\n"],
    ["lines of a block", "TASK: Migrate\nUSES:\n- db\n- gpu=2\nDESCRIPTION: Do it.\n"],
    ["an item with units", "- [ ] Migrate\n  - Do it.\n  - uses: db=1, gpu=2\n"],
  ])("as %s", (_, text) => {
    const [task] = planOf(text).tasks;
    expect(task).toMatchObject({ title: "Migrate", uses: { db: 1, gpu: 2 } });
    expect(task!.prompt).not.toContain("gpu");
    expect(task!.prompt).toContain("Do it.");
  });

  test.each([
    ["JSON", json("the new API client")],
    ["a list of JSON", json(["the new API client"])],
    ["Markdown", "- [ ] Migrate\n  - Uses: the new API client\n"],
    ["a block", "TASK: Migrate\nUses: the new API client\n"],
  ])("prose is text in %s", (_, text) => {
    const [task] = planOf(text).tasks;
    expect(task!.uses).toBeUndefined();
    expect(task!.prompt).toContain("the new API client");
  });

  test("a name without units is prose in Markdown", () => {
    const [task] = planOf("- [ ] Migrate\n  - Uses: React\n").tasks;
    expect(task!.uses).toBeUndefined();
    expect(task!.prompt).toContain("React");
  });

  test.each([
    [json({ db: "many" }), 1, /^uses\.db must be a number of units\.$/],
    [json({ db: 0 }), 1, /^uses\.db must be/],
    [json({ db: 1.5 }), 1, /^uses\.db must be/],
    ["TASK: One\nTASK: Two\nUSES: db=many\n", 2, /^uses\.db must be/],
  ])("units that are none are reported with the line: %s", (text, line, message) => {
    expect(problemsOf(text)).toMatchObject([{ line, message: expect.stringMatching(message) }]);
  });
});
