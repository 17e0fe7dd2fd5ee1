// A plugin for Claude Code, in the project's own skills directory, where it is found without a marketplace and loaded once the
// user trusts the folder. It has hooks only; the MCP server is in .mcp.json, which other clients read, too.

import type { OwnFile } from "./file.js";

const directory = ".claude/skills/dibs";

/** The shell's parent is Claude itself: its MCP server and its hooks are one agent. Whoever has no dibs must not be bothered. */
const command = "dibs hook --client $PPID || true";

const hook = (more: object = {}) => ({ hooks: [{ type: "command", command, timeout: 10, ...more }] });

/** Nobody waits for a heartbeat. Our own tools say by themselves that the agent lives. */
const onToolUse = { matcher: "^(?!mcp__dibs__)", ...hook({ async: true }) };

const manifest = {
  name: "dibs",
  description:
    "Dibs: keeps claimed tasks while Claude works, gives them back when it ends, and shows open questions at the start",
};

const hooks = {
  description: manifest.description,
  hooks: {
    SessionStart: [hook()],
    PostToolUse: [onToolUse],
    PostToolUseFailure: [onToolUse],
    Stop: [hook()],
    SessionEnd: [hook()],
  },
};

function whole(path: string, value: object): OwnFile {
  const ours = `${JSON.stringify(value, null, 2)}\n`;
  const isOurs = (text: string) => text.replaceAll("\r\n", "\n") === ours;
  return {
    path: `${directory}/${path}`,
    what: "plugin",
    paste: JSON.stringify(value),
    add: (text) => (text === null || text.trim() === "" ? ours : text),
    remove: (text) => (isOurs(text) ? null : text),
    doubt: (text) =>
      isOurs(text) ? undefined : "is not as dibs writes it; delete it and call dibs init again to have that",
  };
}

export const claudePlugin: OwnFile[] = [
  whole(".claude-plugin/plugin.json", manifest),
  whole("hooks/hooks.json", hooks),
];
