// Files that are broken, half written, or no files at all: told, kept, and never written over.

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually, openScene, type Scene, told } from "./support.js";

async function withTask(): Promise<Scene> {
  const scene = await openScene();
  await scene.create("One", { id: "task-1" });
  await scene.sync();
  return scene;
}

describe("a broken file", () => {
  test.each([
    ["half of it", (text: string) => text.slice(0, text.length / 2), /not JSON \(line \d+, column \d+\)/],
    ["nothing", () => "", /it is empty/],
    ["blanks", () => " \n", /it is empty/],
    ["a comma too much", (text: string) => text.replace(/\n\}\s*$/, ",\n}"), /a comment or a comma too much/],
    ["a number", () => "7", /neither tasks nor an object/],
    ["tasks that are none", () => '{"tasks": "soon"}', /neither a list nor an object/],
    ["a merge that was left open", (text: string) => `<<<<<<< ours\n${text}`, /not JSON \(line 1/],
  ])("%s is told, kept, and left alone until it is whole", async (_, broken, why) => {
    const scene = await withTask();
    const whole = scene.text;
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Changed" });
    scene.write(broken(whole));
    const before = scene.text;
    await expect(scene.sync()).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      message: expect.stringMatching(why),
    });
    expect(scene.text).toBe(before);
    scene.write(whole);
    expect(await scene.isClean()).toBe(true);
    expect(scene.entry("task-1").title).toBe("Changed");
  });

  test("bytes that are no text are not overwritten", async () => {
    const scene = await withTask();
    writeFileSync(scene.file, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]));
    await expect(scene.sync()).rejects.toMatchObject({ message: expect.stringContaining("not UTF-8") });
    expect(statSync(scene.file).size).toBe(4);
  });

  test("while it watches, it waits, tells once, and goes on when the file is whole", async () => {
    const scene = await withTask();
    const sync = await scene.start();
    const whole = scene.text;
    writeFileSync(scene.file, whole.slice(0, 40));
    await eventually(() => told(scene.news, "broken")).toHaveLength(1);
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Changed" });
    await scene.create("Two", { id: "task-2" });
    // It has heard of it, and still leaves the file alone.
    await eventually(() => scene.text).toBe(whole.slice(0, 40));
    writeFileSync(scene.file, whole);
    await eventually(() => scene.text.includes("task-2")).toBe(true);
    expect(scene.entry("task-1").title).toBe("Changed");
    expect(told(scene.news, "broken")).toHaveLength(1);
    expect(told(scene.news, "whole")).toHaveLength(1);
    await sync.stop();
  });

  test("one that is half written for a moment is not worth a word", async () => {
    const scene = await withTask();
    const sync = await scene.start({ timings: { settleMs: 60_000, pollMs: 20, debounceMs: 1 } });
    const next = scene.text.replace('"One"', '"Other"');
    writeFileSync(scene.file, next.slice(0, 60));
    // It is looking at the half by now: it holds the lock.
    await eventually(() => readdirSync(scene.directory).includes("tasks.json.lock")).toBe(true);
    writeFileSync(scene.file, next);
    await eventually(async () => (await scene.task("task-1")).title).toBe("Other");
    await sync.stop();
    expect(told(scene.news, "broken")).toEqual([]);
  });
});

describe("sizes and modes", () => {
  test("a file beyond the bound is told and left alone", async () => {
    const scene = await withTask();
    scene.edit((content) => content.tasks.push({ id: "big", title: "Big", mine: "x".repeat(5_000) }));
    await expect(scene.sync({ bytesMax: 4_000 })).rejects.toMatchObject({
      message: expect.stringContaining("and 4000 are the most"),
    });
    expect(scene.entries).toHaveLength(2);
  });

  test("a project that does not fit is told, and the file stays as it is", async () => {
    const scene = await withTask();
    const before = scene.text;
    await scene.create("x".repeat(5_000));
    await expect(scene.sync({ bytesMax: 4_000 })).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    expect(scene.text).toBe(before);
  });

  test("its mode is kept, and a new one is its owner's alone", async () => {
    const scene = await withTask();
    expect(statSync(scene.file).mode & 0o777).toBe(0o600);
    chmodSync(scene.file, 0o664);
    await scene.create("Two");
    await scene.sync();
    expect(statSync(scene.file).mode & 0o777).toBe(0o664);
    expect(readdirSync(scene.directory).sort()).toEqual([".tasks.json.dibs-base", "tasks.json"]);
  });
});

describe("what killed processes left behind", () => {
  test("is gone with the next start; what lives, and what is no draft of ours, stays", async () => {
    const scene = await withTask();
    const { pid: dead } = spawnSync(process.execPath, ["-e", "0"]);
    const live = `.tasks.json.dibs-${process.ppid}-01234567.tmp`;
    const others = [
      live,
      ".tasks.json.dibs-draft.tmp",
      "tasks.json.lock.old",
      ".other.json.dibs-1-01234567.tmp",
    ];
    const drafts = [".tasks.json.dibs-", ".tasks.json.dibs-sync.", "tasks.json.lock."].map(
      (name) => `${name}${dead}-0123abcd`,
    );
    for (const name of [...others, ...drafts, `.tasks.json.dibs-${dead}-0123abcd.tmp`]) {
      writeFileSync(join(scene.directory, name), "");
    }
    await scene.sync();
    const left = readdirSync(scene.directory).filter(
      (name) => name !== "tasks.json" && name !== ".tasks.json.dibs-base",
    );
    expect(left.sort()).toEqual(others.sort());
  });
});

describe("links and other things", () => {
  const refused = (scene: Scene, file: string) => scene.sync({ file });

  test("a link that leads out of its directory is not followed", async () => {
    const scene = await openScene();
    const inside = join(scene.directory, "inside");
    mkdirSync(inside);
    writeFileSync(join(scene.directory, "secret.json"), '{"tasks": []}');
    const link = join(inside, "tasks.json");
    for (const target of [
      "../secret.json",
      join(scene.directory, "secret.json"),
      "/dev/null",
      "nowhere",
      "..",
      ".",
    ]) {
      symlinkSync(target, link);
      await expect(refused(scene, link)).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
      rmSync(link);
    }
    expect(readdirSync(inside)).toEqual([]);
  });

  test("a link that stays in its directory is followed, and stays a link", async () => {
    const scene = await openScene();
    await scene.create("One");
    writeFileSync(join(scene.directory, "real.json"), "[]");
    symlinkSync("real.json", scene.file);
    await scene.sync();
    expect(
      readdirSync(scene.directory, { withFileTypes: true })
        .find(({ name }) => name === "tasks.json")!
        .isSymbolicLink(),
    ).toBe(true);
    expect(scene.entries).toHaveLength(1);
    expect(statSync(join(scene.directory, "real.json")).size).toBeGreaterThan(10);
  });

  test("a file that becomes a link is left alone, and so is where it leads", async () => {
    const scene = await withTask();
    const elsewhere = join(scene.directory, "elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "secret.json"), '{"tasks": [{"id": "stolen", "title": "x"}]}');
    const sync = await scene.start();
    rmSync(scene.file);
    symlinkSync("elsewhere/secret.json", scene.file);
    await eventually(() => told(scene.news, "broken")).toMatchObject([
      { message: expect.stringContaining("it is a link") },
    ]);
    await sync.stop();
    expect(readdirSync(elsewhere)).toEqual(["secret.json"]);
    await expect(scene.task("stolen")).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });

  test("directories, pipes and devices are refused at once", async () => {
    const scene = await openScene();
    const pipe = join(scene.directory, "pipe.json");
    execFileSync("mkfifo", [pipe]);
    for (const file of [scene.directory, pipe, "/dev/null", `${scene.file}\u0000.json`]) {
      await expect(refused(scene, file)).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    }
    await expect(refused(scene, join(scene.directory, "nowhere", "tasks.json"))).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  test("links under our own names are replaced, not written through", async () => {
    const scene = await openScene();
    await scene.create("One");
    const target = join(scene.directory, "target");
    writeFileSync(target, "precious");
    for (const name of [".tasks.json.dibs-base", ".tasks.json.dibs-base.next"]) {
      symlinkSync(target, join(scene.directory, name));
    }
    await scene.sync();
    symlinkSync(target, `${scene.file}.conflicts`);
    scene.editEntry("0001", { status: "nonsense" });
    await expect(scene.sync()).rejects.toMatchObject({ code: "ELOOP" });
    execFileSync("rm", [`${scene.file}.conflicts`]);
    expect(told(await scene.sync(), "refused")).toHaveLength(1);
    expect(execFileSync("cat", [target], { encoding: "utf8" })).toBe("precious");
  });

  test("a base that somebody else put there is no base", async () => {
    const scene = await withTask();
    const base = join(scene.directory, ".tasks.json.dibs-base");
    for (const text of ["", "{}", "[[", '{"version": 1, "tasks": [["task-1", {}]]}', "x".repeat(100_000)]) {
      writeFileSync(base, text);
      expect(await scene.isClean()).toBe(true);
    }
    expect(await scene.task("task-1")).toMatchObject({ title: "One", state: "queued" });
  });
});
