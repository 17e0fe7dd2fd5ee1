// Setting up, looking after, and moving a store.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/compose.js";
import { hostId, processStart } from "../../src/runtime/liveness.js";
import { withBlock, withoutBlock } from "../../src/surfaces/cli/agents-md.js";
import { deskWithStore, openDesk } from "./desk.js";

const at = (desk: { directory: string }, name: string) => join(desk.directory, name);

test("doctor names a row that cannot be read, and exits with 1", async () => {
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  await desk.says(["add", "Two"]);
  const db = new DatabaseSync(desk.database);
  db.exec(`UPDATE task SET more = '{"torn' WHERE id = '0001'`);
  db.close();
  const { code, out } = await desk.dibs(["doctor"]);
  expect(out).toMatch(/problem +database +Row shop\/0001 of table task is unreadable\./);
  expect(code).toBe(1);
  expect((await desk.json(["claim", "--session", "a"])).task.id).toBe("0002");
  expect((await desk.dibs(["show", "0001"])).err).toMatch(/Row shop\/0001 of table task is unreadable/);
});

describe("init", () => {
  test("makes what is missing, and nothing twice", async () => {
    const desk = await openDesk();
    await desk.says(["init", "--yes", "--project", "shoes"]);
    const before = ["AGENTS.md", ".dibs/config.json", ".dibs/.gitignore"].map((name) => desk.read(name));
    expect(JSON.parse(before[1]!)).toEqual({ project: "shoes" });
    expect(before[2]!.split("\n")).toContain("*");
    await desk.says(["init", "--yes"]);
    expect(["AGENTS.md", ".dibs/config.json", ".dibs/.gitignore"].map((name) => desk.read(name))).toEqual(
      before,
    );
    expect((await desk.json(["add", "One"])).task.project).toBe("shoes");
  });

  test("teaches the six commands", async () => {
    const desk = await openDesk();
    await desk.says(["init", "--agents-md"]);
    for (const word of ["claim --start --wait", "progress", "ask", "done", "fail", "add"]) {
      expect(desk.read("AGENTS.md")).toContain(`dibs ${word}`);
    }
  });

  test("keeps what others wrote in AGENTS.md, brings its own block up to date and takes it out again", async () => {
    const desk = await openDesk();
    writeFileSync(at(desk, "AGENTS.md"), "# Rules\n\nBe kind.\n");
    await desk.says(["init", "--agents-md"]);
    expect(desk.read("AGENTS.md")).toMatch(/^# Rules\n\nBe kind\.\n\n<!-- dibs:begin -->/);
    const old = `# Rules\n\n<!-- dibs:begin -->\nold words\n<!-- dibs:end -->\n\nBe kind.\n`;
    writeFileSync(at(desk, "AGENTS.md"), old);
    await desk.says(["init", "--agents-md"]);
    expect(desk.read("AGENTS.md")).not.toContain("old words");
    expect(desk.read("AGENTS.md")).toMatch(/<!-- dibs:end -->\n\nBe kind\.\n$/);
    await desk.says(["init", "--remove"]);
    expect(desk.read("AGENTS.md")).toBe("# Rules\n\nBe kind.\n");
    expect(await desk.says(["init", "--remove"])).toContain("no block of dibs in it");
  });

  test("writes through a link, and removes a file that held nothing else", async () => {
    const desk = await openDesk();
    writeFileSync(at(desk, "CLAUDE.md"), "# Rules\n");
    symlinkSync("CLAUDE.md", at(desk, "AGENTS.md"));
    await desk.says(["init", "--agents-md"]);
    expect(desk.read("CLAUDE.md")).toContain("dibs:begin");
    const other = await openDesk();
    await other.says(["init", "--agents-md"]);
    await other.says(["init", "--remove"]);
    expect(existsSync(at(other, "AGENTS.md"))).toBe(false);
  });

  test("a link that leads out of the repository is not followed", async () => {
    const desk = await openDesk();
    const outside = join(desk.directory, "../outside.md");
    writeFileSync(outside, "mine\n");
    symlinkSync(outside, at(desk, "AGENTS.md"));
    expect((await desk.dibs(["init", "--agents-md"])).code).toBe(4);
    expect((await desk.dibs(["init", "--remove"])).code).toBe(4);
    expect(readFileSync(outside, "utf8")).toBe("mine\n");
  });

  test("one that leads nowhere is told in a line", async () => {
    const desk = await openDesk();
    symlinkSync("nowhere.md", at(desk, "AGENTS.md"));
    const { code, err } = await desk.dibs(["init", "--agents-md"]);
    expect([code, err.split("\n").length]).toEqual([6, 2]);
  });

  test("torn markers are left alone", async () => {
    const desk = await openDesk();
    const torn = "# Rules\n<!-- dibs:end -->\nBe kind.\n<!-- dibs:begin -->\n";
    writeFileSync(at(desk, "AGENTS.md"), torn);
    expect((await desk.dibs(["init", "--agents-md"])).code).toBe(1);
    expect(desk.read("AGENTS.md")).toBe(torn);
  });

  test("line ends of Windows stay", () => {
    const text = withBlock("# Rules\r\n");
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
    expect(withoutBlock(text)).toBe("# Rules\r\n");
    expect(withBlock(text)).toBe(text);
  });

  test("asks at a terminal, and nowhere else: there it adds to AGENTS.md unless it is told not to", async () => {
    const desk = await openDesk();
    await desk.says(["init", "--no-agents"]);
    await desk.says(["init", "--no-agents", "--yes"]);
    expect((await desk.dibs(["init", "--no-agents", "--agents-md"])).code).toBe(2);
    expect(desk.asked).toEqual([]);
    expect(existsSync(at(desk, "AGENTS.md"))).toBe(false);
    writeFileSync(at(desk, "AGENTS.md"), "# Rules\n");
    await desk.says(["init"]);
    expect(desk.read("AGENTS.md")).toMatch(/^# Rules\n\n<!-- dibs:begin -->/);
    await desk.says(["init", "--remove"]);
    expect(desk.read("AGENTS.md")).toBe("# Rules\n");
    rmSync(at(desk, "AGENTS.md"));
    await desk.says(["init"], { answers: ["n"] });
    expect(desk.asked).toHaveLength(1);
    expect(existsSync(at(desk, "AGENTS.md"))).toBe(false);
    await desk.says(["init"], { answers: [""] });
    expect(existsSync(at(desk, "AGENTS.md"))).toBe(true);
  });

  test("does not write over a config that is there", async () => {
    const desk = await openDesk();
    mkdirSync(at(desk, ".dibs"));
    writeFileSync(at(desk, ".dibs/config.json"), '{"concurrency": 3}');
    await desk.says(["init", "--yes"]);
    expect(desk.read(".dibs/config.json")).toBe('{"concurrency": 3}');
  });

  test("from a sub-directory it sets up the repository", async () => {
    const desk = await openDesk();
    mkdirSync(at(desk, "src/deep"), { recursive: true });
    await desk.says(["init", "--yes"], { cwd: at(desk, "src/deep") });
    expect(existsSync(at(desk, ".dibs/dibs.db"))).toBe(true);
    expect(existsSync(at(desk, "AGENTS.md"))).toBe(true);
  });
});

describe("plan asks before it adds", () => {
  const plan = "- [ ] One\n- [ ] Two\n";

  test.each([
    ["y", 2],
    ["n", 0],
    ["", 0],
  ])("at a terminal: %s", async (answer, count) => {
    const desk = await deskWithStore();
    writeFileSync(at(desk, "plan.md"), plan);
    await desk.says(["plan", "plan.md"], { answers: [answer] });
    expect(desk.asked).toEqual(["Add these 2 tasks? [y/N] "]);
    expect((await desk.json(["list"])).tasks).toHaveLength(count);
  });

  test("without one it shows and says how to go on", async () => {
    const desk = await deskWithStore();
    const out = await desk.says(["plan", "-"], { input: plan });
    expect(out).toContain("dibs plan - --yes");
    expect(desk.asked).toEqual([]);
    expect((await desk.json(["list"])).tasks).toEqual([]);
  });
});

describe("doctor", () => {
  test("makes nothing where there is nothing", async () => {
    const desk = await openDesk();
    expect(await desk.says(["doctor"])).toMatch(/database +not found/);
    expect(existsSync(at(desk, ".dibs"))).toBe(false);
  });

  test("finds a token that others can read, and mends it", async () => {
    const desk = await openDesk("server");
    const token = `${desk.database}.token`;
    chmodSync(token, 0o644);
    const { code, out } = await desk.dibs(["doctor"]);
    expect(code).toBe(1);
    expect(out).toMatch(/problem +token file +others can read it/);
    expect((await desk.dibs(["doctor", "--fix"])).out).toMatch(/fixed +token file/);
    expect(statSync(token).mode & 0o777).toBe(0o600);
    expect((await desk.dibs(["doctor"])).code).toBe(0);
  });

  test("finds a server file of a server that is gone, and removes it", async () => {
    const desk = await openDesk("server");
    const file = `${desk.database}.server.json`;
    const stale = { ...JSON.parse(readFileSync(file, "utf8")), pid: 2 ** 22 + 1 };
    writeFileSync(file, JSON.stringify(stale), { mode: 0o600 });
    const { code, out } = await desk.dibs(["doctor"]);
    expect(code).toBe(0);
    expect(out).toMatch(/warn +server +the server file names a process that is gone/);
    await desk.says(["doctor", "--fix"]);
    expect(existsSync(file)).toBe(false);
  });

  test("what dead processes held is queued again by looking at it", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One"]);
    const agent = spawn("sleep", ["60"], { stdio: "ignore" });
    const process = { pid: agent.pid!, host: hostId, processStartedAt: processStart(agent.pid!)! };
    const dibs = await openDibs({ path: desk.database, clock: desk.clock, detached: true });
    await dibs.sessions.register({ id: "agent-1", ...process });
    await dibs.tasks.claim({ taskId: "0001", sessionId: "agent-1", start: true });
    await dibs.close();
    expect(await desk.says(["doctor"])).toMatch(/ok +claims +1 in flight/);
    const gone = once(agent, "exit");
    agent.kill("SIGKILL");
    await gone;
    expect(await desk.says(["doctor"])).toMatch(/warn +claims +1 in flight; no process runs for agent-1/);
    expect((await desk.json(["list"])).tasks[0].state).toBe("queued");
    expect(await desk.says(["doctor"])).toMatch(/ok +claims +0 in flight/);
  });

  test("tells a file that is no database", async () => {
    const desk = await openDesk();
    mkdirSync(at(desk, ".dibs"));
    writeFileSync(at(desk, ".dibs/dibs.db"), "nothing of the kind");
    const { code, out } = await desk.dibs(["doctor"]);
    expect(code).toBe(1);
    expect(out).toMatch(/problem +database/);
    expect(desk.read(".dibs/dibs.db")).toBe("nothing of the kind");
  });

  test("needs the version of Node.js that the package names", async () => {
    const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    const { factsOf } = await import("../../src/runtime/facts.js");
    expect(factsOf(null).node.needed).toBe(engines.node);
  });
});

describe("moving", () => {
  test("export, import, export: the same bytes", async () => {
    const desk = await openDesk();
    await desk.says(["plan", "-", "--yes"], { input: "- [ ] One\n- [ ] Two (depends on: One)\n" });
    const first = await desk.says(["export"]);
    await desk.says(["export", "out.jsonl"]);
    expect(desk.read("out.jsonl")).toBe(first);
    expect(statSync(at(desk, "out.jsonl")).mode & 0o777).toBe(0o600);
    await desk.says(["import", "out.jsonl", "--db", "copy.db"]);
    expect(await desk.says(["export", "--db", "copy.db"])).toBe(first);
    await desk.says(["import", "-", "--db", "other.db"], { input: first });
    expect(await desk.says(["export", "-", "--db", "other.db"])).toBe(first);
  });

  test("nothing is written over, and nothing is mixed", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One"]);
    await desk.says(["export", "out.jsonl"]);
    expect((await desk.dibs(["export", "out.jsonl"])).code).toBe(1);
    const nowhere = await desk.dibs(["export", "nowhere/out.jsonl"]);
    expect(nowhere).toMatchObject({
      code: 3,
      err: expect.stringContaining("No directory for nowhere/out.jsonl"),
    });
    await desk.says(["backup", "copy.db"]);
    expect((await desk.dibs(["backup", "copy.db"])).code).toBe(1);
    expect((await desk.dibs(["import", "out.jsonl"])).code).not.toBe(0);
    expect((await desk.json(["list", "--db", "copy.db"])).tasks).toHaveLength(1);
  });

  test("a server cannot be exported from afar", async () => {
    const desk = await openDesk();
    const { code, err } = await desk.dibs(["export", "--url", "http://127.0.0.1:1"]);
    expect(code).toBe(2);
    expect(err).toContain("needs the database, not a server");
  });
});
