// A program that knows tasks.json and nothing of Dibs: reads it, adds a task, changes the title of its own one, and saves as editors
// do (`rename`, `truncate`) or under the lock (`locked`).

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [file, way] = process.argv.slice(2);
const own = `own-${process.pid}`;
let turns = 0;

process.on("message", async () => {
  const release = way === "locked" ? await lock() : () => undefined;
  const content = JSON.parse(readFileSync(file, "utf8"));
  const id = `${way}-${process.pid}-${++turns}`;
  content.tasks.push({ id, title: `Made in turn ${turns}`, status: "pending" });
  const mine = content.tasks.find((task) => task.id === own);
  if (mine) mine.title = `Turn ${turns}`;
  else content.tasks.push({ id: own, title: `Turn ${turns}`, assignee: "nobody" });
  const text = `${JSON.stringify(content, null, 2)}\n`;
  if (way === "truncate") writeFileSync(file, text);
  else {
    writeFileSync(`${file}.${process.pid}`, text);
    renameSync(`${file}.${process.pid}`, file);
  }
  release();
  process.send(id);
});

async function lock() {
  for (;;) {
    try {
      writeFileSync(`${file}.lock`, `${process.pid}\n`, { flag: "wx" });
      return () => rmSync(`${file}.lock`);
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      await sleep(5);
    }
  }
}
