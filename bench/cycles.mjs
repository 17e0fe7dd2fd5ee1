// Claim + complete with 32 workers in one process, durable (synchronous=FULL), against
// - plainjob, a SQLite job queue, at its own synchronous=NORMAL (one worker and eight, the better of the two counts), and
// - a bare loop that does nothing but the SQL statements which Dibs did, with the same values, in the same transactions.
// Each has a process of its own and works when it is its turn, in every round. The first rounds are to get warm: code is compiled
// again for the first few stores that a process opens.

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
  const rounds = quick ? 3 : 15;
  const warmUps = quick ? 2 : 5;
  const directory = temporaryDirectory();
  const original = join(directory, "original.db");
  await prepareStore(original, tasks);
  const contenders = names.map((name) => contender(name, directory, original, tasks, workers));
  const rates = Object.fromEntries(names.map((name) => [name, []]));

  for (let at = 1 - warmUps; at <= rounds; at++) {
    const told = [];
    for (const [index, name] of names.entries()) {
      const rate = await contenders[index].perSecond();
      if (at > 0) rates[name].push(rate);
      told.push(`${name} ${round(rate, 0)}/s`);
    }
    log(`  ${at > 0 ? `round ${at}` : "warming up"}: ${told.join(", ")}`);
  }
  for (const each of contenders) each.end();
  remove(directory);

  const perSecond = Object.fromEntries(names.map((name) => [name, round(median(rates[name]), 0)]));
  const plainjob = perSecond.plainjob1 > perSecond.plainjob8 ? "plainjob1" : "plainjob8";
  const ratio = (own, other) => round(median(rates[own].map((rate, at) => rate / rates[other][at])));
  return {
    perSecond,
    checks: [
      {
        name: "dibs (FULL) / plainjob (NORMAL), cycles per second",
        ratio: ratio("dibs", plainjob),
        atLeast: 1,
      },
      {
        name: "the same, reporting and claiming together as dibs.work does",
        ratio: ratio("ahead", plainjob),
        atLeast: 1,
      },
      { name: "dibs / bare loop of the same statements", ratio: ratio("dibs", "bare"), atLeast: 0.6 },
    ],
  };
}
