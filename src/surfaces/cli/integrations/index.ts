// What each agent needs in a project: where its MCP servers are named, and, where it does not read AGENTS.md by itself, a file
// that leads it there. Editors may start a server anywhere, so they are asked to say which folder is open.

import { claudePlugin } from "./claude-plugin.js";
import type { OwnFile } from "./file.js";
import { inJson, inToml } from "./servers.js";

export type { OwnFile } from "./file.js";

const here = { command: "dibs", args: ["mcp"] };
// biome-ignore lint/suspicious/noTemplateCurlyInString: the editors put it in.
const inFolder = { type: "stdio", command: "dibs", args: ["mcp", "--directory", "${workspaceFolder}"] };

/** Of an agent with a file of its own, which can take in others. */
function memory(path: string, importLine: string): OwnFile {
  return {
    path,
    what: "memory",
    paste: importLine,
    add: (text) => text ?? `${importLine}\n`,
    remove: (text) => (text.trim() === importLine ? null : text),
    doubt: (text) =>
      text.includes("AGENTS.md") || text.includes("dibs:begin")
        ? undefined
        : `does not name AGENTS.md: add a line ${importLine}`,
  };
}

const integrations = {
  claude: [
    inJson({ path: ".mcp.json", key: "mcpServers", entry: here }),
    memory("CLAUDE.md", "@AGENTS.md"),
    ...claudePlugin,
  ],
  codex: [inToml(".codex/config.toml")],
  cursor: [inJson({ path: ".cursor/mcp.json", key: "mcpServers", entry: inFolder })],
  gemini: [
    inJson({ path: ".gemini/settings.json", key: "mcpServers", entry: here }),
    memory("GEMINI.md", "@./AGENTS.md"),
  ],
  qwen: [inJson({ path: ".qwen/settings.json", key: "mcpServers", entry: here })],
  vscode: [inJson({ path: ".vscode/mcp.json", key: "servers", entry: inFolder })],
} as const satisfies Record<string, readonly OwnFile[]>;

export type IntegrationName = keyof typeof integrations;

export const integrationNames = Object.keys(integrations) as readonly IntegrationName[];

/** What its user does next: no agent starts what a repository names without being allowed to. */
export const beginWith: Record<IntegrationName, { command: string; why: string }> = {
  claude: { command: "claude", why: "start it here, trust the folder, allow the server dibs" },
  codex: { command: "codex", why: "start it here and trust the folder" },
  cursor: { command: "cursor .", why: "turn the server dibs on in its settings" },
  gemini: { command: "gemini", why: "start it here and trust the folder" },
  qwen: { command: "qwen", why: "start it here and trust the folder" },
  vscode: { command: "code .", why: "trust the folder and start the server dibs" },
};

export const filesFor = (name: string): readonly OwnFile[] => integrations[name as IntegrationName];
