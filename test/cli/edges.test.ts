// The edges: waits that end without an answer, words that are nearly right, files that are none, and what tables say then.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { linesOf } from "../../src/runtime/lines.js";
import { eventually } from "../eventually.js";
import { type Calling, type Desk, deskWithStore, openDesk, ways } from "./desk.js";

const as: Calling = { env: { DIBS_SESSION: "agent-1" } };
const at = (desk: Desk, name: string) => join(desk.directory, name);
// biome-ignore lint/suspicious/noExplicitAny: a task in JSON.
const idsOf = ({ tasks }: any): string[] => tasks.map(({ id }: { id: string }) => id);

describe.each(ways)("whoever waits for an answer hears why there is none, %s", (way) => {
  const ends: [string, string[], string][] = [
    ["cancelled", ["cancel", "0001"], "TASK_CANCELLED"],
    ["taken away", ["release", "0001", "--force"], "TASK_NOT_CLAIMED"],
    ["given back by another process of the session", ["release", "0001"], "TASK_NOT_CLAIMED"],
    ["reported as failed", ["fail", "0001", "no", "--no-retry"], "TASK_NOT_CLAIMED"],
  ];

  test.each(ends)("%s", async (_, argv, code) => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["claim", "--start"], as);
    const asked = desk.dibs(["ask", "0001", "Teal?", "--wait", "--json"], as);
    await eventually(async () => (await desk.json(["inbox"])).questions.length).toBe(1);
    await desk.says(argv, as);
    const { code: exit, out } = await asked;
    expect(exit).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ success: false, error: code, taskId: "0001" });
  });
});

describe("--json does nothing to a terminal", () => {
  const attack = "a\u009b2J\u0085b \u202egnp.exe\u2066 \u2028 \u200d \u{e0041} \u007f é 🦀";
  const isHarmless = (text: string) => !/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

  test("and is the same value", async () => {
    const desk = await openDesk();
    const { out } = await desk.dibs(["add", attack, "--json"]);
    expect(isHarmless(out)).toBe(true);
    expect(out).toContain("\\u009b2J");
    expect(out).toContain("é 🦀");
    expect(JSON.parse(out).task.prompt).toBe(attack);
    const refused = await desk.dibs(["show", attack, "--json"]);
    expect(isHarmless(refused.out)).toBe(true);
    expect(JSON.parse(refused.out).success).toBe(false);
  });

  test("an export is raw where a program reads it only", async () => {
    const desk = await openDesk();
    await desk.says(["add", attack]);
    const piped = await desk.says(["export"]);
    const shown = await desk.says(["export"], { answers: [] });
    expect(isHarmless(piped)).toBe(false);
    expect(isHarmless(shown)).toBe(true);
    const values = (text: string) =>
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    expect(values(shown)).toEqual(values(piped));
  });
});

describe("claim --wait", () => {
  test("a word behind it is a duration, never an id", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One", "--id", "abc"]);
    await desk.says(["add", "Two"]);
    for (const word of ["abc", "0001", "5parsecs"]) {
      const { code, err } = await desk.dibs(["claim", "--wait", word], as);
      expect([code, err]).toEqual([2, expect.stringContaining(`--wait must be a duration, not '${word}'`)]);
    }
    expect((await desk.json(["in-flight"])).inFlight).toEqual([]);
    for (const argv of [
      ["abc", "--wait"],
      ["--wait", "1s"],
      ["--wait", "--start"],
    ]) {
      expect((await desk.dibs(["claim", ...argv], as)).code, argv.join(" ")).toBe(0);
    }
  });
});

describe("lock acquire", () => {
  test("a process that is gone cannot hold a lock, but what it held can be released", async () => {
    const desk = await deskWithStore();
    const child = spawn("true");
    const { pid } = child;
    await once(child, "exit");
    const { code, err } = await desk.dibs(["lock", "acquire", "x", "--pid", String(pid)]);
    expect([code, err]).toEqual([2, expect.stringContaining(`Process ${pid} not found`)]);
    expect(await desk.says(["lock", "status", "x"])).toBe("x is free\n");
    expect((await desk.dibs(["lock", "release", "x", "--pid", String(pid)])).code).toBe(0);
  });
});

describe.each(ways)("states that follow from others can be listed, %s", (way) => {
  async function filled(): Promise<Desk> {
    const desk = await openDesk(way);
    await desk.says(["add", "Free", "--id", "free"]);
    await desk.says(["add", "Waits", "--id", "waits", "-d", "free"]);
    await desk.says(["add", "Later", "--id", "later", "--not-before", "1h"]);
    await desk.says(["add", "Whole", "--id", "whole"]);
    await desk.says(["add", "Part", "--id", "part", "--parent", "whole"]);
    await desk.says(["add", "Group", "--id", "group", "--group"]);
    await desk.says(["add", "Silent", "--id", "silent"]);
    await desk.says(["claim", "silent", "--start"], as);
    await desk.says(["add", "Over", "--id", "over"]);
    await desk.says(["cancel", "over"]);
    return desk;
  }

  test("blocked, scheduled, ready and stale, alone and beside others", async () => {
    const desk = await filled();
    const listed = async (words: string) => idsOf(await desk.json(["list", "-s", words]));
    expect(await listed("blocked")).toEqual(["waits", "whole"]);
    expect(await listed("Scheduled")).toEqual(["later"]);
    expect(await listed("ready")).toEqual(["free", "part"]);
    expect(await listed("claimable")).toEqual(["free", "part"]);
    expect(await listed("stale")).toEqual([]);
    desk.clock.advance(6 * 60_000);
    expect(await listed("stale")).toEqual(["silent"]);
    expect(await listed("blocked,cancelled")).toEqual(["waits", "whole", "over"]);
    expect(await listed("blocked,pending")).toEqual(await listed("queued"));
    expect(await listed("to_execute")).toEqual(await listed("queued"));
    expect(await desk.says(["leader", "list", "-s", "blocked"])).toContain("Waits");
    expect((await desk.dibs(["list", "-s", "blocked,sideways"])).code).toBe(2);
  });

  test("page by page, each full and none twice", async () => {
    const desk = await openDesk(way);
    const plan = Array.from({ length: 12 }, (_, n) =>
      n % 3 === 0
        ? { key: `k${n}`, title: `Free ${n}` }
        : { key: `k${n}`, title: `Waits ${n}`, dependsOn: ["k0"] },
    );
    await desk.says(["plan", "-", "--yes"], { input: JSON.stringify(plan) });
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const more = cursor === "" ? [] : ["--cursor", cursor];
      const page = await desk.json(["list", "-s", "blocked", "--limit", "3", ...more]);
      sizes.push(page.tasks.length);
      seen.push(...idsOf(page));
      cursor = page.nextCursor;
    }
    expect(sizes.slice(0, 2)).toEqual([3, 3]);
    expect(seen).toHaveLength(8);
    expect(new Set(seen).size).toBe(8);
    expect((await desk.dibs(["list", "-s", "blocked", "--limit", "0"])).code).toBe(2);
  });
});

describe("files that are named", () => {
  test("a plan that is too large, a directory or a pipe is told at once", async () => {
    const desk = await openDesk();
    mkdirSync(at(desk, "folder"));
    execFileSync("mkfifo", [at(desk, "pipe")]);
    writeFileSync(at(desk, "large.md"), Buffer.alloc(16 * 1024 * 1024 + 1, 32));
    const said = async (...argv: string[]) => {
      const { code, err } = await desk.dibs(argv);
      return `${code} ${err}`;
    };
    expect(await said("plan", "large.md")).toMatch(/^2 .*large\.md is larger than .*PAYLOAD_TOO_LARGE/);
    expect(await said("plan", "folder")).toMatch(/^2 .*folder is a directory/);
    expect(await said("plan", "pipe")).toMatch(/^2 .*pipe is not a regular file.*standard input/s);
    expect(await said("plan", "none.md")).toMatch(/^3 .*File none\.md not found/);
    expect(await said("import", "folder")).toMatch(/^2 .*folder is a directory/);
    expect(await said("import", "pipe")).toMatch(/^2 .*pipe is not a regular file/);
    // What says that it is empty may have text all the same.
    expect(await said("plan", "/proc/self/status")).toMatch(/^2 .*\/proc\/self\/status/);
  });

  test("lines are read as they are, and none without a bound", async () => {
    const desk = await openDesk();
    const linesIn = async (text: string, max?: number) => {
      writeFileSync(at(desk, "lines"), text);
      const lines: string[] = [];
      for await (const line of linesOf(at(desk, "lines"), max)) lines.push(line);
      return lines;
    };
    const long = "é🦀".repeat(50_000);
    expect(await linesIn(`a\n\n${long}\r\nb\n${long}`)).toEqual(["a", long, "b", long]);
    expect(await linesIn("")).toEqual([]);
    await expect(linesIn(`a\n${"x".repeat(300_000)}`, 100_000)).rejects.toMatchObject({ code: "EFBIG" });
  });
});

describe("what tables say", () => {
  test("an attempt that goes on has not ended", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One"]);
    await desk.says(["claim", "--start"], as);
    expect(await desk.says(["attempts", "0001"])).toMatch(/agent-1 .* not yet\n/);
    desk.clock.advance(6 * 60_000);
    expect(await desk.says(["attempts", "0001"])).toContain("not yet, stale");
    await desk.says(["done", "0001", "ok"], as);
    expect(await desk.says(["attempts", "0001"])).toMatch(/completed +ok\n/);
  });

  test("the graph does not offer what is not due", async () => {
    const desk = await openDesk();
    await desk.says(["add", "Now"]);
    await desk.says(["add", "Later", "--not-before", "1h"]);
    expect(await desk.says(["graph"])).toMatch(/^-- {3}0001 {2}Now\n {5}0002 {2}Later\n/);
    desk.clock.advance(3_600_000);
    expect(await desk.says(["graph"])).toMatch(/^-- {3}0001 {2}Now\n-- {3}0002 {2}Later\n/);
  });

  test("a session's tasks are counted as done of all", async () => {
    const desk = await openDesk();
    for (const title of ["One", "Two", "Three"]) await desk.says(["add", title]);
    await desk.says(["claim", "0001", "--start"], as);
    await desk.says(["done", "0001"], as);
    await desk.says(["claim", "0002"], as);
    expect(await desk.says(["sessions"])).toMatch(/DONE.*\n.*1\/\d/);
  });
});

describe("import", () => {
  async function exported(): Promise<string> {
    const desk = await openDesk("embedded", "first");
    await desk.says(["add", "One"]);
    return desk.says(["export"]);
  }

  test("into a store that has just been made for another project, the refusal says what to type", async () => {
    const input = await exported();
    const desk = await openDesk("embedded", "second");
    writeFileSync(at(desk, "fleet.jsonl"), input);
    await desk.says(["init", "--yes"]);
    const { code, err } = await desk.dibs(["import", "fleet.jsonl"]);
    expect(code).toBe(1);
    const typed = /: (rm \S+) && dibs (import \S+)\./.exec(err)!;
    execFileSync("sh", ["-c", typed[1]!], { cwd: desk.directory });
    const again = await desk.dibs(typed[2]!.split(" "));
    expect(again.code).toBe(0);
    // The settings still name the project that is gone.
    expect(again.err).toContain("project second");
    expect(again.err).toContain("there is first");
    expect(idsOf(await desk.json(["list", "--project", "first"]))).toEqual(["0001"]);
    expect(await desk.says(["export"])).toBe(input);
  });

  test("into one for the same project it just works, and into one in use it does not", async () => {
    const input = await exported();
    const desk = await openDesk("embedded", "first");
    await desk.says(["init", "--yes"]);
    expect(await desk.dibs(["import", "-"], { input })).toMatchObject({ code: 0, err: "" });
    const { err } = await desk.dibs(["import", "-"], { input });
    expect(err).toContain("--db new.db");
    expect(err).not.toContain("rm ");
  });
});
