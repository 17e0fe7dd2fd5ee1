// What `scopes.exclusive` costs: the same plan in two repositories, one of which says that only one task at a time may change the
// lockfile. Every fourth task changes it. Real git, real checks, `dibs work -n 4` until everything has landed.

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { median, openDibs, remove, round, temporaryDirectory } from "./lib.mjs";

const run = promisify(execFile);
const bin = resolve(import.meta.dirname, "../dist/bin.js");
const lockfile = "package-lock.json";

/** Half a second of work; those that change the lockfile add a line at its end, and resolve conflicts by keeping all lines. */
const agent = `
  sleep 0.5
  number=$(echo "$DIBS_TASK" | sed 's/^0*//')
  if [ $((number % 4)) -eq 1 ]; then
    sed -E -i '/^[<=>|]{7}/d' ${lockfile}
    grep -q "$DIBS_TASK" ${lockfile} || echo "$DIBS_TASK" >> ${lockfile}
    git add ${lockfile}
  fi
  echo done > "$DIBS_TASK.txt"`;

export async function scopes({ quick, log }) {
  const tasks = quick ? 16 : 48;
  const rounds = quick ? 1 : 3;
  const seconds = { shared: [], exclusive: [] };
  const conflicts = { shared: 0, exclusive: 0 };
  for (let at = 0; at < rounds; at++) {
    for (const way of Object.keys(seconds)) {
      const directory = temporaryDirectory();
      const { took, returned } = await workThroughPlan(
        join(directory, "repository"),
        way === "exclusive",
        tasks,
      );
      seconds[way].push(took);
      conflicts[way] += returned;
      remove(directory);
    }
    log(`  round ${at + 1} of ${rounds}`);
  }
  return {
    tasks,
    seconds: Object.fromEntries(Object.entries(seconds).map(([way, all]) => [way, round(median(all), 1)])),
    conflicts,
    checks: [
      {
        name: "time of the plan, with an exclusive lockfile / without",
        ratio: round(median(seconds.exclusive) / median(seconds.shared)),
        atMost: 1.1,
      },
      { name: "conflicts with an exclusive lockfile", ratio: conflicts.exclusive, atMost: 0 },
    ],
  };
}

async function workThroughPlan(path, isExclusive, count) {
  mkdirSync(path, { recursive: true });
  const home = join(path, "..", "home");
  mkdirSync(home);
  const env = {
    ...process.env,
    HOME: home,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
  };
  const git = (...args) => run("git", args, { cwd: path, env });
  await git("init", "--quiet", "-b", "main");
  await git("config", "user.name", "Bench");
  await git("config", "user.email", "bench@example.com");
  writeFileSync(join(path, lockfile), "begin\n");
  await git("add", "-A");
  await git("commit", "--quiet", "-m", "Start");
  const dibsCommand = (...args) => run(process.execPath, [bin, ...args], { cwd: path, env, maxBuffer: 1e8 });
  await dibsCommand("init", "--land", "main", "--yes", "--no-agents");
  if (isExclusive) await dibsCommand("project", "set", `scopes.exclusive=["${lockfile}"]`);
  const dibs = await openDibs({ path: join(path, ".dibs", "dibs.db") });
  const tasks = Array.from({ length: count }, (_, at) =>
    at % 4 === 0
      ? { prompt: "x", title: `Change the lockfile ${at}`, files: [lockfile] }
      : { prompt: "x", title: `Write a file ${at}` },
  );
  await dibs.tasks.batch({ tasks });
  const startedAt = performance.now();
  await dibsCommand("work", "-n", "4", "--until-empty", "--quiet", "--", "sh", "-c", agent);
  const took = (performance.now() - startedAt) / 1000;
  const { tasks: done } = await dibs.tasks.list({ limit: 1000 });
  const landed = done.filter(({ state }) => state === "completed");
  if (landed.length !== count) throw new Error(`${landed.length} of ${count} tasks have landed`);
  await dibs.close();
  return { took, returned: landed.reduce((sum, { returnCount }) => sum + returnCount, 0) };
}
