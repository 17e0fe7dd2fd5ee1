// How clients of MCP are told about Dibs: an entry in the settings of the project that each of them reads. An entry of that name
// that is there already stays, because somebody may have changed it.

import { getNodeValue, type Node } from "jsonc-parser";
import type { OwnFile } from "./file.js";
import { endOf, parseJsonc, propertyOf, valueNode, withoutProperty, withProperty } from "./jsonc.js";

const name = "dibs";

interface Place {
  path: string;
  /** Where the servers are. */
  key: string;
  entry: Record<string, unknown>;
}

const isEmpty = (text: string | null): text is null => text === null || text.trim() === "";

function rootOf(text: string): Node {
  const root = parseJsonc(text);
  if (root.type !== "object") throw new Error("it is not a JSON object");
  return root;
}

function serversIn(root: Node, key: string): Node | undefined {
  const property = propertyOf(root, key);
  if (!property) return undefined;
  const servers = valueNode(property);
  if (servers.type !== "object") throw new Error(`its ${key} is not an object`);
  return servers;
}

const doubtAbout = (isOurs: boolean) =>
  isOurs ? undefined : "has an entry dibs that dibs did not write; left as it is";

export function inJson({ path, key, entry }: Place): OwnFile {
  const ours = JSON.stringify(entry);
  const whole = `${JSON.stringify({ [key]: { [name]: entry } }, null, 2)}\n`;
  const isOurs = (text: string) => {
    const servers = serversIn(rootOf(text), key);
    const found = servers && propertyOf(servers, name);
    return found === undefined || JSON.stringify(getNodeValue(valueNode(found))) === ours;
  };
  return {
    path,
    what: "mcp",
    paste: JSON.stringify({ [key]: { [name]: entry } }),
    add(text) {
      if (isEmpty(text)) return whole;
      const root = rootOf(text);
      const servers = serversIn(root, key);
      if (!servers) return withProperty(text, root, root, key, { [name]: entry });
      return propertyOf(servers, name) ? text : withProperty(text, root, servers, name, entry);
    },
    remove(text) {
      const root = rootOf(text);
      const servers = serversIn(root, key);
      const found = servers && propertyOf(servers, name);
      if (!servers || !found || !isOurs(text)) return text;
      if (text.replaceAll("\r\n", "\n") === whole) return null;
      const rest = withoutProperty(text, servers, found);
      // A comment is left too: then the object stays.
      const inside =
        text.slice(servers.offset + 1, found.offset) + text.slice(endOf(found), endOf(servers) - 1);
      if (inside.replace(",", "").trim() !== "") return rest;
      return withoutProperty(text, root, propertyOf(root, key)!);
    },
    doubt: (text) => doubtAbout(isOurs(text)),
  };
}

const tomlTable = '[mcp_servers.dibs]\ncommand = "dibs"\nargs = ["mcp"]\n';
const tomlEntry = `# dibs:begin\n${tomlTable}# dibs:end\n`;
const bare = (word: string) => `(?:${word}|"${word}"|'${word}')`;
const tomlHas = new RegExp(
  String.raw`^[ \t]*\[[ \t]*${bare("mcp_servers")}[ \t]*\.[ \t]*${bare("dibs")}[ \t]*[.\]]`,
  "m",
);
/** Servers as keys instead of tables: a table behind them may not be allowed. */
const tomlKeys = new RegExp(String.raw`^[ \t]*${bare("mcp_servers")}[ \t]*[.=]`, "m");
/** The table of all servers: one of them may be a key in it. */
const tomlServers = new RegExp(String.raw`^[ \t]*\[[ \t]*${bare("mcp_servers")}[ \t]*\]`, "m");
const tomlOwnKey = new RegExp(String.raw`^[ \t]*${bare("dibs")}[ \t]*[.=]`, "m");

/** An entry in the table of all servers, which ends where the next table begins. */
function isKeyIn(text: string): boolean {
  const found = tomlServers.exec(text);
  if (!found) return false;
  const rest = text.slice(found.index + found[0].length);
  const end = /^[ \t]*\[/m.exec(rest);
  return tomlOwnKey.test(end ? rest.slice(0, end.index) : rest);
}

const hasEntry = (text: string) => tomlHas.test(text) || isKeyIn(text);

const inLines = (text: string, like: string) =>
  like.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;

/** Appended: a table ends where the next one begins, so the end of the file belongs to nobody. */
export function inToml(path: string): OwnFile {
  return {
    path,
    what: "mcp",
    paste: tomlTable.trimEnd(),
    add(text) {
      if (isEmpty(text)) return tomlEntry;
      if (hasEntry(text)) return text;
      if (tomlKeys.test(text)) throw new Error("it has mcp_servers as keys, not as tables");
      return `${text.replace(/\s*$/, "")}${inLines(`\n\n${tomlEntry}`, text)}`;
    },
    remove(text) {
      const ours = inLines(tomlEntry, text);
      const at = text.indexOf(ours);
      if (at < 0) return text;
      const before = text.slice(0, at).trimEnd();
      const after = text.slice(at + ours.length).trimStart();
      if (before === "" && after === "") return null;
      const eol = inLines("\n", text);
      return (
        [before, after]
          .filter((part) => part !== "")
          .join(eol + eol)
          .trimEnd() + eol
      );
    },
    doubt: (text) => doubtAbout(!hasEntry(text) || text.includes(inLines(tomlEntry, text))),
  };
}
