// The lander's own time per landing, with a check that does nothing, against the git commands that a landing must run, one after
// the other; and submissions that share a landing against single ones. All of them take turns.

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { runLander } from "../dist/lander/index.js";
import { hostId, isAlive, processStart } from "../dist/runtime/liveness.js";
import { median, openDibs, remove, round, temporaryDirectory } from "./lib.mjs";

const run = promisify(execFile);
const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
const git = async (cwd, ...args) => (await run("git", ["-C", cwd, ...args], { env })).stdout.trim();

export async function landing({ quick, log }) {
  const perRound = 8;
  const rounds = quick ? 3 : 8;
  const directory = temporaryDirectory();
  try {
    const alone = await Project.open(join(directory, "alone"), 1);
    const together = await Project.open(join(directory, "together"), perRound);
    const bare = await Bare.open(join(directory, "bare"));
    const samples = { alone: [], together: [], bare: [] };
    // The first round warms everything.
    for (let at = -1; at < rounds; at++) {
      for (const [name, way] of Object.entries({ alone, together, bare })) {
        await way.prepare(perRound);
        const begun = performance.now();
        await way.land(perRound);
        if (at >= 0) samples[name].push((performance.now() - begun) / perRound);
      }
      log(`  round ${at + 1} of ${rounds}`);
    }
    await alone.close();
    await together.close();
    const ms = Object.fromEntries(
      Object.entries(samples).map(([name, all]) => [name, round(median(all), 1)]),
    );
    return {
      landings: rounds * perRound,
      msPerSubmission: ms,
      checks: [
        {
          name: "a landing, as a multiple of the git commands it must run",
          ratio: round(ms.alone / ms.bare),
          atMost: 1.5,
        },
        {
          name: `a submission in a landing of ${perRound}, as a multiple of one alone`,
          ratio: round(ms.together / ms.alone),
          atMost: 0.5,
        },
      ],
    };
  } finally {
    remove(directory);
  }
}

async function repository(path) {
  mkdirSync(path, { recursive: true });
  await git(path, "init", "--quiet", "-b", "main");
  await git(path, "config", "user.name", "Bench");
  await git(path, "config", "user.email", "bench@example.com");
  for (let n = 0; n < 200; n++) writeFileSync(join(path, `file-${n}.txt`), `line ${n}\n`.repeat(50));
  await git(path, "add", "-A");
  await git(path, "commit", "--quiet", "-m", "Start");
}

/** Commits beside main, each with a file of its own. */
async function submissions(path, count) {
  const commits = [];
  const base = await git(path, "rev-parse", "main");
  const beside = join(path, ".git", "beside");
  await git(path, "worktree", "add", "--quiet", "--detach", beside, base);
  for (let n = 0; n < count; n++) {
    await git(beside, "reset", "--quiet", "--hard", base);
    writeFileSync(join(beside, `new-${base.slice(0, 8)}-${n}.txt`), "new\n");
    await git(beside, "add", "-A");
    await git(beside, "commit", "--quiet", "-m", `work ${n}`);
    commits.push(await git(beside, "rev-parse", "HEAD"));
  }
  await git(path, "worktree", "remove", "--force", beside);
  return commits;
}

class Project {
  static async open(path, batchMax) {
    await repository(path);
    const dibs = await openDibs({ path: `${path}.db` });
    const checks = [{ name: "nothing", run: ["true"] }];
    await dibs.projects.update({ settings: { land: { target: "main", batchMax, checks } } });
    await dibs.sessions.register({ id: "agent", capacity: 100 });
    return new Project(path, dibs);
  }

  constructor(path, dibs) {
    Object.assign(this, { path, dibs });
  }

  async prepare(count) {
    for (const commit of await submissions(this.path, count)) {
      const { task } = await this.dibs.tasks.create({ prompt: "x" });
      await this.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
      await this.dibs.tasks.submit({ taskId: task.id, sessionId: "agent", commit, result: "done" });
    }
  }

  async land(count) {
    const { landed } = await runLander({
      dibs: this.dibs,
      directory: this.path,
      machine: { hostId, isAlive, processStart },
      once: true,
      signal: new AbortController().signal,
    });
    if (landed !== count) throw new Error(`${landed} of ${count} landed`);
  }

  close() {
    return this.dibs.close();
  }
}

/** What no lander can leave out: look, merge, commit, check out, check, fence, move, verify. */
class Bare {
  static async open(path) {
    await repository(path);
    const worktree = join(path, ".git", "landing");
    await git(path, "worktree", "add", "--quiet", "--detach", worktree, "main");
    const hooks = join(path, ".git", "own-hooks");
    mkdirSync(hooks);
    const hook =
      '#!/bin/sh\ncat > /dev/null\n[ "$1" = prepared ] && git rev-parse refs/fence > /dev/null\nexit 0\n';
    writeFileSync(join(hooks, "reference-transaction"), hook, { mode: 0o755 });
    const bare = new Bare();
    return Object.assign(bare, { path, worktree, hooks, fence: "0".repeat(40) });
  }

  async prepare(count) {
    this.commits = await submissions(this.path, count);
  }

  async land() {
    const { path, worktree, hooks } = this;
    for (const commit of this.commits) {
      const tip = await git(path, "rev-parse", "refs/heads/main");
      await git(path, "worktree", "list", "--porcelain", "-z");
      await git(path, "status", "--porcelain", "-z", "--untracked-files=no");
      await git(worktree, "reset", "--quiet", "--hard", tip);
      await git(worktree, "clean", "-ffdq");
      const tree = await git(worktree, "merge-tree", "--write-tree", tip, commit);
      await git(worktree, "diff-tree", "-r", "--name-status", "-z", tip, tree);
      await git(worktree, "show", "-s", "--format=%an %ae %ad", commit);
      const landed = await git(worktree, "commit-tree", tree, "-p", tip, "-m", "work");
      await git(worktree, "reset", "--quiet", "--hard", landed);
      await git(worktree, "clean", "-ffdq");
      await run("true");
      const blob = await git(path, "hash-object", "-w", join(path, "file-0.txt"));
      await git(path, "update-ref", "refs/fence", blob);
      await git(path, "-c", `core.hooksPath=${hooks}`, "merge", "--quiet", "--ff-only", "--no-stat", landed);
      await git(path, "merge-base", "--is-ancestor", landed, "refs/heads/main");
      const again = await git(worktree, "merge-tree", "--write-tree", tip, commit);
      if (again !== tree) throw new Error("not what was merged");
    }
  }
}
