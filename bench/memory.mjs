// A process that creates and works through a million tasks, in a child of its own: its memory must not grow with them.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createTasks,
  openDibs,
  registerWorkers,
  remove,
  round,
  temporaryDirectory,
  workThrough,
} from "./lib.mjs";

const self = fileURLToPath(import.meta.url);

export async function memory({ quick, log }) {
  const total = quick ? 20_000 : 1_000_000;
  const directory = temporaryDirectory();
  const child = fork(self, [join(directory, "dibs.db"), String(total)], { execArgv: ["--expose-gc"] });
  const samples = [];
  child.on("message", (sample) => {
    samples.push(sample);
    log(`  ${sample.done} tasks: heap ${sample.heapMiB} MiB, rss ${sample.rssMiB} MiB`);
  });
  const [code] = await once(child, "exit");
  remove(directory);
  if (code !== 0) throw new Error(`the worker ended with ${code}`);
  const early = samples[Math.floor(samples.length / 5)];
  const late = samples[samples.length - 1];
  return {
    samples,
    checks: [
      {
        name: `heap after ${total} tasks / after a fifth of them`,
        ratio: round(late.heapMiB / early.heapMiB),
        atMost: 1.2,
      },
    ],
  };
}

if (process.argv[1] === self) {
  const [, , file, total] = process.argv;
  const dibs = await openDibs({ path: file });
  const workers = await registerWorkers(dibs, 32);
  const step = Number(total) / 20;
  for (let done = 0; done < Number(total); ) {
    for (let part = 0; part < step; part += 5_000) {
      await createTasks(dibs, Math.min(5_000, step - part), done + part);
      await workThrough(dibs, workers);
    }
    done += step;
    globalThis.gc();
    const { heapUsed, rss } = process.memoryUsage();
    process.send({ done, heapMiB: round(heapUsed / 2 ** 20, 1), rssMiB: round(rss / 2 ** 20, 0) });
  }
  await dibs.close();
  process.disconnect();
}
