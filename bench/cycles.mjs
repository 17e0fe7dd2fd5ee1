// Claim + complete with 32 workers in one process, durable (synchronous=FULL), against
// - plainjob, a SQLite job queue, at its own synchronous=NORMAL (one worker and eight, the better counts), and
// - a bare loop that does nothing but the SQL statements which Dibs did, with the same values, in the same transactions.
// Each has a process of its own and works when it is its turn, in every round; the first round is to get warm.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createTasks, median, openDibs, registerWorkers, remove, round, temporaryDirectory } from "./lib.mjs";

const workers = 32;
const names = ["dibs", "ahead", "bare", "plainjob1", "plainjob8"];

async function prepareStore(file, tasks) {
  const dibs = await openDibs({ path: file });
  await createTasks(dibs, tasks);
  await registerWorkers(dibs, workers);
  await dibs.close();
}

function contender(name, ...options) {
  const program = new URL("./cycles-contender.mjs", import.meta.url);
  const child = fork(program, [name, ...options.map(String)]);
  const failed = once(child, "exit").then(([code]) => {
    if (code !== 0) throw new Error(`${name} ended with ${code}`);
  });
  return {
    async perSecond() {
      child.send("go");
      const [perSecond] = await Promise.race([once(child, "message"), failed]);
      return perSecond;
    },
    end: () => child.disconnect(),
  };
}

export async function cycles({ quick, log }) {
  const tasks = quick ? 4_000 : 20_000;
  const rounds = quick ? 3 : 9;
  const directory = temporaryDirectory();
  const original = join(directory, "original.db");
  await prepareStore(original, tasks);
  const contenders = names.map((name) => contender(name, directory, original, tasks, workers));
  const rates = { dibs: [], ahead: [], bare: [], plainjob: [] };

  for (let at = 0; at <= rounds; at++) {
    const found = {};
    for (const [index, name] of names.entries()) found[name] = await contenders[index].perSecond();
    if (at === 0) continue;
    found.plainjob = Math.max(found.plainjob1, found.plainjob8);
    for (const [name, list] of Object.entries(rates)) list.push(found[name]);
    const told = Object.keys(rates).map((name) => `${name} ${round(found[name], 0)}/s`);
    log(`  round ${at}: ${told.join(", ")}`);
  }
  for (const each of contenders) each.end();
  remove(directory);

  const ratio = (own, other) => round(median(rates[own].map((rate, at) => rate / rates[other][at])));
  return {
    perSecond: Object.fromEntries(
      Object.entries(rates).map(([name, list]) => [name, round(median(list), 0)]),
    ),
    checks: [
      {
        name: "dibs (FULL) / plainjob (NORMAL), cycles per second",
        ratio: ratio("dibs", "plainjob"),
        atLeast: 1,
      },
      {
        name: "the same, reporting and claiming together as dibs.work does",
        ratio: ratio("ahead", "plainjob"),
        atLeast: 1,
      },
      { name: "dibs / bare loop of the same statements", ratio: ratio("dibs", "bare"), atLeast: 0.6 },
    ],
  };
}
