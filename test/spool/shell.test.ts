// Shell agents that know nothing of Dibs, the built program as their proxy, and kill -9 for both at random: every task is completed
// once by the event log, none is stranded, no id is given twice, and nobody works on what somebody else is working on.
//
//   DIBS_LONG=1 npx vitest run test/spool/shell.test.ts     8 workers, 200 tasks
//   DIBS_SEED=… to repeat the moments of a run

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { checkStore, randomFrom } from "../faults/support.js";
import { afterwards, tempDir, until } from "./support.js";

const isLong = Boolean(process.env.DIBS_LONG);
const workers = isLong ? 8 : 4;
const tasks = isLong ? 200 : 40;
const workerKills = isLong ? 40 : 6;
const proxyKills = isLong ? 10 : 3;
const timeout = isLong ? 600_000 : 180_000;
const bin = resolve(import.meta.dirname, "../../dist/bin.js");
const script = resolve(import.meta.dirname, "worker.sh");

class Running {
  out = "";
  readonly ended: Promise<number | null>;
  private isOver = false;

  constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding("utf8").on("data", (text) => {
        this.out += text;
      });
    }
    this.ended = once(child, "close").then(([code]) => {
      this.isOver = true;
      return code;
    });
    afterwards(() => this.kill());
  }

  get pid(): number {
    return this.child.pid!;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isOver) this.child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }
}

const linesOf = (file: string) =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];

test(`${workers} shell workers, ${tasks} tasks, killed at random`, {
  timeout,
}, async () => {
  const seed = Number(process.env.DIBS_SEED) || Math.floor(Math.random() * 2 ** 31);
  console.info(`shell.test.ts: seed ${seed} (set DIBS_SEED to repeat)`);
  const random = randomFrom(seed);
  const root = tempDir();
  const path = join(root, "dibs.db");
  const dibs = await openDibs({ path });
  afterwards(() => dibs.close());
  await dibs.projects.update({ settings: { maxLost: 1_000 } });
  // Some are split into parts, some have more to do after them.
  const kinds = ["plain", "plain", "plain", "split", "plain", "plain", "more", "plain"];
  await dibs.tasks.batch({
    tasks: Array.from({ length: tasks }, (_, n) => ({ prompt: `${kinds[n % kinds.length]} task ${n}` })),
  });

  const inherited = Object.entries(process.env).filter(([name]) => !/^(DIBS_|NODE_OPTIONS)/.test(name));
  const env = { ...Object.fromEntries(inherited), AI_ROOT: root, HOME: root, AGENT_TYPE: "claude" };
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  const directory = join(root, "ai_comms");
  const startProxy = () => {
    const args = [bin, "spool", "--agent", "claude", "--dir", directory, "--db", path, "--hold", "6"];
    return new Running(spawn(process.execPath, args, { env, stdio, cwd: root }));
  };
  let number = 0;
  const startWorker = () => {
    const NAME = `worker-${++number}`;
    return new Running(spawn("bash", [script], { env: { ...env, NAME }, stdio, cwd: root }));
  };

  mkdirSync(join(root, "at-work"));
  let proxy = startProxy();
  const proxies = [proxy];
  await until("the spool is laid out", () => existsSync(join(directory, "claude/tasks/stale")));
  const crew = Array.from({ length: workers }, startWorker);
  const killed = { worker: 0, proxy: 0 };
  /** With what scripts have dropped and nobody has seen yet. */
  const isDone = async () => {
    const { done } = (await dibs.stats.get({})).by_status;
    return { done, all: tasks + linesOf(join(root, "queued")).length };
  };
  const deadline = performance.now() + timeout - 15_000;
  for (let count = await isDone(); count.done < count.all; count = await isDone()) {
    if (performance.now() > deadline) {
      const said = proxies.map(({ out }) => out).join("--- killed\n");
      const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
      throw new Error(
        `${count.done} of ${count.all} are done (seed ${seed})\n${said}\n${files.sort().join("\n")}`,
      );
    }
    const kills = workerKills + proxyKills;
    const soFar = killed.worker + killed.proxy;
    await sleep(random() * 60);
    if (soFar >= kills || count.done < (soFar * tasks) / (kills + 1)) continue;
    if (random() < proxyKills / kills && killed.proxy < proxyKills) {
      killed.proxy++;
      await proxy.kill();
      proxy = startProxy();
      proxies.push(proxy);
    } else if (killed.worker < workerKills) {
      // One that works on something just now.
      const busy = readdirSync(join(root, "at-work")).map((id) => linesOf(join(root, "at-work", id))[0]);
      const at = crew.findIndex(({ pid }) => busy.includes(String(pid)));
      if (at < 0) continue;
      killed.worker++;
      await crew[at]!.kill();
      crew[at] = startWorker();
    }
  }
  writeFileSync(join(root, "stop"), "");
  expect(await Promise.all(crew.map(({ ended }) => ended))).toEqual(crew.map(() => 0));
  proxy.signal("SIGTERM");
  expect(await proxy.ended, proxy.out).toBe(0);
  const listed = (await dibs.tasks.list({ limit: 1_000 })).tasks;
  await dibs.close();

  const said = proxies.map(({ out }) => out).join("");
  const all = await checkStore(path);
  const completed = all.events.filter(({ type }) => type === "task:completed").map(({ taskId }) => taskId);
  expect(
    all.tasks.filter(({ state }) => state !== "completed"),
    said,
  ).toEqual([]);
  expect(new Set(completed).size, said).toBe(completed.length);
  expect(completed.sort()).toEqual(all.tasks.map(({ id }) => id).sort());
  expect(all.claims).toEqual([]);
  expect(linesOf(join(root, "overlaps")), said).toEqual([]);
  const queued = linesOf(join(root, "queued"));
  expect(new Set(queued).size, said).toBe(queued.length);
  // Each under the name that its script took for it.
  const nameOf = ({ id, metadata }: (typeof listed)[number]) =>
    (metadata?.spool as { name?: string } | undefined)?.name ?? id;
  expect(
    queued.filter((name) => !listed.some((task) => nameOf(task) === name)),
    said,
  ).toEqual([]);
  expect(readdirSync(join(directory, "claude/.spool/held")), said).toEqual([]);
  for (const stage of ["to_execute", "in_progress"]) {
    const left = readdirSync(join(directory, "claude/tasks", stage), { recursive: true, encoding: "utf8" });
    expect(
      left.filter((file) => file.endsWith(".md")),
      said,
    ).toEqual([]);
  }
  expect(readFileSync(join(directory, "counters/global.NextId"), "utf8")).toMatch(/^\d{4}\n$/);
  // Kills met attempts: the rig does what it says.
  expect(all.attempts.length, said).toBeGreaterThan(all.tasks.length);
  expect(said).toContain(" stale");
});
