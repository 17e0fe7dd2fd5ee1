import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Spool } from "../../src/bridges/spool/index.js";
import { machine, openRig, type Rig } from "./support.js";

const secret = "the secret of somebody else\n";

/** A rig with a file outside of the spool. */
async function openHostile() {
  const rig = await openRig();
  const outside = join(rig.directory, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.md"), secret);
  const spool = await rig.proxy();
  return { rig, spool, outside };
}

async function prompts(rig: Rig): Promise<string[]> {
  return (await rig.dibs.tasks.list()).tasks.map(({ prompt }) => prompt);
}

type Make = (rig: Rig, outside: string) => void;

/** What lies in to_execute, which path is told of, and why. */
const drops: Record<string, [make: Make, path: string, why: RegExp]> = {
  "a symbolic link to a file outside": [
    (rig, outside) => {
      mkdirSync(rig.path("to_execute/x"));
      symlinkSync(join(outside, "secret.md"), rig.path("to_execute/x/x.md"));
    },
    "to_execute/x/x.md",
    /symbolic link/,
  ],
  "a symbolic link to a directory outside": [
    (rig, outside) => symlinkSync(outside, rig.path("to_execute/secret")),
    "to_execute/secret",
    /symbolic link/,
  ],
  "a link to itself": [
    (rig) => symlinkSync("loop.md", rig.path("to_execute/loop.md")),
    "to_execute/loop.md",
    /symbolic link/,
  ],
  "a hard link to a file outside": [
    (rig, outside) => {
      mkdirSync(rig.path("to_execute/x"));
      linkSync(join(outside, "secret.md"), rig.path("to_execute/x/x.md"));
    },
    "to_execute/x/x.md",
    /hard link/,
  ],
  "a pipe": [
    (rig) => {
      mkdirSync(rig.path("to_execute/x"));
      execFileSync("mkfifo", [rig.path("to_execute/x/x.md")]);
    },
    "to_execute/x/x.md",
    /not a regular file/,
  ],
  "a directory where a file should be": [
    (rig) => mkdirSync(rig.path("to_execute/x/x.md"), { recursive: true }),
    "to_execute/x/x.md",
    /directory/,
  ],
  "a huge file": [
    (rig) => rig.write("to_execute/x/x.md", "x".repeat(256 * 1024 + 1)),
    "to_execute/x/x.md",
    /262145 bytes/,
  ],
  "bytes that are no text": [
    (rig) => rig.write("to_execute/x/x.md", Buffer.from([0x41, 0xff, 0xfe, 0x42])),
    "to_execute/x/x.md",
    /UTF-8/,
  ],
  "text with NUL": [(rig) => rig.write("to_execute/x/x.md", "a\0b"), "to_execute/x/x.md", /NUL/],
  "a name that leads elsewhere": [
    (rig) => rig.write("to_execute/a..b/a..b.md", "x"),
    "to_execute/a..b",
    /cannot be a task's id/,
  ],
  "a name with an escape sequence": [
    (rig) => rig.write("to_execute/\u001b[2Jx.md", "x"),
    "to_execute/\u001b[2Jx.md",
    /cannot be a task's id/,
  ],
  "a name with a line break": [
    (rig) => rig.write("to_execute/a\nb/a\nb.md", "x"),
    "to_execute/a\nb",
    /cannot be a task's id/,
  ],
  "a name that looks like a flag": [
    (rig) => rig.write("to_execute/-rf/-rf.md", "x"),
    "to_execute/-rf",
    /cannot be a task's id/,
  ],
  "a name that is too long": [
    (rig) => rig.write(`to_execute/${"n".repeat(200)}/x.md`, "x"),
    `to_execute/${"n".repeat(200)}`,
    /cannot be a task's id/,
  ],
  "a file of another kind": [
    (rig) => rig.write("to_execute/run.sh", "rm -rf /"),
    "to_execute/run.sh",
    /\.md/,
  ],
};

describe("what is dropped and cannot be a task is told of once, kept, and never followed", () => {
  test.each(Object.entries(drops))("%s", async (_, [make, path, why]) => {
    const { rig, spool, outside } = await openHostile();
    make(rig, outside);
    for (let poll = 0; poll < 3; poll++) await rig.settle(spool);
    expect(rig.events).toEqual([{ type: "refused", path, reason: expect.stringMatching(why) }]);
    expect(await prompts(rig)).toEqual([]);
    expect(readdirSync(outside)).toEqual(["secret.md"]);
    // It does its work beside it.
    rig.write("to_execute/fine/fine.md", "fine");
    await rig.settle(spool);
    expect(await prompts(rig)).toEqual(["fine"]);
  });
});

describe("what workers leave beside their task", () => {
  async function running() {
    const hostile = await openHostile();
    await hostile.rig.add("one");
    await hostile.spool.poll();
    hostile.rig.take("0001");
    await hostile.spool.poll();
    return hostile;
  }

  test.each(["result.md", "error.md"])("is not read through a link: %s", async (file) => {
    const { rig, spool, outside } = await running();
    symlinkSync(join(outside, "secret.md"), rig.path("in_progress/0001", file));
    await rig.settle(spool);
    expect(rig.told("refused")).toMatchObject([{ path: `in_progress/0001/${file}` }]);
    rig.mv("in_progress/0001", "completed/0001");
    await spool.poll();
    const task = await rig.task("0001");
    expect(task.state).toBe("completed");
    expect(JSON.stringify(task)).not.toContain("secret of somebody");
  });

  test("is named where it is too long to be kept", async () => {
    const { rig, spool } = await running();
    rig.write("completed/0001/result.md", "x".repeat(1024 * 1024 + 1));
    rig.mv(`in_progress/0001/0001.${process.pid}.md`, "completed/0001/0001.md");
    await spool.poll();
    const { state, result } = await rig.task("0001");
    expect(state).toBe("completed");
    expect(result?.output).toMatch(/^The result is in completed\/0001\/result\.md/);
  });

  test("a process id that is none is nobody's", async () => {
    const { rig, spool } = await openHostile();
    await rig.add("one", "two", "three");
    await spool.poll();
    for (const [name, pid] of [
      ["0001", "0"],
      ["0002", "99999999999999999999"],
      ["0003", "4294967297"],
    ]) {
      rig.mv(`to_execute/${name}`, `in_progress/${name}`);
      rig.mv(`in_progress/${name}/${name}.md`, `in_progress/${name}/${name}.${pid}.md`);
    }
    await spool.poll();
    expect(rig.told("taken").map(({ pid }) => pid)).toEqual([null, null, null]);
    expect(rig.told("stale")).toEqual([]);
  });

  test("a task file that became a link while it was worked on does not come back", async () => {
    const { rig, spool, outside } = await running();
    const file = rig.path(`in_progress/0001/0001.${process.pid}.md`);
    rmSync(file);
    symlinkSync(join(outside, "secret.md"), file);
    await spool.poll();
    rig.clock.advance(3_000);
    await spool.poll();
    expect(rig.told("stale")).toHaveLength(1);
    expect(readFileSync(join(outside, "secret.md"), "utf8")).toBe(secret);
  });
});

describe("the directories themselves", () => {
  test.each(["to_execute", "in_progress", "completed", "stale"])("%s may not be a link", async (stage) => {
    const rig = await openRig();
    const outside = join(rig.directory, "outside");
    mkdirSync(outside);
    mkdirSync(rig.path(), { recursive: true });
    symlinkSync(outside, rig.path(stage));
    await expect(rig.proxy()).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(readdirSync(outside)).toEqual([]);
  });

  test("and may not become one", async () => {
    const { rig, spool, outside } = await openHostile();
    await spool.poll();
    rmdirSync(rig.path("to_execute"));
    symlinkSync(outside, rig.path("to_execute"));
    await rig.add("one");
    await expect(spool.poll()).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(readdirSync(outside)).toEqual(["secret.md"]);
  });

  test.each(["..", "a/b", "../x", "", ".hidden", "locks", "counters", "x".repeat(65), "a\nb"])(
    "%j cannot be an agent",
    async (agent) => {
      const rig = await openRig();
      const options = {
        dibs: rig.dibs,
        directory: join(rig.directory, "ai_comms"),
        machine,
        onEvent: () => {},
      };
      expect(() => new Spool({ ...options, agent })).toThrow(
        expect.objectContaining({ code: "VALIDATION_FAILED" }),
      );
      expect(existsSync(join(rig.directory, "ai_comms"))).toBe(false);
    },
  );

  test("a lock file that is a link is not followed", async () => {
    const rig = await openRig();
    const target = join(rig.directory, "target");
    writeFileSync(target, "mine");
    mkdirSync(join(rig.directory, "ai_comms/locks"), { recursive: true });
    symlinkSync(target, join(rig.directory, "ai_comms/locks/claude.lock"));
    await expect(rig.proxy()).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(readFileSync(target, "utf8")).toBe("mine");
  });

  test("records that are broken are told of; what they were about is found in the store", async () => {
    const { rig, spool } = await openHostile();
    await rig.add("one", "two");
    await spool.poll();
    rig.take("0001");
    await spool.poll();
    for (const name of ["0001", "0002"]) rig.write(`../.spool/held/${name}.json`, "{ broken");
    const next = await rig.afterKill();
    await next.poll();
    expect(rig.told("refused")).toHaveLength(2);
    rig.mv(`in_progress/0001/0001.${process.pid}.md`, "completed/0001/0001.md");
    await rig.settle(next);
    const { tasks } = await rig.dibs.tasks.list();
    expect(tasks).toHaveLength(2);
    expect(tasks.every(({ lostCount }) => lostCount === 0)).toBe(true);
  });
});
