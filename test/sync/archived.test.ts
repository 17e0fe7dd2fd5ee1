import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { archiveFinished } from "../archive.js";
import { tempDir } from "../support.js";
import { eventually, Scene, told } from "./support.js";

interface Kept extends Scene {
  archive(): Promise<number>;
}

/** Two tasks of the file: one is done, the other open. */
async function openKept(): Promise<Kept> {
  const directory = tempDir();
  const path = join(directory, "dibs.db");
  const clock = new TestClock();
  const dibs = await openDibs({ path, project: "demo", clock });
  onTestFinished(async () => {
    await dibs.close();
  });
  const scene = new Scene(directory, dibs, clock, {});
  await scene.create("Old", { id: "old" });
  await scene.create("Open", { id: "open" });
  const { epoch } = await scene.claim("old", "agent-1");
  await dibs.tasks.complete({ taskId: "old", sessionId: "agent-1", epoch, result: "done" });
  await scene.sync();
  clock.advance(60_000);
  return Object.assign(scene, { archive: () => archiveFinished(path, clock) });
}

const ids = (scene: Scene) => scene.entries.map(({ id }) => id);

test("a task that was archived while nobody looked is out of the file at the next exchange", async () => {
  const scene = await openKept();
  expect(ids(scene)).toEqual(["old", "open"]);
  expect(await scene.archive()).toBe(1);
  const news = await scene.sync();
  expect(ids(scene)).toEqual(["open"]);
  expect(news.map(({ what }) => what)).toEqual(["wrote"]);
  expect(await scene.sync()).toEqual([]);
  expect((await scene.dibs.tasks.list({})).tasks.map(({ id }) => id)).toEqual(["open"]);
});

test("while the sync runs it goes soon, and the rest is kept in step", async () => {
  const scene = await openKept();
  await scene.start();
  scene.news.length = 0;
  expect(await scene.archive()).toBe(1);
  await eventually(() => ids(scene)).toEqual(["open"]);
  scene.editEntry("open", { title: "Still open" });
  await eventually(async () => (await scene.task("open")).title).toBe("Still open");
  expect(told(scene.news, "trouble")).toEqual([]);
  expect(told(scene.news, "removed")).toEqual([]);
});

test("an old copy of the file does not bring it back, and what it said is recorded", async () => {
  const scene = await openKept();
  const copy = scene.text;
  await scene.archive();
  await scene.sync();
  scene.write(copy);
  const news = await scene.sync();
  expect(told(news, "refused")).toMatchObject([{ taskId: "old", code: "ID_TAKEN" }]);
  expect(ids(scene)).toEqual(["open"]);
  expect(await scene.sync()).toEqual([]);
});

test("an edit of it that comes too late is recorded", async () => {
  const scene = await openKept();
  await scene.archive();
  scene.editEntry("old", { title: "Older" });
  expect(told(await scene.sync(), "refused")).toMatchObject([{ taskId: "old", file: { title: "Older" } }]);
  expect(ids(scene)).toEqual(["open"]);
});

test("whoever removed it from the file is not told that it was written back", async () => {
  const scene = await openKept();
  await scene.archive();
  scene.edit((content) => {
    content.tasks = content.tasks.filter(({ id }) => id !== "old");
  });
  expect(told(await scene.sync(), "removed")).toEqual([]);
  expect(ids(scene)).toEqual(["open"]);
});
