import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { integrationFor, integrationNames } from "../../src/surfaces/cli/integrations.js";
import { openDesk } from "../cli/desk.js";

test("an entry is added beside what is there, once, and taken away again", () => {
  const others: Record<string, string> = {
    codex: 'model = "o4"\n\n[mcp_servers.other]\ncommand = "x"\n',
    vscode: '{\n\t"inputs": [],\n\t"servers": {\n\t\t"other": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n',
  };
  for (const name of integrationNames) {
    const { add, remove } = integrationFor(name);
    const before =
      others[name] ??
      '{\n  "theme": "dark",\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}\n';
    const after = add(before);
    expect(after).toContain("other");
    expect(after).toContain("dibs");
    expect(add(after)).toBe(after);
    expect(remove(after)).toBe(before);
    expect(remove(add(null))).toBe(null);
    expect(remove(before)).toBe(before);
  }
});

test("what somebody changed stays, and what cannot be understood is not touched", () => {
  const { add, remove } = integrationFor("claude");
  const own = '{"mcpServers": {"dibs": {"command": "dibs", "args": ["mcp", "--url", "https://x"]}}}';
  expect(add(own)).toBe(own);
  expect(remove(own)).toBe(own);
  for (const text of ["{ // a comment\n}", "[]", '{"mcpServers": []}', "{"])
    expect(() => add(text)).toThrow();
});

test("init writes and removes the settings of the agents that are named, and follows no link out", async () => {
  const desk = await openDesk();
  const elsewhere = mkdtempSync(join(tmpdir(), "dibs-elsewhere-"));
  try {
    const at = (name: string) => join(desk.directory, name);
    await desk.says(["init", "--agent", "claude", "--agent", "cursor", "--agent", "codex"]);
    expect(JSON.parse(readFileSync(at(".mcp.json"), "utf8"))).toEqual({
      mcpServers: { dibs: { command: "dibs", args: ["mcp"] } },
    });
    expect(existsSync(at(".cursor/mcp.json"))).toBe(true);
    expect(readFileSync(at(".codex/config.toml"), "utf8")).toContain("[mcp_servers.dibs]");
    expect(existsSync(at(".gemini"))).toBe(false);
    await desk.says(["init", "--remove"]);
    for (const name of [".mcp.json", ".cursor/mcp.json", ".codex/config.toml"])
      expect(existsSync(at(name))).toBe(false);
    writeFileSync(at(".mcp.json"), "{ broken");
    expect((await desk.dibs(["init", "--agent", "claude"])).code).toBe(1);
    expect(readFileSync(at(".mcp.json"), "utf8")).toBe("{ broken");
    symlinkSync(elsewhere, at(".gemini"));
    expect((await desk.dibs(["init", "--agent", "gemini"])).code).toBe(4);
    expect(existsSync(join(elsewhere, "settings.json"))).toBe(false);
  } finally {
    rmSync(elsewhere, { recursive: true, force: true });
  }
});
