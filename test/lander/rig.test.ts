// Many tasks in one repository, with overlaps, dependencies and red checks; agents and landers that are killed at random and
// before every effect, landers that are stopped beyond their lease, and a person who commits to the target, or pushes to it, meanwhile.

import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { examineLandings } from "../../src/lander/index.js";
import { report } from "../proof/figures.js";
import {
  afterwards,
  check,
  clone,
  git,
  newRepository,
  Stage,
  tempDir,
  withRemote,
  write,
} from "./support.js";

const isLong = process.env.DIBS_LONG === "1";
const tasksCount = isLong ? 1_000 : 24;
const agentsCount = isLong ? 8 : 3;
const landersCount = isLong ? 3 : 2;
const boundMs = isLong ? 60 * 60_000 : 8 * 60_000;
const seed = Number(process.env.DIBS_SEED ?? 1 + (Date.now() % 100_000));

const children = resolve(import.meta.dirname, "children");
const effects = [
  "take over",
  "open",
  "record diff",
  "record checks",
  "intent",
  "move",
  "merge into checkout",
  "verify",
  "report landed",
  "tidy",
  "return",
  "drop",
  "hold",
];

/** The same numbers for the same seed. */
function randomFrom(start: number) {
  let state = start >>> 0;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

class Fleet {
  readonly running = new Set<ChildProcess>();
  kills = 0;
  stops = 0;
  private isOver = false;

  constructor(private readonly startOne: () => ChildProcess) {}

  /** Whoever dies has a successor. */
  start(): void {
    if (this.isOver) return;
    const child = this.startOne();
    this.running.add(child);
    afterwards(() => void child.kill("SIGKILL"));
    child.once("exit", () => {
      this.running.delete(child);
      this.start();
    });
  }

  pick(random: (below: number) => number): ChildProcess | undefined {
    return [...this.running][random(this.running.size)];
  }

  async end(): Promise<void> {
    this.isOver = true;
    const left = [...this.running].map((child) => new Promise((done) => child.once("exit", done)));
    for (const child of this.running) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
    }
    await Promise.all(left);
  }
}

/** A person who works on the target: commits in the checkout where it is, or pushes from a clone. */
class Person {
  readonly created: string[] = [];

  constructor(
    private readonly path: string,
    private readonly pushes: boolean,
  ) {}

  /** A landing has the lock, or was quicker: people try again. */
  work(): void {
    const name = `person-${this.created.length + 1}.txt`;
    try {
      if (this.pushes) git(this.path, "pull", "--quiet", "--rebase", "origin", "main");
      write(this.path, { [name]: "person\n" });
      git(this.path, "add", name);
      git(this.path, "commit", "--quiet", "-m", "person");
      this.created.push(name);
      if (this.pushes) git(this.path, "push", "--quiet", "origin", "main");
    } catch {}
  }

  /** What was too late before: a commit that met a landing is staged, or not pushed. */
  finish(): void {
    if (!this.pushes) {
      if (git(this.path, "diff", "--cached", "--name-only")) this.work();
      return;
    }
    git(this.path, "pull", "--quiet", "--rebase", "origin", "main");
    git(this.path, "push", "--quiet", "origin", "main");
  }
}

test.each([
  ["in a checkout", tasksCount],
  ["on a remote", isLong ? tasksCount : 12],
])(
  `every change that was handed in lands %s (seed ${seed})`,
  { timeout: boundMs + 60_000 },
  async (where, tasksCount) => {
    const isRemote = where === "on a remote";
    const random = randomFrom(seed);
    const script = `process.exit(require("fs").readdirSync(".").some((name) => name.startsWith("red-")) ? 1 : 0)`;
    const shared = ["shared-1.txt", "shared-2.txt", "shared-3.txt"];
    const begin = Object.fromEntries(shared.map((name) => [name, "begin\n"]));
    const land = { checks: [check("no-red", script)], returnsMax: 1_000, batchMax: 8 };
    const { stage, remote } = isRemote
      ? await withRemote(land, begin)
      : { stage: await Stage.open({ root: newRepository(begin), land }), remote: null };
    const { root } = stage;
    /** Where the target is. */
    const repository = remote ?? root;
    const person = new Person(remote === null ? root : clone(remote), isRemote);
    // Landers of a remote run on several machines.
    const directories = remote === null ? [root] : [root, clone(remote)];
    await stage.dibs.projects.update({ settings: { maxLost: 1_000 } } as never);
    write(root, { "mine.txt": "not committed\n" });

    const tasks = Array.from({ length: tasksCount }, (_, n) => ({
      key: `t${n}`,
      prompt: JSON.stringify({ shared: random(3) === 0 ? shared[random(3)] : null, red: random(6) === 0 }),
      ...(n > 3 && random(5) === 0 ? { dependsOn: [`t${random(n)}`] } : {}),
    }));
    const ids: string[] = [];
    for (let at = 0; at < tasks.length; at += 100) {
      const part = tasks.slice(at, at + 100).map((task) => {
        const dependsOn = (task.dependsOn ?? []).map((key) => ids[Number(key.slice(1))] ?? key);
        return { ...task, ...(dependsOn.length > 0 ? { dependsOn } : {}) };
      });
      const made = await stage.dibs.tasks.batch({ tasks: part });
      ids.push(...part.map(({ key }) => made.ids[key]!));
    }

    const room = tempDir();
    let agentsStarted = 0;
    const agents = new Fleet(() => {
      const directory = join(room, `agent-${++agentsStarted}`);
      mkdirSync(directory);
      const args = [
        stage.database,
        root,
        `agent-${agentsStarted}`,
        directory,
        ...(isRemote ? ["origin"] : []),
      ];
      return fork(join(children, "agent.mjs"), args, { silent: true });
    });
    const landers = new Fleet(() => {
      // Half of them end before one of their effects.
      const isDoomed = random(2) === 0;
      const effect = isDoomed ? effects[random(effects.length)]! : "-";
      if (isDoomed) landers.kills++;
      const directory = directories[random(directories.length)]!;
      const args = [
        stage.database,
        directory,
        isDoomed ? "serve-kill" : "serve",
        effect,
        String(1 + random(3)),
      ];
      return fork(join(children, "lander.mjs"), args, { silent: true });
    });
    for (let n = 0; n < agentsCount; n++) agents.start();
    for (let n = 0; n < landersCount; n++) landers.start();

    const until = performance.now() + boundMs;
    let [completed, idleRounds] = [0, 0];
    const isDone = async () => {
      const { tasks } = await stage.dibs.tasks.list({ state: "completed", limit: 1_000 } as never);
      idleRounds = tasks.length > completed ? 0 : idleRounds + 1;
      completed = tasks.length;
      return completed >= tasksCount;
    };
    for (let round = 0; !(await isDone()); round++) {
      // A busy machine needs longer for a landing than there is between two faults: they become rarer until something lands.
      const rarity = 1 + Math.floor(idleRounds / 100);
      const isTime = (every: number, at: number) => round % (every * rarity) === at;
      if (performance.now() > until) throw new Error("waited in vain until everything has landed");
      // How often faults come. The loop ends when everything has landed.
      await new Promise((done) => setTimeout(done, 200));
      if (isTime(15, 7)) {
        agents.pick(random)?.kill("SIGKILL");
        agents.kills++;
      }
      if (isTime(20, 11)) {
        landers.pick(random)?.kill("SIGKILL");
        landers.kills++;
      }
      if (isTime(40, 25)) {
        const lander = landers.pick(random);
        lander?.kill("SIGSTOP");
        setTimeout(() => void lander?.kill("SIGCONT"), 1_500);
        landers.stops++;
      }
      if (isTime(25, 13)) person.work();
    }
    await Promise.all([agents.end(), landers.end()]);
    // What a lander that was killed at the very end left is finished by the next one.
    await stage.landWhenFree();

    person.finish();

    const { problems, landed } = (await examineLandings(stage.dibs, root))!;
    expect(problems).toEqual([]);
    expect(landed).toBe(tasksCount);
    const files = git(repository, "ls-tree", "-r", "--name-only", "main").split("\n");
    expect(files.filter((name) => name.startsWith("red-"))).toEqual([]);
    for (const id of ids) expect(files).toContain(`task-${id}.txt`);
    for (const name of shared) {
      const lines = git(repository, "show", `main:${name}`).split("\n").slice(1).sort();
      const expected = ids.filter((_, n) => JSON.parse(tasks[n]!.prompt).shared === name).sort();
      expect(lines).toEqual(expected);
    }
    // The tree of every landing was green: not one has a red file.
    for (const commit of git(repository, "log", "--first-parent", "--format=%H", "main").split("\n"))
      expect(git(repository, "ls-tree", "--name-only", commit)).not.toMatch(/^red-/m);
    expect(stage.read("mine.txt")).toBe("not committed\n");
    for (const name of person.created) expect(files).toContain(name);
    expect(git(root, "status", "--porcelain", "--untracked-files=no")).toBe("");
    report(`landings ${where}`, {
      kills: agents.kills + landers.kills,
      stops: landers.stops,
      "landed tasks": landed,
    });
  },
);
