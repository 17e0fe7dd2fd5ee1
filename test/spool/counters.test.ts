import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { numberOf, textOf } from "../../src/bridges/spool/names.js";
import { bounds } from "../../src/bridges/spool/options.js";
import { topLevelId, topLevelIdsMax } from "../../src/core/ids.js";
import { limits } from "../../src/core/limits.js";
import { openRig, type Rig, Sleeper, tempDir } from "./support.js";

const counter = (rig: Rig, name = "global") => join(rig.directory, "ai_comms/counters", `${name}.NextId`);
const next = (rig: Rig, name = "global") => readFileSync(counter(rig, name), "utf8").trim();

async function write(rig: Rig, text: string, name = "global"): Promise<void> {
  mkdirSync(join(rig.directory, "ai_comms/counters"), { recursive: true });
  writeFileSync(counter(rig, name), `${text}\n`);
}

test("numbers become ids, and ids numbers, at every change of form", () => {
  const steps = {
    1: "0001",
    9999: "9999",
    10000: "A000",
    35999: "Z999",
    36000: "AA00",
    103599: "ZZ99",
    103600: "AAA0",
    279359: "ZZZ9",
    279360: "AAAA",
    736335: "ZZZZ",
  };
  for (const [number, text] of Object.entries(steps)) {
    expect(textOf(Number(number))).toBe(text);
    expect(numberOf(text)).toBe(Number(number));
  }
  expect(textOf(736_336)).toBeNull();
});

test("ids and bounds are the store's own", () => {
  for (let number = 1; number <= topLevelIdsMax; number += 997) {
    expect(textOf(number)).toBe(topLevelId(number));
    expect(numberOf(topLevelId(number)!)).toBe(number);
  }
  const { promptBytesMax, resultBytesMax, errorLengthMax } = bounds;
  expect(limits).toMatchObject({
    promptBytesMax,
    resultBytesMax,
    errorLengthMax,
    capacityMax: bounds.heldMax,
  });
});

describe("the counter of the top level", () => {
  test("begins with the first id, or after the last task", async () => {
    const rig = await openRig();
    await (await rig.proxy()).poll();
    expect(next(rig)).toBe("0001");
    const other = await openRig();
    await other.add(...Array.from({ length: 37 }, (_, n) => `task ${n}`));
    await (await other.proxy()).poll();
    expect(next(other)).toBe("0038");
  });

  test("some scripts begin with 0000, which is no id", async () => {
    const rig = await openRig();
    await write(rig, "0000");
    await (await rig.proxy()).poll();
    expect(next(rig)).toBe("0001");
  });

  test("an id that a script has taken is nobody else's, however long its file takes to come", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await spool.poll();
    await write(rig, "0002");
    await spool.poll();
    expect(await rig.add("by a person")).toEqual(["0002"]);
    rig.write("to_execute/0001/0001.md", "by a script");
    await rig.settle(spool);
    expect((await rig.task("0001")).prompt).toBe("by a script");
    expect(rig.ls("to_execute")).toEqual(["0001", "0002"]);
    expect(next(rig)).toBe("0003");
  });

  test("follows what the store gives", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await spool.poll();
    await rig.add("one", "two");
    const again = await rig.afterKill();
    await again.poll();
    expect(next(rig)).toBe("0003");
  });

  test("a script's id becomes the id of the file that it drops", async () => {
    const rig = await openRig();
    await rig.add("one");
    const spool = await rig.proxy();
    await spool.poll();
    expect(next(rig)).toBe("0002");
    await write(rig, "0003");
    rig.write("to_execute/0002/0002.md", "from a script");
    await rig.settle(spool);
    expect(rig.told("created")).toMatchObject([{ taskId: "0002", name: "0002" }]);
    expect(next(rig)).toBe("0003");
    expect(await rig.add("three")).toEqual(["0003"]);
  });

  test("ids that scripts have taken and not used are not given by the store", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await spool.poll();
    await write(rig, "0008");
    await spool.poll();
    rig.clock.advance(11_000);
    await spool.poll();
    expect(await rig.add("next")).toEqual(["0008"]);
    const again = await rig.afterKill();
    await again.poll();
    expect(next(rig)).toBe("0009");
    // Nothing is used up by starting again and again.
    for (let start = 0; start < 3; start++) await (await rig.afterKill()).poll();
    rig.clock.advance(11_000);
    await (await rig.afterKill()).poll();
    expect(await rig.add("one more")).toEqual(["0009"]);
  });

  test("is waited for while a process that lives holds it, and taken back from a dead one", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await spool.poll();
    const script = new Sleeper();
    const claimed = `${counter(rig)}.claimed.${script.pid}`;
    writeFileSync(claimed, "0005\n");
    rmSync(counter(rig));
    await spool.poll();
    expect(existsSync(counter(rig))).toBe(false);
    await script.kill();
    await spool.poll();
    expect(next(rig)).toBe("0005");
    expect(existsSync(claimed)).toBe(false);
  });

  test("is not followed into absurdity, nor where it makes no sense", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await spool.poll();
    await write(rig, "ZZZ0");
    await spool.poll();
    rig.clock.advance(11_000);
    await spool.poll();
    expect(await rig.add("one")).toEqual(["0001"]);
    await write(rig, "../../etc");
    await spool.poll();
    expect(rig.told("refused").map(({ reason }) => reason)).toEqual([
      expect.stringContaining("ahead of the store"),
      expect.stringContaining("no next id"),
    ]);
  });
});

test("a task's own counter is in step with its children", async () => {
  const rig = await openRig();
  await rig.add("an orchestration");
  await rig.dibs.tasks.create({ prompt: "a part", parentId: "0001" });
  await write(rig, "0001", "0001");
  await write(rig, "1", "0001_t1");
  await write(rig, "1", "nobody");
  const spool = await rig.proxy();
  await spool.poll();
  expect(next(rig, "0001")).toBe("0002");
  expect(next(rig, "0001_t1")).toBe("1");
  await write(rig, "0004", "0001");
  await spool.poll();
  rig.clock.advance(11_000);
  await spool.poll();
  const { task } = await rig.dibs.tasks.create({ prompt: "a part", parentId: "0001" });
  expect(task.id).toBe("0001_t4");
  expect(next(rig, "nobody")).toBe("1");
});

test("the safe way to take an id, as docs/guides/spool.md tells it: 8 processes at once, none twice", async () => {
  const count = 25;
  const root = tempDir();
  mkdirSync(join(root, "ai_comms/counters"), { recursive: true });
  writeFileSync(join(root, "ai_comms/counters/global.NextId"), "9950\n");
  const text = readFileSync(resolve(import.meta.dirname, "../../docs/guides/spool.md"), "utf8");
  const [, functions = ""] = /<!-- example: spool ids -->\n```bash\n([\s\S]*?)```/.exec(text) ?? [];
  expect(functions).toContain("claim_next_id()");
  const script = `${functions}\nfor n in {1..${count}}; do claim_next_id; done`;
  const runs = Array.from({ length: 8 }, async () => {
    const child = spawn("bash", ["-c", script], {
      env: { ...process.env, AI_ROOT: root },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      out += chunk;
    });
    await once(child, "close");
    return out.split("\n").filter(Boolean);
  });
  const ids = (await Promise.all(runs)).flat();
  const wanted = Array.from({ length: 8 * count }, (_, n) => textOf(9_950 + n));
  expect(ids.sort()).toEqual(wanted.sort());
  expect(readdirSync(join(root, "ai_comms/counters"))).toEqual(["global.NextId"]);
});
