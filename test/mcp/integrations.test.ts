import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { getNodeValue } from "jsonc-parser";
import { expect, test } from "vitest";
import { withBlock } from "../../src/surfaces/cli/agents-md.js";
import { filesFor, integrationNames, type OwnFile } from "../../src/surfaces/cli/integrations/index.js";
import { parseJsonc } from "../../src/surfaces/cli/integrations/jsonc.js";
import { toolNames } from "../../src/surfaces/mcp/tools.js";
import { type Desk, openDesk } from "../cli/desk.js";
import { tempDir } from "../support.js";
import { tokens } from "./support.js";

const serversOf = (name: string): OwnFile => filesFor(name).find(({ what }) => what === "mcp")!;

/** Settings as people have them: `KEY` is where servers are, `OTHER` one that is there. */
const settings: Record<string, string> = {
  usual: '{\n  "theme": "dark",\n  "KEY": {\n    "other": OTHER\n  }\n}\n',
  "with tabs": '{\n\t"inputs": [],\n\t"KEY": {\n\t\t"other": OTHER\n\t}\n}\n',
  "in one line": '{"KEY": {"other": OTHER}, "theme": "dark"}',
  "without servers": '{\n    "theme": "dark"\n}\n',
  "without servers, in one line": '{ "theme": "dark" }\n',
  "with line ends of Windows": '{\r\n  "KEY": {\r\n    "other": OTHER\r\n  }\r\n}\r\n',
  "without an end of line": '{\n  "KEY": {\n    "other": OTHER\n  }\n}',
  "with comments": `// mine
{
  /* what I like */
  "theme": "dark", // really
  "KEY": { // those I need
    "other": OTHER // do not touch
    // the end
  },
  "url": "http://x//y /* no comment */" // the last one
}
// over
`,
  "with trailing commas": '{\n  "KEY": {\n    "other": OTHER, // a remark\n  },\n  "theme": "dark",\n}\n',
  "with a mark of its encoding": '\ufeff{\n  "theme": "\\u0064ark \\"}"\n}\n',
};

const keyOf = (name: string) => (name === "vscode" ? "servers" : "mcpServers");
const read = (text: string) => getNodeValue(parseJsonc(text)) as Record<string, Record<string, unknown>>;

for (const name of integrationNames.filter((each) => each !== "codex")) {
  test(`the settings of ${name}: an entry is added once, taken away again, and nothing else changes`, () => {
    const { add, remove } = serversOf(name);
    for (const [kind, form] of Object.entries(settings)) {
      const before = form.replaceAll("KEY", keyOf(name)).replaceAll("OTHER", '{ "command": "x" }');
      const after = add(before);
      const { [keyOf(name)]: servers, ...rest } = read(after);
      const { [keyOf(name)]: others = {}, ...restBefore } = read(before);
      expect(rest, kind).toEqual(restBefore);
      expect(servers, kind).toEqual({ ...others, dibs: expect.objectContaining({ command: "dibs" }) });
      // Every character that was there is there, in its order.
      let at = 0;
      for (const character of after) if (character === before[at]) at++;
      expect(at, `${kind}: ${after}`).toBe(before.length);
      expect(add(after)).toBe(after);
      expect(remove(after), kind).toBe(before);
      expect(remove(before)).toBe(before);
    }
    expect(remove(add(null))).toBe(null);
    // Who made it is not to be seen.
    expect(remove(add("{}"))?.replace(/\s/g, "")).toBe("{}");
    const remarked = `{ "${keyOf(name)}": { /* none yet */ } }`;
    expect(remove(add(remarked))).toContain("/* none yet */");
    const inline = `{"${keyOf(name)}": {"other": {},}, }`;
    expect(remove(add(inline))).toBe(inline);
    expect(add("")).toBe(add(null));
  });
}

test("remarks stay with what they are about", () => {
  const before = '{\n  "mcpServers": {\n    "a": {}, // about a\n    "b": {} // about b\n  }\n}\n';
  const after = serversOf("gemini").add(before);
  expect(after).toContain('"a": {}, // about a\n    "b": {}, // about b\n    "dibs": {');
});

test("settings in TOML: a table at the end, whatever stands before it", () => {
  const { add, remove } = serversOf("codex");
  for (const before of [
    'model = "o4" # mine\n\n[mcp_servers.other]\ncommand = "x"\n\n[[profiles]]\nname = "a"\n',
    'model = "o4"\r\n# [mcp_servers.dibs] was here\r\n',
  ]) {
    const after = add(before);
    expect(after.startsWith(before.trimEnd())).toBe(true);
    expect(after).toMatch(/^\[mcp_servers\.dibs\]\r?\ncommand = "dibs"\r?\nargs = \["mcp"\]\r?\n/m);
    if (before.includes("\r\n")) expect(after.replaceAll("\r\n", "")).not.toContain("\n");
    expect(add(after)).toBe(after);
    expect(remove(after)).toBe(before);
    expect(remove(before)).toBe(before);
    const between = `${after}\n[other]\nx = 1\n`.replace(/\r?\n/g, before.includes("\r\n") ? "\r\n" : "\n");
    expect(remove(between)).not.toContain('command = "dibs"');
    expect(remove(between)).toContain("[other]");
  }
  expect(remove(add(null))).toBe(null);
  for (const own of [
    '[mcp_servers.dibs]\ncommand = "mine"\n',
    '[ mcp_servers . "dibs" ]\ncommand = "mine"\n',
    '["mcp_servers".dibs]\ncommand = "mine"\n',
    '[mcp_servers]\ndibs = { command = "mine" }\n',
    '[mcp_servers]\nother.command = "x"\n"dibs".command = "mine"\n\n[more]\n',
  ]) {
    expect(add(own)).toBe(own);
    expect(remove(own)).toBe(own);
    expect(serversOf("codex").doubt!(own)).toContain("left as it is");
  }
  const elsewhere = '[mcp_servers]\nother = { command = "x" }\n[more]\ndibs = 1\n';
  expect(add(elsewhere)).toContain("[mcp_servers.dibs]");
  for (const other of ['mcp_servers = { other = { command = "x" } }\n', 'mcp_servers.other.command = "x"\n'])
    expect(() => add(other)).toThrow("as keys, not as tables");
});

test("what somebody changed stays, and what cannot be understood is not touched", () => {
  const { add, remove, doubt } = serversOf("claude");
  const own = '{"mcpServers": {"dibs": {"command": "dibs", "args": ["mcp", "--url", "https://x"]}}}';
  expect(add(own)).toBe(own);
  expect(remove(own)).toBe(own);
  expect(doubt!(own)).toContain("left as it is");
  expect(doubt!(add(null))).toBeUndefined();
  for (const text of [
    "[]",
    '{"mcpServers": []}',
    "{",
    '{"a": 1,, "b": 2}',
    "{'a': 1}",
    '{"a": 01}',
    '{"a": 1} x',
    "{ /* ",
  ])
    expect(() => add(text), text).toThrow();
  expect(() => add(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`)).toThrow("too deeply");
});

const at = (desk: Desk, name: string) => join(desk.directory, name);
const put = (desk: Desk, name: string, text: string) => {
  mkdirSync(dirname(at(desk, name)), { recursive: true });
  writeFileSync(at(desk, name), text);
};
const filesIn = (desk: Desk) =>
  readdirSync(desk.directory, { recursive: true })
    .map(String)
    .filter((name) => !/^\.(?:dibs|git)\b/.test(name))
    .toSorted();

test("init sets up every agent that is named, and --remove takes all of it away again, empty directories too", async () => {
  const desk = await openDesk();
  await desk.says(["init", ...integrationNames.flatMap((name) => ["--agent", name])]);
  expect(JSON.parse(desk.read(".mcp.json"))).toEqual({
    mcpServers: { dibs: { command: "dibs", args: ["mcp"] } },
  });
  expect(JSON.parse(desk.read(".cursor/mcp.json")).mcpServers.dibs).toEqual({
    type: "stdio",
    command: "dibs",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the editor puts it in.
    args: ["mcp", "--directory", "${workspaceFolder}"],
  });
  expect(desk.read("CLAUDE.md")).toBe("@AGENTS.md\n");
  expect(filesIn(desk)).toEqual(
    [
      ".claude",
      ".claude/skills",
      ".claude/skills/dibs",
      ".claude/skills/dibs/.claude-plugin",
      ".claude/skills/dibs/.claude-plugin/plugin.json",
      ".claude/skills/dibs/hooks",
      ".claude/skills/dibs/hooks/hooks.json",
      ".codex",
      ".codex/config.toml",
      ".cursor",
      ".cursor/mcp.json",
      ".gemini",
      ".gemini/settings.json",
      ".mcp.json",
      ".qwen",
      ".qwen/settings.json",
      ".vscode",
      ".vscode/mcp.json",
      "AGENTS.md",
      "CLAUDE.md",
      "GEMINI.md",
    ].toSorted(),
  );
  const again = await desk.json(["init", "--agent", "claude"]);
  expect(again.steps.every(({ did }: { did: string }) => did === "kept")).toBe(true);
  await desk.says(["init", "--remove", "--agent", "codex"]);
  expect(existsSync(at(desk, ".codex"))).toBe(false);
  expect(existsSync(at(desk, "AGENTS.md"))).toBe(true);
  await desk.says(["init", "--remove"]);
  expect(filesIn(desk)).toEqual([]);
});

test("beside what is there: files of one's own are kept, doubts are told, and --remove leaves them", async () => {
  const desk = await openDesk();
  put(desk, "AGENTS.md", "# Rules\n");
  put(desk, "CLAUDE.md", "# Mine\n");
  put(desk, ".claude/settings.json", "{}\n");
  put(desk, ".claude/skills/dibs/hooks/hooks.json", '{ "hooks": {} }\n');
  put(desk, ".mcp.json", '{ "mcpServers": { "x": { "command": "x" } } } // mine\n');
  const { steps } = await desk.json(["init", "--agent", "claude"]);
  const noteOn = (name: string) => steps.find(({ path }: { path: string }) => path.endsWith(name))?.note;
  expect(noteOn("CLAUDE.md")).toContain("add a line @AGENTS.md");
  expect(noteOn("hooks.json")).toContain("not as dibs writes it");
  expect(desk.read("CLAUDE.md")).toBe("# Mine\n");
  expect(desk.read(".mcp.json")).toContain("// mine");
  await desk.says(["init", "--remove"]);
  expect(filesIn(desk)).toEqual(
    [
      ".claude",
      ".claude/settings.json",
      ".claude/skills",
      ".claude/skills/dibs",
      ".claude/skills/dibs/hooks",
      ".claude/skills/dibs/hooks/hooks.json",
      ".mcp.json",
      "AGENTS.md",
      "CLAUDE.md",
    ].toSorted(),
  );
  expect(desk.read(".mcp.json")).toBe('{ "mcpServers": { "x": { "command": "x" } } } // mine\n');
  // Whoever has an AGENTS.md of their own has use for the way to it.
  put(desk, "CLAUDE.md", "@AGENTS.md\n");
  await desk.says(["init", "--remove"]);
  expect(desk.read("CLAUDE.md")).toBe("@AGENTS.md\n");
});

/** What people may have, by kind of file; null: nothing. */
const odd: Record<string, (string | null)[]> = {
  json: [
    null,
    "",
    "\n\n",
    "{}",
    "{ }\n",
    "{\n  // nothing yet\n}",
    '{"KEY":{}}',
    '{ "KEY": { } , }\n\n',
    '{\n\t"KEY": {\n\t\t// none yet\n\t}\n}\n',
    '{"KEY": {"other": {},},}',
    '{\r\n  "KEY": {\r\n    "other": {}, /* x */\r\n  },\r\n}',
    '{"KEY": {"dibs": {"command": "mine"}}}',
    '\ufeff{"a": [1, 2,], "KEY": {"b": {}}} // over',
  ],
  toml: [null, "", " \n", "a = 1", "a = 1\n\n\n", "a = 1 \t\r\n\r\n", "[mcp_servers]\n", "# only a remark"],
  md: [
    null,
    "",
    "\n",
    "# Rules",
    "# Rules  \n\n \n",
    "# Rules\r\n",
    "@AGENTS.md",
    "@AGENTS.md\n",
    "@./AGENTS.md\n",
  ],
};
const kinds: Record<string, keyof typeof odd> = {
  ".mcp.json": "json",
  ".cursor/mcp.json": "json",
  ".gemini/settings.json": "json",
  ".qwen/settings.json": "json",
  ".vscode/mcp.json": "json",
  ".codex/config.toml": "toml",
  "AGENTS.md": "md",
  "CLAUDE.md": "md",
  "GEMINI.md": "md",
};

test("whatever was there: after init and --remove it is there to the letter, and what was made is gone", async () => {
  const desk = await openDesk();
  const named = integrationNames.flatMap((name) => ["--agent", name]);
  const ways = [
    { add: [named], remove: [[]] },
    { add: [named, named], remove: [named] },
    { add: [[], named], remove: [named, []] },
    {
      add: integrationNames.map((name) => ["--agent", name]),
      remove: integrationNames.map((name) => ["--agent", name]),
    },
  ];
  for (let round = 0; round < 13; round++) {
    const names = Object.entries(kinds).map(([name, kind], index) => {
      const forms = odd[kind]!;
      const text = forms[(round + 2 * index) % forms.length]!;
      if (text !== null)
        put(desk, name, text.replace("KEY", name.startsWith(".vscode") ? "servers" : "mcpServers"));
      return name;
    });
    const texts = () => names.map((name) => [name, existsSync(at(desk, name)) ? desk.read(name) : null]);
    const before = texts();
    const { add, remove } = ways[round % ways.length]!;
    for (const flags of add) await desk.says(["init", ...flags]);
    expect(desk.read("AGENTS.md")).toContain("dibs:begin");
    for (const flags of remove) await desk.says(["init", "--remove", ...flags]);
    expect(texts(), `round ${round}`).toEqual(before);
    expect(existsSync(at(desk, ".claude"))).toBe(false);
    expect(existsSync(at(desk, ".dibs/init.json"))).toBe(false);
    for (const name of names) rmSync(at(desk, name), { force: true });
  }
});

test("what was edited since keeps the edits, and loses what is ours", async () => {
  const desk = await openDesk();
  put(desk, "AGENTS.md", "# Rules");
  await desk.says(["init", "--agent", "codex", "--agent", "claude"]);
  put(desk, "AGENTS.md", `${desk.read("AGENTS.md")}\n# More rules\n`);
  put(desk, ".mcp.json", desk.read(".mcp.json").replace('"mcpServers"', '"a": 1, "mcpServers"'));
  await desk.says(["init", "--remove"]);
  expect(desk.read("AGENTS.md")).toBe("# Rules\n\n# More rules\n");
  expect(JSON.parse(desk.read(".mcp.json"))).toEqual({ a: 1 });
  expect(filesIn(desk)).toEqual([".mcp.json", "AGENTS.md"]);
});

test("a plain init goes on without its agents; bytes that are no text are refused", async () => {
  const desk = await openDesk();
  await desk.says(["init"]);
  await desk.says(["init", "--agent", "claude"]);
  await desk.says(["init", "--remove", "--agent", "claude"]);
  expect(filesIn(desk)).toEqual(["AGENTS.md"]);
  await desk.says(["init", "--remove"]);
  writeFileSync(at(desk, "AGENTS.md"), Buffer.from([0x23, 0xe4, 0x0a]));
  const refused = await desk.dibs(["init"]);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("not text in UTF-8");
});

test("what cannot be understood is refused before anything is written, with what to add by hand", async () => {
  const desk = await openDesk();
  put(desk, ".gemini/settings.json", "{ broken");
  const refused = await desk.dibs(["init", "--agent", "claude", "--agent", "gemini"]);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("settings.json was left as it is: it is not JSON (line 1)");
  expect(refused.err).toContain('{"mcpServers":{"dibs":{"command":"dibs","args":["mcp"]}}}');
  expect(filesIn(desk)).toEqual([".gemini", ".gemini/settings.json"]);
  expect(desk.read(".gemini/settings.json")).toBe("{ broken");
});

test("no link leads the writing out of the repository, however deep", async () => {
  const desk = await openDesk();
  const elsewhere = tempDir();
  symlinkSync(elsewhere, at(desk, ".claude"));
  symlinkSync(elsewhere, at(desk, ".gemini"));
  for (const name of ["claude", "gemini"]) {
    expect((await desk.dibs(["init", "--agent", name])).code).toBe(4);
    expect((await desk.dibs(["init", "--remove", "--agent", name])).code).toBe(4);
  }
  expect(readdirSync(elsewhere)).toEqual([]);
});

test("the plugin is as Claude Code wants it: a manifest with a name, hooks by event, each a command that cannot fail", async () => {
  const desk = await openDesk();
  await desk.says(["init", "--agent", "claude"]);
  const directory = ".claude/skills/dibs";
  expect(JSON.parse(desk.read(`${directory}/.claude-plugin/plugin.json`))).toMatchObject({ name: "dibs" });
  const { hooks } = JSON.parse(desk.read(`${directory}/hooks/hooks.json`));
  expect(Object.keys(hooks)).toEqual([
    "SessionStart",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
  ]);
  for (const groups of Object.values<{ matcher?: string; hooks: object[] }[]>(hooks)) {
    for (const { hooks: each, matcher } of groups) {
      expect(each).toEqual([
        expect.objectContaining({ type: "command", command: "dibs hook --client $PPID || true" }),
      ]);
      if (matcher === undefined) continue;
      expect(["Bash", "Edit", "mcp__other__x"].every((tool) => new RegExp(matcher).test(tool))).toBe(true);
      expect(new RegExp(matcher).test("mcp__dibs__claim_task")).toBe(false);
    }
  }
});

test("the block in AGENTS.md and the page for agents name the tools by their names, and are short", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/guides/agents.md"), "utf8");
  const toPaste = page.slice(page.indexOf("## Tasks: Dibs"), page.indexOf("## Claude Code"));
  for (const text of [withBlock(null), toPaste]) {
    const named = new Set([...text.matchAll(/`([a-z]+_[a-z]+)`/g)].map(([, name]) => name));
    const fields = new Set(["agent_id", "parent_id", "wait_seconds"]);
    const known: string[] = [...toolNames];
    for (const name of named) if (!fields.has(name!)) expect(known).toContain(name);
    for (const name of ["claim_task", "update_progress", "ask_human", "complete_task", "fail_task"])
      expect(named).toContain(name);
    expect(tokens(text)).toBeLessThanOrEqual(600);
  }
});
