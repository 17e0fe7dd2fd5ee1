import { execFile, spawn as spawnChild } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Dibs, openDibs } from "../../src/index.js";
import { serveDibs } from "../../src/serve.js";
import {
  bin,
  childOf,
  environment,
  keys,
  repository,
  type Terminal,
  watch,
  watchInShell,
} from "./terminal.js";

const run = promisify(execFile);
/** What a frame may consist of, besides text. */
const escapes = new RegExp(`${keys.escape}\\[[?\\d;]*[hlmHK]`, "g");

async function store(database: string): Promise<Dibs> {
  const dibs = await openDibs({ path: database, project: "shop" });
  onTestFinished(() => dibs.close());
  return dibs;
}

const dibsIn = (directory: string, ...args: string[]) =>
  run(process.execPath, [bin, ...args], { cwd: directory, env: environment() });

test("a working day: who works on what, a question answered, a failure retried, a task cancelled", async () => {
  const { directory, database } = repository();
  const dibs = await store(database);
  await dibs.tasks.create({
    prompt: "Implement the API",
    priority: "high",
    phase: "implementation",
    labels: ["api"],
  });
  await dibs.tasks.create({ prompt: "Choose a colour", labels: ["ui"] });
  await dibs.tasks.create({ prompt: "Write the docs", dependsOn: ["0001"], priority: "low" });
  await dibs.tasks.create({ prompt: "Migrate the table", maxRetries: 0 });
  await dibs.tasks.claim({ taskId: "0004", sessionId: "agent-4", register: true, start: true });
  await dibs.tasks.fail({ taskId: "0004", sessionId: "agent-4", error: "column exists", retryable: false });
  await dibs.tasks.claim({ taskId: "0002", sessionId: "agent-2", register: true, start: true });

  const terminal = watch({ directory });
  await terminal.shows("1 Fleet", "● live", "(*) 0002 Choose a colour", "#agent-2");
  expect(terminal.isOnOtherScreen).toBe(true);

  // What another process does appears by itself.
  await dibsIn(directory, "claim", "0001", "--session", "agent-1", "--start");
  await terminal.shows("(*) 0001 Implement the API [IMPL]", /working 29:5\d|working 30:00/);
  terminal.press("2");
  await terminal.shows(
    "CLAIMED BY",
    /1 0002 .*medium 50 .*\[\*\] agent-2/,
    /0001 .*high 80 .*\[\*\] agent-1/,
  );
  await terminal.shows(/0003 .*low 20 .*blocked/, /0004 .*failed/);

  // Filters are completed and applied while they are typed.
  terminal.press("/", "is:bl", keys.tab);
  await terminal.shows("/is:blocked", "Queue 1/4", "Write the docs");
  await terminal.hides("Migrate the table");
  terminal.press(keys.enter, keys.enter);
  await terminal.shows("4 Task 0003", "Why is it not running?", "dibs show 0001", "Timeline");
  terminal.press(keys.escape);
  await terminal.shows("/is:blocked");
  terminal.press(keys.escape);
  await terminal.shows("Migrate the table");

  // An agent that waits for an answer goes on with it.
  const asking = dibsIn(
    directory,
    "ask",
    "0002",
    "Teal or orange?",
    "--option",
    "teal",
    "--option",
    "orange",
    "--session",
    "agent-2",
    "--wait",
  );
  terminal.press("3");
  await terminal.shows("? 0002", "agent-2 asks", "• orange");
  terminal.press("a");
  await terminal.shows("answer 0002:");
  terminal.press(keys.tab, keys.tab);
  await terminal.shows("answer 0002: orange");
  terminal.press(", please", keys.enter);
  expect((await asking).stdout).toBe("orange, please\n");
  await terminal.shows("answered 0002, now running", "dibs answer 0002 -- 'orange, please'");

  await terminal.hides("? 0002");
  await terminal.shows("! 0004", "column exists", "m set aside");
  terminal.press("m");
  await terminal.shows("set aside 0004; all that failed: filter is:failed", "Nothing needs you.");
  expect((await dibs.notifications.list({ unread: true })).notifications).toEqual([]);
  terminal.press("/", "is:failed", keys.enter);
  await terminal.shows("Queue 1/4", /▌.*0004/);
  terminal.press("r");
  await terminal.shows("queued 0004 again", "No task matches.");
  expect((await dibs.tasks.get({ taskId: "0004" })).task.state).toBe("queued");

  // What is asked for is done after a yes only.
  terminal.press(keys.escape);
  await terminal.shows("Write the docs");
  terminal.press("G");
  await terminal.shows(/▌.*0003/);
  terminal.press("c");
  await terminal.shows("Cancel 0003 Write the docs? y/n", "dibs cancel 0003");
  terminal.press("n");
  await terminal.shows("left as it is");
  terminal.press("c", "y");
  await terminal.shows("cancelled 0003", /0003 .*cancelled/);
  terminal.press("g", "x", "y");
  await terminal.shows("released 0002", /0002 .*medium 50 .*--/);
  expect((await dibs.tasks.get({ taskId: "0002" })).task.claim).toBeNull();
  // A refusal is told.
  terminal.press("x", "y");
  await terminal.shows("Task 0002 is not claimed.");

  terminal.press("?");
  await terminal.shows("take a task from its holder", "Marks and filters");
  terminal.press(keys.escape, "q");
  expect(await terminal.ended).toBe(0);
  expect(terminal.isOnOtherScreen).toBe(false);
});

test("sizes: everything fits from 40 columns on, and a thousand tasks scroll", async () => {
  const { directory, database } = repository();
  const dibs = await store(database);
  const tasks = Array.from({ length: 900 }, (_, at) => ({ prompt: `Task number ${at + 1}` }));
  await dibs.tasks.batch({ tasks });
  await dibs.tasks.create({ prompt: "日本語のタイトル 漢字", priority: 99 });
  const terminal = watch({ directory, args: ["--view", "queue"] });
  await terminal.shows("Queue 901]", "日本語");
  // Wide characters take two cells, and what follows stands in its column.
  const line = terminal.lines.findIndex((each) => each.includes("日本語"));
  expect(terminal.columnOf(line, "high 99")).toBe(terminal.columnOf(1, "PRIORITY"));

  // What can be typed has its line for itself, also where the list is longer than the screen.
  terminal.press("/", "is:op");
  await terminal.shows("Queue 901/901]");
  await terminal.shows(/\nTab {2}open\n\/is:op$/);
  expect(terminal.lines.at(-3)).toMatch(/ 20 0019 Task number 19 /);
  terminal.press(keys.escape);
  await terminal.shows(/ 21 0020 /);

  terminal.press(keys.pageDown, keys.pageDown, keys.down, "j");
  await terminal.shows(/▌ +43 0042/);
  terminal.press("G");
  await terminal.shows(/▌ +901 0900 Task number 900/);
  for (const [columns, rows] of [
    [40, 10],
    [24, 5],
    [10, 3],
    [120, 40],
  ] as const) {
    terminal.resize(columns, rows);
    for (const view of ["1", "3", "2"]) terminal.press(view);
    await terminal.until(`it fits into ${columns} columns`, () => {
      const fits = terminal.lines.every((each) => each.length <= columns);
      return fits && terminal.text.includes(columns < 20 ? "larger" : "▌");
    });
  }
  await terminal.shows("PRIORITY", "0900");
  // A step writes the lines that changed, and nothing is written for a key that does nothing.
  const before = terminal.raw.length;
  terminal.press("Z", "k");
  await terminal.shows(/▌ +900 0899/);
  expect(terminal.raw.length - before).toBeLessThan(1_000);
  expect(terminal.raw.slice(before)).not.toContain("\x1b[2J");
  terminal.press(keys.ctrlC);
  expect(await terminal.ended).toBe(0);
});

test("through a server: projects, what is lost and caught up, and the store itself", async () => {
  const { directory, database } = repository();
  const dibs = await store(database);
  await dibs.projects.create({ id: "barn" });
  await dibs.tasks.create({ prompt: "Here" });
  await dibs.tasks.create({ prompt: "There", project: "barn" });
  const start = (port: number) => serveDibs({ path: database, port, logLevel: "silent" });
  let server = await start(0);
  onTestFinished(() => server.close());
  // One that was named is waited for; one that was found is left for the store.
  const named = { DIBS_URL: server.url, DIBS_TOKEN: server.token! };
  const terminal = watch({ directory, args: ["--view", "queue"], env: { NO_COLOR: "1", ...named } });
  const other = watch({ directory, args: ["--view", "queue"] });
  await other.shows("● live", "Here");
  await terminal.shows("● live", "Here");
  terminal.press("p");
  await terminal.shows("all projects", "barn", "shop  default");
  terminal.press("k", keys.enter);
  await terminal.shows("barn   ● live", "There");
  await terminal.hides("Here");
  terminal.press("p", "k", keys.enter);
  await terminal.shows("all projects", "Here", "There", "PROJECT");
  await dibs.projects.pause({ id: "barn" });
  await terminal.shows("all projects  1 paused", "● live");

  const port = Number(new URL(server.url).port);
  await server.close();
  await terminal.shows("○ lost");
  await other.shows("● live", "caught up 0 events");
  await dibs.tasks.create({ prompt: "Meanwhile" });
  await other.shows("Meanwhile");
  server = await start(port);
  await terminal.shows("● live", "caught up 2 events", "Meanwhile");
  // NO_COLOR: lines may be bold or dim, but have no colour.
  expect(terminal.raw.match(escapes)?.filter((each) => /[[;](3[0-8]|9[0-7])[;m]/.test(each))).toEqual([]);
  for (const each of [terminal, other]) each.press("q");
  expect(await Promise.all([terminal.ended, other.ended])).toEqual([0, 0]);
});

describe("the terminal is given back", () => {
  const isGivenBack = (terminal: Terminal) => {
    expect(terminal.isOnOtherScreen).toBe(false);
    expect(terminal.text).toMatch(/[^-]icanon/);
    expect(terminal.text).toMatch(/[^-]echo /);
    expect(terminal.raw.lastIndexOf("\x1b[?25h")).toBeGreaterThan(terminal.raw.lastIndexOf("\x1b[?25l"));
  };

  test("whatever ends it", async () => {
    const { directory, database } = repository();
    await store(database);
    const boom = "data:text/javascript,process.on('SIGUSR2',()=>{throw new Error('boom')})";
    const ends: [NodeJS.Signals, ...string[]][] = [
      ["SIGHUP", "left with 0"],
      ["SIGQUIT", "left with 131"],
      ["SIGUSR2", "left with 1", "boom"],
    ];
    const endBy = async ([signal, ...said]: (typeof ends)[number]) => {
      const terminal = watchInShell({ directory, env: { NODE_OPTIONS: `--import="${boom}"` } });
      await terminal.shows("● live", "No sessions yet.");
      expect(terminal.isOnOtherScreen).toBe(true);
      process.kill(childOf(terminal.pid), signal);
      expect(await terminal.ended).toBe(0);
      await terminal.shows(...said);
      isGivenBack(terminal);
    };
    await Promise.all(ends.map(endBy));
  });

  test("and nothing that a task says reaches it as more than text", async () => {
    const { directory, database } = repository();
    const dibs = await store(database);
    const hostile = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b5n\r\x08\u202e\u2028 end";
    await dibs.tasks.create({ prompt: hostile, title: hostile, labels: ["x"] });
    await dibs.tasks.claim({ taskId: "0001", sessionId: "agent-1", register: true, start: true });
    await dibs.tasks.progress({ taskId: "0001", sessionId: "agent-1", note: hostile });
    await dibs.tasks.ask({ taskId: "0001", sessionId: "agent-1", question: hostile, options: [hostile] });
    const terminal = watchInShell({ directory });
    await terminal.shows("● live", "0001");
    const begun = terminal.raw.length;
    for (const key of ["2", "3", "a", keys.escape, keys.enter]) terminal.press(key);
    await terminal.shows("4 Task 0001", "Timeline", "end");
    const drawn = terminal.raw.slice(begun).replace(escapes, "");
    expect(drawn).not.toMatch(/\p{Cc}/u);

    process.kill(childOf(terminal.pid), "SIGTERM");
    expect(await terminal.ended).toBe(0);
    await terminal.shows("left with 0");
    isGivenBack(terminal);
  });

  test("and where there is none it says so", async () => {
    const { directory } = repository();
    const child = spawnChild(process.execPath, [bin, "watch"], { cwd: directory, env: environment() });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
    child.stdin.end();
    const [code] = await once(child, "close");
    expect(code).toBe(2);
    expect(said).toContain("dibs watch needs a terminal");
    expect(said).toContain("dibs list");
  });
});
