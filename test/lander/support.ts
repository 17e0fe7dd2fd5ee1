// Real repositories, a real store, a real lander: the words that the lander's tests are told with.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Dibs, openDibs } from "../../src/index.js";
import type { LanderEnd, LanderOptions, Step } from "../../src/lander/index.js";
import { runLander } from "../../src/lander/index.js";
import { submissionRef } from "../../src/runner/target.js";
import { afterwards, machine, programFile, tempDir, until } from "../runner/support.js";

export { afterwards, tempDir, until } from "../support.js";

type Land = Record<string, unknown>;
type Files = Record<string, string | Uint8Array | null>;

/** Git as a person types it, with nobody's settings but the repository's own. */
export function git(cwd: string, ...args: string[]): string {
  const env = {
    PATH: process.env.PATH!,
    HOME: cwd,
    GIT_CONFIG_NOSYSTEM: "1",
    LC_ALL: "C",
    GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z",
    GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z",
  };
  return execFileSync("git", ["-C", cwd, ...args], { env, encoding: "utf8", stdio: "pipe" }).replace(
    /\n$/,
    "",
  );
}

export function newRepository(files: Files = { "a.txt": "a\n" }, { bare = false } = {}): string {
  const path = join(tempDir(), "repository");
  mkdirSync(path);
  git(path, "init", "--quiet", "-b", "main", ...(bare ? ["--bare"] : []));
  git(path, "config", "user.name", "Person");
  git(path, "config", "user.email", "person@example.com");
  if (bare) return path;
  write(path, files);
  git(path, "add", "-A");
  git(path, "commit", "--quiet", "-m", "Start");
  return path;
}

export function write(root: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, name);
    if (text === null) {
      rmSync(file);
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

export interface Handed {
  taskId: string;
  commit: string | null;
  branch: string;
}

export class Stage {
  readonly steps: Step[] = [];
  readonly troubles: unknown[] = [];
  private readonly guard = programFile("guard");
  private count = 0;

  private constructor(
    readonly dibs: Dibs,
    readonly root: string,
    readonly database: string,
  ) {}

  static async open({
    land = {},
    root = newRepository(),
    clock,
  }: {
    land?: Land;
    root?: string;
    /** Of the store. */
    clock?: () => number;
  } = {}): Promise<Stage> {
    const database = join(tempDir(), "dibs.db");
    const dibs = await openDibs({ path: database, ...(clock ? { clock } : {}) });
    afterwards(() => dibs.close().catch(() => undefined));
    await dibs.projects.update({ settings: { land: { target: "main", ...land } } } as never);
    await dibs.sessions.register({ id: "agent", capacity: 100 } as never);
    return new Stage(dibs, root, database);
  }

  /** A task whose branch, made from `from`, has these files; claimed, and submitted. */
  async handIn(
    files: Files | null,
    { from = "main", ...more }: { from?: string; [key: string]: unknown } = {},
  ) {
    const { task } = await this.dibs.tasks.create({
      title: `Task ${++this.count}`,
      prompt: "do it",
      ...more,
    } as never);
    return this.submit(task.id, files, { from });
  }

  async submit(taskId: string, files: Files | null, { from = "main" } = {}): Promise<Handed> {
    await this.dibs.tasks.claim({ taskId, sessionId: "agent", start: true });
    const { task } = await this.dibs.tasks.get({ taskId });
    const number = (task.submission?.number ?? 0) + 1;
    const branch = `work/${taskId}-${number}`;
    const commit = files === null ? null : this.commitOn(branch, files, from);
    if (commit !== null) git(this.root, "update-ref", submissionRef(task.project, taskId, number), commit);
    await this.dibs.tasks.submit({
      taskId,
      sessionId: "agent",
      ...(commit === null ? {} : { commit, branch }),
      summary: `Summary of ${taskId}`,
      result: { output: "" },
    } as never);
    return { taskId, commit, branch };
  }

  /** A commit made beside the working tree of the person. */
  commitOn(branch: string, files: Files, from: string): string {
    const path = join(tempDir(), "work");
    git(this.root, "worktree", "add", "--quiet", "-b", branch, path, from);
    try {
      git(path, "config", "user.name", "Agent");
      write(path, files);
      git(path, "add", "-A");
      git(
        path,
        "-c",
        "user.name=Agent",
        "-c",
        "user.email=agent@example.com",
        "commit",
        "--quiet",
        "-m",
        "work",
      );
      return git(path, "rev-parse", "HEAD");
    } finally {
      git(this.root, "worktree", "remove", "--force", path);
    }
  }

  /** A task that hands in a commit that is there already, or is not. */
  async submitCommit(commit: string, more: Record<string, unknown> = {}): Promise<string> {
    const { task } = await this.dibs.tasks.create({ prompt: "x" });
    await this.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
    const submission = { taskId: task.id, sessionId: "agent", commit, result: { output: "" }, ...more };
    await this.dibs.tasks.submit(submission as never);
    return task.id;
  }

  options(more: Partial<LanderOptions> = {}): LanderOptions {
    return {
      dibs: this.dibs,
      directory: this.root,
      machine,
      once: true,
      signal: new AbortController().signal,
      guardFile: this.guard,
      onStep: (step) => this.steps.push(step),
      onTrouble: (error) => this.troubles.push(error),
      timings: { lookMs: 50, retryMs: 20 },
      ...more,
    };
  }

  async land(more: Partial<LanderOptions> = {}): Promise<LanderEnd> {
    const end = await runLander(this.options(more));
    if (this.troubles.length > 0) throw this.troubles[0];
    return end;
  }

  /** The lease of the lander before has to end first. */
  async landWhenFree(): Promise<void> {
    await until("the lease is free", async () => {
      try {
        await this.land({ timings: { ttlMs: 1_000, lookMs: 50, retryMs: 20 } });
        return true;
      } catch (error) {
        if ((error as { code?: string }).code === "SESSION_BUSY") return false;
        throw error;
      }
    });
  }

  async stateOf({ taskId }: { taskId: string }): Promise<string> {
    return (await this.task(taskId)).state;
  }

  async task(taskId: string) {
    return (await this.dibs.tasks.get({ taskId })).task;
  }

  async submission({ taskId }: { taskId: string }) {
    return (await this.dibs.tasks.submission({ taskId })).submission;
  }

  async holds() {
    const { notifications } = await this.dibs.notifications.list({ unread: true } as never);
    // A lander that has ended leaves an item of its own.
    const isHold = ({ type, title }: { type: string; title: string }) =>
      type === "LANDING_HELD" && title !== "No lander is running";
    return notifications.filter(isHold);
  }

  on(ref: string, file: string): string {
    return git(this.root, "show", `${ref}:${file}`);
  }

  has(ref: string, file: string): boolean {
    return git(this.root, "ls-tree", "-r", "--name-only", ref).split("\n").includes(file);
  }

  read(file: string): string | null {
    const path = join(this.root, file);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }

  get tip(): string {
    return git(this.root, "rev-parse", "main");
  }
}

/** A bare repository and a clone of it, whose work lands on the remote. */
export async function withRemote(land: Land = {}, files?: Files): Promise<{ stage: Stage; remote: string }> {
  const seed = newRepository(files);
  const remote = join(tempDir(), "remote.git");
  git(seed, "clone", "--quiet", "--bare", seed, remote);
  const stage = await Stage.open({ root: clone(remote), land: { remote: "origin", ...land } });
  return { stage, remote };
}

export function clone(remote: string): string {
  const path = join(tempDir(), "clone");
  // Not by links: a clone has what is reachable, and nothing else.
  git(remote, "clone", "--quiet", "--no-local", remote, path);
  git(path, "config", "user.name", "Person");
  git(path, "config", "user.email", "person@example.com");
  return path;
}

/** A worker on another machine: its commit reaches the remote only. */
export async function handInElsewhere(
  stage: Stage,
  remote: string,
  files: Record<string, string>,
): Promise<string> {
  const path = clone(remote);
  write(path, files);
  git(path, "add", "-A");
  git(path, "commit", "--quiet", "-m", "elsewhere");
  const commit = git(path, "rev-parse", "HEAD");
  const { task } = await stage.dibs.tasks.create({ prompt: "x" });
  await stage.dibs.tasks.claim({ taskId: task.id, sessionId: "agent", start: true });
  const branch = `dibs/${task.id}`;
  const refs = [`HEAD:${submissionRef(task.project, task.id, 1)}`, `HEAD:refs/heads/${branch}`];
  git(path, "push", "--quiet", "origin", ...refs);
  const submission = { taskId: task.id, sessionId: "agent", commit, branch, result: { output: "" } };
  await stage.dibs.tasks.submit(submission as never);
  return task.id;
}

/** As a person does it who works on a clone. */
export function push(path: string, files: Files, message = "person"): void {
  git(path, "pull", "--quiet", "--rebase", "origin", "main");
  write(path, files);
  git(path, "add", "-A");
  git(path, "commit", "--quiet", "-m", message);
  git(path, "push", "--quiet", "origin", "main");
}

/** Ends a lander before an effect, as a crash does. */
export const crashBefore = (name: string) => ({
  before: (effect: string) => {
    if (effect === name) throw new Error(`crashed before: ${name}`);
  },
});

/** Does something once, before an effect. */
export function onceBefore(name: string, act: () => unknown): { before(effect: string): Promise<void> } {
  let isDone = false;
  return {
    before: async (effect) => {
      if (effect !== name || isDone) return;
      isDone = true;
      await act();
    },
  };
}

/** A check that is a small script of Node. */
export function check(name: string, script: string, more: Record<string, unknown> = {}) {
  return { name, run: [process.execPath, "-e", script], timeoutMs: 60_000, paths: [], ...more };
}
