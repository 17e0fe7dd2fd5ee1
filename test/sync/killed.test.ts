// The built program, killed in the middle of its writes, again and again: the file is always whole, nothing is lost, and what was left
// lying about is gone with the next start.

import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { open, randomFrom, tempDir, until } from "../faults/support.js";
import { Program, run } from "../http/program.js";
import type { Entry } from "./support.js";

const rounds = process.env.DIBS_LONG ? 40 : 4;

test("kill -9 of the sync while both sides change", { timeout: 240_000 + rounds * 20_000 }, async () => {
  const directory = tempDir();
  const db = join(directory, "dibs.db");
  const file = join(directory, "tasks.json");
  const random = randomFrom(20_260_101);
  const dibs = await open({ path: db, project: "demo" });
  await dibs.tasks.batch({ tasks: Array.from({ length: 300 }, (_, at) => ({ prompt: `Task ${at}` })) });
  const read = () => JSON.parse(readFileSync(file, "utf8")) as { tasks: Entry[] };
  const titles = new Map<string, string>();
  let added = 0;
  let edited = 0;

  for (let round = 0; round < rounds; round++) {
    const program = new Program(["sync", file, "--db", db]);
    // Some are killed while they start, most while they write.
    const isRunning = () => existsSync(file) && (round % 4 === 3 || program.stderr.includes("Syncing"));
    await until("it runs", () => {
      if (program.isOver) throw new Error(program.stderr);
      return isRunning();
    });
    const killing = sleep(50 + random() * 400).then(() => program.kill());
    while (!program.isOver) {
      const taskId = String(1 + Math.floor(random() * 150)).padStart(4, "0");
      titles.set(taskId, `In the store ${round} ${random()}`);
      await dibs.tasks.update({ taskId, title: titles.get(taskId)! });
      if (random() < 0.3) {
        const content = read();
        // Each in its turn: of a sync that was killed after it told the store, another edit of the same entry is recorded as a conflict.
        const entry = content.tasks[150 + (edited++ % 150)]!;
        entry.title = `In the file ${round} ${random()}`;
        titles.set(entry.id, entry.title);
        content.tasks.push({ title: `Added ${++added}` });
        writeFileSync(`${file}.new`, JSON.stringify(content, null, 2));
        renameSync(`${file}.new`, file);
        // Until it is read: the next save of this impatient editor would overwrite what nobody has seen yet.
        await until(
          "the edit was seen",
          () => read().tasks.every(({ id }) => id !== undefined) || program.isOver,
        );
      }
      await sleep(5);
    }
    await killing;
    expect(read().tasks.length).toBeGreaterThanOrEqual(300);
  }

  const last = await run(["sync", file, "--db", db, "--once", "--json"]);
  expect([last.code, last.stderr]).toEqual([0, ""]);
  expect(
    readdirSync(directory)
      .filter((name) => /tasks/.test(name))
      .sort(),
  ).toEqual([".tasks.json.dibs-base", "tasks.json"]);
  const { tasks } = read();
  expect(tasks).toHaveLength(300 + added);
  expect(
    tasks
      .filter(({ title }) => /^Added/.test(title))
      .map(({ title }) => title)
      .sort(),
  ).toEqual(Array.from({ length: added }, (_, at) => `Added ${at + 1}`).sort());
  for (const [id, title] of titles) {
    expect((await dibs.tasks.get({ taskId: id })).task.title).toBe(title);
    expect(tasks.find((task) => task.id === id)!.title).toBe(title);
  }
});
