import { expect, test } from "vitest";
import { DibsError } from "../../src/index.js";
import { agentNames, presetFor } from "../../src/runner/index.js";

test("a preset is a command with its way of being told", () => {
  expect(presetFor("claude")).toEqual({
    command: ["claude", "--print", "--permission-mode", "acceptEdits"],
    stdin: "brief",
    env: {},
  });
  expect(presetFor("codex", { extra: ["--model", "o5"] }).command).toEqual([
    "codex",
    "exec",
    "--sandbox",
    "workspace-write",
    "--model",
    "o5",
    "-",
  ]);
  expect(presetFor("aider", { unattended: false })).toMatchObject({
    command: expect.arrayContaining(["--message-file", "{briefFile}"]),
    stdin: "empty",
  });
});

test("an agent that asks for trust where nobody can answer is given it", () => {
  expect(presetFor("gemini").env).toEqual({ GEMINI_CLI_TRUST_WORKSPACE: "true" });
  expect(presetFor("gemini", { unattended: false }).env).toEqual({});
  expect(presetFor("cursor-agent", { unattended: false }).command).toContain("--trust");
});

test.each([
  { barePrompt: false, stdin: "brief", file: "{briefFile}" },
  { barePrompt: true, stdin: "prompt", file: "{promptFile}" },
])("every agent is given its $stdin in one way", ({ barePrompt, stdin, file }) => {
  for (const name of agentNames) {
    const preset = presetFor(name, { barePrompt });
    const placeholders = preset.command.filter((word) => word.startsWith("{"));
    expect([preset.stdin, placeholders], name).toEqual(
      preset.stdin === "empty" ? ["empty", [file]] : [stdin, []],
    );
  }
});

test("an unknown agent is refused with the known ones", () => {
  expect(() => presetFor("toString")).toThrow(DibsError);
  expect(() => presetFor("nobody")).toThrow(/nobody/);
});
