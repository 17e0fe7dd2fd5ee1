// How clients of MCP are told about Dibs: an entry in the file of the project that each of them reads. What else is in the file
// stays; an entry of that name that is there already, too, because somebody may have changed it.

interface Integration {
  /** Below the root of the repository. */
  path: string;
  /** The file with the entry; the same text if it has one. */
  add(text: string | null): string;
  /** The file without our entry; null: nothing else was in it. */
  remove(text: string): string | null;
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("it is not plain JSON");
  }
  if (!isObject(value)) throw new Error("it is not a JSON object");
  return value;
}

function written(value: Json, before: string): string {
  const indent = /^[{[]\r?\n([ \t]+)/.exec(before)?.[1] ?? "  ";
  const text = `${JSON.stringify(value, null, indent)}\n`;
  return before.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
}

function jsonIn(path: string, key: string, entry: Json): Integration {
  const serversIn = (value: Json): Json => {
    const servers = value[key] ?? {};
    if (!isObject(servers)) throw new Error(`its ${key} is not an object`);
    return servers;
  };
  return {
    path,
    add(text) {
      const before = text === null || text.trim() === "" ? "{}" : text;
      const value = parsed(before);
      const servers = serversIn(value);
      if (Object.hasOwn(servers, "dibs")) return before;
      return written({ ...value, [key]: { ...servers, dibs: entry } }, before);
    },
    remove(text) {
      const value = parsed(text);
      const { dibs, ...others } = serversIn(value);
      if (JSON.stringify(dibs) !== JSON.stringify(entry)) return text;
      const { [key]: _, ...rest } = value;
      if (Object.keys(others).length > 0) return written({ ...value, [key]: others }, text);
      return Object.keys(rest).length > 0 ? written(rest, text) : null;
    },
  };
}

const tomlTable = "[mcp_servers.dibs]";
const tomlEntry = `# dibs:begin\n${tomlTable}\ncommand = "dibs"\nargs = ["mcp"]\n# dibs:end\n`;

/** Appended: a table ends where the next one begins, so the end of the file belongs to nobody. */
const codex: Integration = {
  path: ".codex/config.toml",
  add(text) {
    if (text === null || text.trim() === "") return tomlEntry;
    return text.includes(tomlTable) ? text : `${text.replace(/\s*$/, "")}\n\n${tomlEntry}`;
  },
  remove(text) {
    const rest = text.replace(tomlEntry, "");
    if (rest === text) return text;
    return rest.trim() === "" ? null : rest.replace(/\s*$/, "\n");
  },
};

const entry = { command: "dibs", args: ["mcp"] };

const integrations = {
  claude: jsonIn(".mcp.json", "mcpServers", entry),
  codex,
  cursor: jsonIn(".cursor/mcp.json", "mcpServers", entry),
  gemini: jsonIn(".gemini/settings.json", "mcpServers", entry),
  vscode: jsonIn(".vscode/mcp.json", "servers", { type: "stdio", ...entry }),
} as const satisfies Record<string, Integration>;

export const integrationNames = Object.keys(integrations) as readonly (keyof typeof integrations)[];

export const integrationFor = (name: string): Integration => integrations[name as keyof typeof integrations];
