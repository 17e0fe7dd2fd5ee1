// The command line as agents use it: a fresh process for every call, on the embedded store, against a process that does nothing.
// All of them take turns, so that whatever else the machine does meets all of them alike. The same through a running server, for
// information.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createTasks, median, openDibs, remove, round, temporaryDirectory } from "./lib.mjs";

const bin = resolve(import.meta.dirname, "../dist/bin.js");
const atMost = 2;

export async function cli({ quick, log }) {
  const tasks = quick ? 2_000 : 10_000;
  const rounds = quick ? 8 : 25;
  const directory = temporaryDirectory();
  try {
    const path = resolve(directory, "dibs.db");
    const dibs = await openDibs({ path });
    await createTasks(dibs, tasks);
    await dibs.close();

    const embedded = await measure(rounds, directory);
    const ratios = ratiosOf(embedded);
    log(`  embedded: ${JSON.stringify(ratios)}`);
    const server = await startServer(directory);
    const served = await measure(rounds, directory).finally(() => server.kill());
    await once(server, "exit");
    return {
      tasks,
      ms: medians(embedded),
      throughServer: ratiosOf(served),
      checks: Object.entries(ratios).map(([name, ratio]) => ({
        name: `dibs ${name} with ${tasks} tasks, as a multiple of a process that does nothing`,
        ratio,
        atMost,
      })),
    };
  } finally {
    remove(directory);
  }
}

async function measure(rounds, directory) {
  const samples = { nothing: [], list: [], claim: [], done: [] };
  // The first round warms the file cache.
  for (let round = -1; round < rounds; round++) {
    const session = ["--session", `agent-${Math.random()}`];
    const claim = await timed([bin, "claim", "--json", ...session], directory);
    const { taskId } = JSON.parse(claim.output).claim;
    const turns = {
      nothing: await timed(["-e", "0"], directory),
      list: await timed([bin, "list"], directory),
      claim,
      done: await timed([bin, "done", taskId, "ready", ...session], directory),
    };
    if (round >= 0) for (const [name, { ms }] of Object.entries(turns)) samples[name].push(ms);
  }
  return samples;
}

async function timed(args, directory) {
  const begun = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: directory,
    env: { ...process.env, DIBS_DATABASE_URL: "dibs.db" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = [];
  child.stdout.on("data", (data) => output.push(data));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}`);
  return { ms: performance.now() - begun, output: Buffer.concat(output).toString() };
}

async function startServer(directory) {
  const args = [bin, "serve", "--db", "dibs.db", "--port", "0", "--log-level", "silent"];
  const server = spawn(process.execPath, args, { cwd: directory, stdio: ["ignore", "pipe", "inherit"] });
  await once(server.stdout, "data");
  return server;
}

const medians = (samples) =>
  Object.fromEntries(Object.entries(samples).map(([name, ms]) => [name, round(median(ms), 1)]));

function ratiosOf({ nothing, ...commands }) {
  return Object.fromEntries(
    Object.entries(commands).map(([name, ms]) => [name, round(median(ms) / median(nothing))]),
  );
}
