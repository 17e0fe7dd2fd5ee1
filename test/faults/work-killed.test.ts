// Many `dibs work` processes, killed at random: every task is completed once by the event log, none is stranded, none is worked on by
// two at a time, and nothing that they started lives on.
//
//   DIBS_WORKERS=20 DIBS_TASKS=200 npx vitest run test/faults/work-killed.test.ts [-t embedded]

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { report } from "../proof/figures.js";
import { afterwards, checkStore, open, randomFrom, tempDir, until } from "./support.js";

const bin = resolve(import.meta.dirname, "../../dist/bin.js");
const workers = Number(process.env.DIBS_WORKERS) || 5;
const tasks = Number(process.env.DIBS_TASKS) || 40;
const kills = Math.max(4, workers);
const timeout = 60_000 + tasks * 2_000;

/** Is somebody else at work on this task? Then it works for a moment, and writes down that it has. A dead process has no environment. */
const agent = `
  mark="$RIG/$DIBS_TASK.pid"
  if [ -e "$mark" ] && tr '\\0' '\\n' < "/proc/$(cat "$mark")/environ" 2>/dev/null | grep -qx "DIBS_TASK=$DIBS_TASK"
  then echo "$DIBS_TASK.$DIBS_EPOCH" >> "$RIG/overlaps"; fi
  echo $$ > "$mark"
  sleep "0.$(($$ % 3))"
  rm "$mark"
  echo "$DIBS_TASK" >> "$RIG/done"
  echo "done in $DIBS_EPOCH"`;

class Worker {
  readonly ended: Promise<number | null>;
  private readonly process: ChildProcess;
  private isOver = false;
  out = "";
  err = "";

  constructor(args: string[], env: NodeJS.ProcessEnv) {
    this.process = spawn(process.execPath, [bin, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.process.stdout!.setEncoding("utf8").on("data", (text) => {
      this.out += text;
    });
    this.process.stderr!.setEncoding("utf8").on("data", (text) => {
      this.err += text;
    });
    this.ended = once(this.process, "close").then(([code]) => {
      this.isOver = true;
      return code;
    });
    afterwards(() => this.kill());
  }

  get pid(): number {
    return this.process.pid!;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isOver) this.process.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }
}

/** Every process that was started with this in its environment, by whomever. */
function processesWith(word: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(word))
    .map(Number);
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

const linesOf = (file: string) =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];

// Only Linux shows whose children are left.
describe.skipIf(process.platform !== "linux")("dibs work, killed at random", () => {
  test.each(["embedded", "server"])(
    `${workers} processes, ${tasks} tasks, ${kills} kills: %s`,
    { timeout },
    async (way) => {
      const seed = Number(process.env.DIBS_SEED) || Math.floor(Math.random() * 2 ** 31);
      console.info(`work-killed.test.ts: seed ${seed} (set DIBS_SEED to repeat)`);
      const random = randomFrom(seed);
      const rig = tempDir();
      const path = join(rig, "dibs.db");
      const dibs = await open({ path });
      await dibs.projects.update({ settings: { maxLost: 1_000 } });
      const prompts = Array.from({ length: tasks }, (_, n) => ({ prompt: `task ${n}` }));
      const ids = (await dibs.tasks.batch({ tasks: prompts })).tasks.map(({ id }) => id).sort();

      const inherited = Object.entries(process.env).filter(([name]) => !/^(DIBS_|NODE_OPTIONS)/.test(name));
      const mark = randomUUID();
      const env = { ...Object.fromEntries(inherited), RIG: rig, RIG_MARK: mark, TMPDIR: rig };
      const server = way === "server" ? new Worker(["serve", "--db", path, "--port", "0"], env) : null;
      if (server) await until("the server listens", () => server.out.includes("listening on"));
      const start = () => new Worker(["work", "--db", path, "--quiet", "--", "sh", "-c", agent], env);
      const running = Array.from({ length: workers }, start);

      let killed = 0;
      const deadline = performance.now() + timeout - 20_000;
      for (let done = 0; done < tasks; await sleep(random() * 100)) {
        if (performance.now() > deadline) throw new Error(`only ${done} of ${tasks} are done (seed ${seed})`);
        done = (await dibs.stats.get({})).by_status.done;
        // All through the run, at moments of its own.
        if (killed >= kills || done < (killed * tasks) / (kills + 1)) continue;
        const { inFlight } = await dibs.tasks.inFlight({});
        const { sessions } = await dibs.sessions.list({ limit: 200 });
        const holding = new Set(inFlight.map(({ claim }) => claim.sessionId));
        const holders = running.filter(({ pid }) =>
          sessions.some((each) => each.pid === pid && holding.has(each.id)),
        );
        if (holders.length === 0) continue;
        // Any of them, and every second time one that has a task.
        const among = killed++ % 2 === 0 ? holders : running;
        const at = running.indexOf(among[Math.floor(random() * among.length)]!);
        await running[at]!.kill();
        running[at] = start();
      }
      // A process that is only starting does not know yet how to end well.
      await until("all have begun", async () => {
        const { sessions } = await dibs.sessions.list({ limit: 200 });
        return running.every(({ pid }) => sessions.some((session) => session.pid === pid));
      });
      for (const worker of running) worker.signal("SIGTERM");
      expect(await Promise.all(running.map(({ ended }) => ended))).toEqual(running.map(() => 0));
      server?.signal("SIGTERM");
      await until("nothing that was started is left", () => processesWith(`RIG_MARK=${mark}`).length === 0);

      expect(killed).toBe(kills);
      expect(linesOf(join(rig, "overlaps"))).toEqual([]);
      expect([...new Set(linesOf(join(rig, "done")))].sort()).toEqual(ids);
      await dibs.close();
      const all = await checkStore(path);
      const completed = all.events.filter((event) => event.type === "task:completed");
      expect(completed.map(({ taskId }) => taskId).sort()).toEqual(ids);
      expect(all.tasks.every((task) => task.state === "completed")).toBe(true);
      expect(all.claims).toEqual([]);
      // Kills met attempts: the rig does what it says.
      expect(all.attempts.length).toBeGreaterThan(tasks);
      report(`dibs work, ${way}`, { kills: killed, "completed tasks": tasks });
    },
  );
});
