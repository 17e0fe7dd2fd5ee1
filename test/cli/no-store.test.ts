// Where there is no store: commands that read or change tasks refuse and create nothing; those that begin something create the store and
// say so.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { entries } from "../../src/surfaces/cli/commands.js";
import { connectAgent } from "../mcp/support.js";
import { tempDir, until } from "../support.js";
import { commandsTyped } from "./catalogue.js";
import { type Desk, openDesk } from "./desk.js";
import { openPlace } from "./run-place.js";

const a = ["--session", "a"];

/** What is typed, for every command that needs a store. */
const lines: string[][] = [
  ["edit", "0001", "--title", "One"],
  ["cancel", "0001"],
  ["retry", "0001"],
  ["next-id"],
  ["list"],
  ["ready"],
  ["show", "0001"],
  ["explain", "0001"],
  ["dependents", "0001"],
  ["blocked-by", "0001"],
  ["graph"],
  ["in-flight"],
  ["attempts", "0001"],
  ["sessions"],
  ["events"],
  ["events", "-f"],
  ["stats"],
  ["conflicts"],
  ["usage", "0001", "--usd", "1", ...a],
  ["resources"],
  ["resource", "list"],
  ["resource", "set", "test-db"],
  ["resource", "hold", "test-db"],
  ["resource", "resume", "test-db"],
  ["resource", "remove", "test-db"],
  ["claim", ...a],
  ["claim", "0001", ...a],
  ["start", "0001", ...a],
  ["heartbeat", "0001", ...a],
  ["progress", "0001", "half", ...a],
  ["ask", "0001", "Which?", ...a],
  ["done", "0001", ...a],
  ["submit", "0001", ...a],
  ["withdraw", "0001"],
  ["fail", "0001", ...a],
  ["release", "0001", ...a],
  ["lock", "acquire", "build", ...a],
  ["lock", "status", "build"],
  ["lock", "list"],
  ["inbox"],
  ["answer", "0001", "yes"],
  ["work", "--once", "--", "true"],
  ["run", "--prompt", "x", "--", "true"],
  ["token", "create"],
  ["token", "list"],
  ["token", "link"],
  ["project", "list"],
  ["project", "create", "shop"],
  ["project", "set", "order", "priority"],
  ["check", "add", "test", "--", "true"],
  ["check", "list"],
  ["check", "run"],
  ["land", "--once"],
  ["review"],
  ["approve", "0001"],
  ["reject", "0001", "x"],
  ["backup", "copy.db"],
  ["export", "all.jsonl"],
  ["leader", "list"],
  ["leader", "status"],
  ["leader", "cancel", "0001"],
  ["worker", "claim", "terminal-2"],
  ["trust"],
];

/** They create it, need none, or have a test of their own. */
const others = [
  ...["init", "add", "plan", "import", "serve", "sync", "spool"],
  ...["demo", "doctor", "completion", "__complete", "hook", "fence", "watch", "mcp", "db"],
];

const listing = (desk: Desk) => readdirSync(desk.directory, { recursive: true });

test("every command is named here", () => {
  const typed = new Set([...lines.map(([name]) => name), ...others]);
  expect([...entries.keys()].filter((name) => !typed.has(name))).toEqual([]);
});

test("a command that changes nothing creates no store", async () => {
  const both = (await commandsTyped()).filter(({ spec }) => spec.reads && spec.createsStore);
  expect(both.map(({ spec }) => spec.name)).toEqual([]);
});

test.for(lines)("%s %s: refused, and nothing is created", async (line) => {
  const desk = await openDesk();
  const { code, out, err } = await desk.dibs(line);
  const place = line[0] === "trust" ? `at ${desk.database}` : `in ${desk.directory} or above`;
  expect(err).toBe(`dibs: No Dibs store ${place}. (STORE_NOT_FOUND)\nRun: dibs init\n`);
  expect([code, out]).toEqual([6, ""]);
  expect(listing(desk)).toEqual([".git"]);
});

test("the same for programs", async () => {
  const desk = await openDesk();
  const { code, out, err } = await desk.dibs(["list", "--json"]);
  expect([code, err]).toEqual([6, ""]);
  expect(JSON.parse(out)).toEqual({
    success: false,
    error: "STORE_NOT_FOUND",
    message: `No Dibs store in ${desk.directory} or above.`,
    hint: "Run: dibs init",
    retryable: false,
  });
});

describe("an address that cannot be one", () => {
  test("of a server: the hint is for the command line", async () => {
    const desk = await openDesk();
    const { code, err } = await desk.dibs(["list"], { env: { DIBS_URL: "127.0.0.1:3499" } });
    expect([code, err]).toEqual([
      2,
      "dibs: DIBS_URL must begin with http:// or https://. (VALIDATION_FAILED)\nFor example: DIBS_URL=http://127.0.0.1:3499\n",
    ]);
    expect((await desk.dibs(["list", "--url", "ftp://x"])).err).toContain(
      "\nFor example: --url http://127.0.0.1:3427\n",
    );
    const secret = await desk.dibs(["list", "--url", "http://ann:secret@127.0.0.1:1"]);
    expect(secret.err).toContain("--url must not contain a password.");
    expect(secret.err).not.toContain("secret");
  });

  test("of a database: an unknown scheme is no path, also where a store would be created", async () => {
    const desk = await openDesk();
    for (const argv of [["list"], ["add", "One"]]) {
      const { code, err } = await desk.dibs(argv, { env: { DIBS_DATABASE_URL: "foo://x" } });
      expect([code, err]).toEqual([
        2,
        "dibs: DIBS_DATABASE_URL has the unknown scheme foo://. (VALIDATION_FAILED)\nSupported: the path of a file, postgres:// and dynamodb://.\n",
      ]);
    }
    expect((await desk.dibs(["list", "--db", "http://x"])).err).toContain("A server is named by --url.");
  });
});

describe("a database that is named and does not exist", () => {
  test("is refused with what named it", async () => {
    const desk = await openDesk();
    const flag = await desk.dibs(["list", "--db", "typo/my tasks.db"]);
    expect([flag.code, flag.err]).toEqual([6, expect.stringContaining("/typo/my tasks.db. (STORE_NOT")]);
    expect(flag.err).toContain("Check --db, or run: dibs init --db 'typo/my tasks.db'\n");
    const variable = await desk.dibs(["claim", ...a], { env: { DIBS_DATABASE_URL: "typo.db" } });
    expect([variable.code, variable.err]).toEqual([
      6,
      expect.stringContaining("Check DIBS_DATABASE_URL, or"),
    ]);
    mkdirSync(join(desk.directory, ".dibs"));
    writeFileSync(join(desk.directory, ".dibs/config.json"), '{"db": "team/tasks.db"}');
    const settings = await desk.dibs(["list"]);
    expect([settings.code, settings.err]).toEqual([
      6,
      expect.stringContaining("Check db in .dibs/config.json"),
    ]);
    expect(listing(desk).sort()).toEqual([".dibs", ".dibs/config.json", ".git"]);
  });

  test("is created by the command that the refusal names", async () => {
    const desk = await openDesk();
    await desk.says(["init", "--no-agents", "--db", "typo/my tasks.db"]);
    expect((await desk.json(["list", "--db", "typo/my tasks.db"])).tasks).toEqual([]);
  });
});

test("a database whose log is left is reported as damaged, not as missing", async () => {
  const desk = await openDesk();
  mkdirSync(join(desk.directory, ".dibs"));
  writeFileSync(`${desk.database}-wal`, "what is left");
  const { code, err } = await desk.dibs(["list"]);
  expect([code, err]).toEqual([6, expect.stringContaining("its log")]);
});

describe("commands that create a store say so on standard error", () => {
  const begins: [string[], string?][] = [
    [["add", "One"]],
    [["plan", "-", "--yes"], "- [ ] One\n"],
    [["sync", "tasks.json", "--once"]],
    [["leader", "add-task", "One"]],
  ];

  test.for(begins)("%s", async ([line, input = ""]) => {
    const desk = await openDesk();
    const first = await desk.dibs(line, { input });
    expect([first.code, first.err]).toEqual([0, expect.stringContaining(`Created store ${desk.database}\n`)]);
    expect(first.out).not.toContain("Created store");
    expect((await desk.dibs(line, { input })).err).not.toContain("Created store");
  });

  test("not for programs, and init lists it among its steps", async () => {
    const desk = await openDesk();
    expect(await desk.dibs(["add", "One", "--json"])).toMatchObject({ code: 0, err: "" });
    const fresh = await openDesk();
    expect(await fresh.dibs(["init", "--yes"])).toMatchObject({
      err: "",
      out: expect.stringMatching(/ \.dibs\/dibs\.db /),
    });
  });

  test("import, when it is done", async () => {
    const from = await openDesk();
    await from.says(["add", "One"]);
    const lines = await from.says(["export"]);
    const desk = await openDesk();
    const { code, err } = await desk.dibs(["import", "-"], { input: lines });
    expect([code, err]).toEqual([0, `Created store ${desk.database}\n`]);
  });

  test("spool, before its first line", async () => {
    const place = await openPlace();
    const { code, err } = await place.dibs(["spool", "--agent", "claude", "--dir", "ai_comms", "--once"]);
    expect([code, err]).toEqual([5, expect.stringContaining(`Created store ${place.cwd}/.dibs/dibs.db\n`)]);
  });

  test("serve, as a line of its log", async () => {
    const place = await openPlace();
    const server = place.begin(["serve", "--port", "0"]);
    await server.says("listening on");
    const logged = server.err
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(logged[0]).toMatchObject({ msg: "created store", store: `${place.cwd}/.dibs/dibs.db` });
    server.signal("SIGTERM");
    await server.ended;
  });
});

test("a plan under a task needs the store of that task", async () => {
  const desk = await openDesk();
  const { code } = await desk.dibs(["plan", "-", "--parent", "0001", "--yes"], { input: "- [ ] One\n" });
  expect(code).toBe(6);
  expect(listing(desk)).toEqual([".git"]);
});

test("completion and hooks are quiet, and create nothing", async () => {
  const desk = await openDesk();
  expect(await desk.dibs(["__complete", "show", ""])).toMatchObject({ code: 0, err: "" });
  const input = JSON.stringify({ hook_event_name: "SessionStart", source: "startup" });
  expect(await desk.dibs(["hook"], { input })).toEqual({ code: 0, out: "", err: "" });
  expect(listing(desk)).toEqual([".git"]);
});

test("an agent's tools start without a store, list no tasks, and the first create_task creates it", async () => {
  const cwd = tempDir();
  mkdirSync(join(cwd, ".git"));
  const agent = await connectAgent([], { cwd });
  const missing = `No Dibs store in ${cwd} or above.`;
  const listed = await agent.do("list_tasks");
  expect(listed).toContain(`No tasks. ${missing}`);
  const ready = await agent.client.readResource({ uri: "dibs://ready" });
  expect(ready.contents[0]).toMatchObject({ text: `No task is ready. ${missing}` });
  const claimed = await agent.call("claim_task");
  expect(claimed).toMatchObject({
    isError: true,
    text: expect.stringContaining(`STORE_NOT_FOUND: ${missing}`),
  });
  expect(claimed.text).toContain("create_task creates the store");
  const changed: string[] = [];
  agent.client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    changed.push(params.uri);
  });
  await agent.client.subscribeResource({ uri: "dibs://ready" });
  expect(existsSync(join(cwd, ".dibs"))).toBe(false);

  const both = await Promise.all([
    agent.do("create_task", { description: "One" }),
    agent.do("create_task", { description: "Two" }),
  ]);
  expect(both.join("\n")).toContain(`Created store ${cwd}/.dibs/dibs.db\n`);
  await until("the new task is announced", () => changed.includes("dibs://ready"));
  expect(await agent.do("create_task", { description: "Three" })).not.toContain("Created store");
  expect(await agent.do("claim_task")).toContain("hold task 0001");
  await agent.close();
  expect(agent.errors()).toBe("");
});

describe("a file that is not a store", () => {
  test("is called that, and nobody is sent for a backup", async () => {
    const desk = await openDesk();
    const { code, err } = await desk.dibs(["list", "--db", "/etc/passwd"]);
    expect([code, err]).toEqual([
      6,
      "dibs: /etc/passwd is not a Dibs database. (STORE_CORRUPT)\nCheck the path: --db or DIBS_DATABASE_URL.\n",
    ]);
  });

  test("may have been one where a store is expected", async () => {
    const desk = await openDesk();
    mkdirSync(join(desk.directory, ".dibs"));
    writeFileSync(desk.database, "overwritten by mistake\n".repeat(100));
    const { err } = await desk.dibs(["list"]);
    expect(err).toContain(`${desk.database} is not a Dibs database.`);
    expect(err).toContain("If it was a store, restore a backup.");
  });
});

describe("an import that is refused leaves nothing behind:", () => {
  async function exportOf(...titles: string[]): Promise<string[]> {
    const desk = await openDesk();
    for (const title of titles) await desk.says(["add", title]);
    return (await desk.says(["export"])).trimEnd().split("\n");
  }

  async function refuses(lines: string[], words: string): Promise<void> {
    const desk = await openDesk();
    for (const db of [[], ["--db", "a/b/new.db"], ["--db", "new.db"]]) {
      const { code, err } = await desk.dibs(["import", "-", ...db], { input: `${lines.join("\n")}\n` });
      expect([code, err]).toEqual([2, expect.stringContaining(words)]);
      expect(err).not.toContain("Created store");
      expect(listing(desk)).toEqual([".git"]);
    }
    const { stores } = await desk.json(["trust", "--list"]);
    expect(stores.filter(({ path }: { path: string }) => path === desk.database)).toEqual([]);
  }

  test("one that is not an export", () => refuses(["hello"], "Line 1"));

  test("one that was cut off", async () => refuses((await exportOf("One")).slice(0, -1), "cut off"));

  test("one with two tasks of one id, which is found when it is written", async () => {
    const lines = await exportOf("One", "Two");
    await refuses(
      lines.map((line) => line.replaceAll('"0002"', '"0001"')),
      "two tasks 0001",
    );
  });
});
