// What `explain` ends with can be typed as it stands, and helps.

import { describe, expect, test } from "vitest";
import type { ReasonCode } from "../../src/core/explain.js";
import { type Desk, openDesk } from "./desk.js";

const reasons: [code: ReasonCode, make: string[][]][] = [
  ["SCHEDULED", [["add", "T", "--not-before", "2h"]]],
  [
    "PROJECT_PAUSED",
    [
      ["add", "T"],
      ["project", "pause"],
    ],
  ],
  ["ASSIGNED_TO_OTHER", [["add", "T", "--assignee", "somebody"]]],
  ["WRONG_AGENT_TYPE", [["add", "T", "--agent-type", "painter"]]],
  ["MISSING_CAPABILITY", [["add", "T", "--requires", "gpu", "--requires", "cuda"]]],
  [
    "TERMINAL",
    [
      ["add", "T"],
      ["cancel", "0001"],
    ],
  ],
];

const wordsOf = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, text, word]) => text ?? word!);

async function reasonsFor(desk: Desk, id: string) {
  const { reasons } = await desk.json(["explain", id, "--session", "agent-1"]);
  return reasons as { code: string; fix?: string }[];
}

describe("what helps", () => {
  test.each(reasons)("against %s", async (code, make) => {
    const desk = await openDesk();
    await desk.says(["add", "Other", "--id", "other"]);
    await desk.says(["claim", "other", "--session", "agent-1", "--agent-type", "writer"]);
    for (const argv of make) await desk.says(argv);
    const told = (await reasonsFor(desk, "0001")).find((reason) => reason.code === code);
    expect(await desk.says(["explain", "0001", "--session", "agent-1"])).toContain(`\n  ${told!.fix}\n`);
    await desk.says(wordsOf(told!.fix!).slice(1));
    expect(await reasonsFor(desk, "0001")).toEqual([]);
    await desk.says(["release", "other", "--session", "agent-1"]);
    await desk.says(["claim", "0001", "--session", "agent-1"]);
  });

  test("against what it waits for, one after the other", async () => {
    const desk = await openDesk();
    await desk.says(["add", "First", "--id", "first"]);
    await desk.says(["add", "T", "-d", "first"]);
    await desk.says(["claim", "first", "--session", "agent-1"]);
    await desk.says(["ask", "first", "Which?", "--session", "agent-1"]);
    const ask = (id: string) => desk.says(["explain", id]);
    for (const id of ["0001", "first"])
      expect(await ask(id)).toContain('\n  dibs answer first "<your answer>"\n');
    // Pasted as it stands it answers nothing.
    expect(await desk.dibs(["answer", "first", "<your answer>"])).toMatchObject({ code: 2 });
    await desk.says(["answer", "first", "That one"]);
    const options = ["--option", "it's", "--option", "blue", "--default", "it's"];
    await desk.says(["ask", "first", "Which?", ...options, "--session", "agent-1"]);
    const asked = await ask("first");
    expect(asked).toContain("It waits for an answer: Which? (it's | blue)");
    expect(asked).toContain("\n  dibs answer first -- 'it'\\''s'\n");
    await desk.says(["answer", "first", "--", "it's"]);
    await desk.says(["fail", "first", "no", "--no-retry", "--session", "agent-1"]);
    expect(await ask("0001")).toContain("\n  dibs retry first\n");
    await desk.says(["retry", "first"]);
    expect(await ask("first")).toBe("first can be claimed now.\n");
  });
});
