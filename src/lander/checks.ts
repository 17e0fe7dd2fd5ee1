// Setup and checks, on exactly the tree that would land: without a shell, in a process group of their own, with a time limit,
// and with logs that are bounded.

import { createHash } from "node:crypto";
import type { WireProject } from "../contract/shapes.js";
import { type Check, runCheck } from "../runner/check-process.js";
import { git, gitOr } from "../runner/git.js";
import { Tail } from "../runner/output.js";
import type { Machine } from "../runner/processes.js";
import { Guard } from "./guard.js";
import { Held } from "./hold.js";
import type { LandingWorktree } from "./worktree.js";

type Settings = WireProject["settings"]["land"];

export interface CheckResult {
  name: string;
  state: "passed" | "failed" | "flaky" | "timed-out";
  exitCode: number | null;
  durationMs: number;
  tree: string;
  ranBy: string;
  logTail: string;
}

export const isGreen = ({ state }: CheckResult) => state === "passed" || state === "flaky";

/** A commit that would land, or the target itself. */
export interface Checked {
  commit: string;
  tree: string;
}

export interface CheckOptions {
  worktree: LandingWorktree;
  machine: Machine;
  /** Who runs them, for the record. */
  ranBy: string;
  guardFile?: string | undefined;
  /** The lease is lost or the lander stops: what runs is ended. */
  signal: AbortSignal;
  onResult?(result: CheckResult): void;
}

const rememberedMax = 500;
const setupTimeoutMs = 30 * 60_000;
const logTailMax = 4_000;
/** Of the setup among the checks: no check can have it. */
const setupName = "(setup)";
const setupFailed = "setup failed\n";

export class Checks {
  /** What passed or failed on which tree; a result counts for the same tree, command and setup. */
  private readonly known = new Map<string, CheckResult>();
  private setUp: { run: string; commit: string } | null = null;
  private readonly guard: Guard;
  /** Checks that could not be started when they ran last. */
  private readonly unstartable = new Set<string>();

  constructor(private readonly options: CheckOptions) {
    this.guard = new Guard(options.guardFile);
  }

  /** The results of all checks that apply, up to the first red one. `base`: where the changes begin. */
  async run(settings: Settings, on: Checked, base: string): Promise<CheckResult[]> {
    const results: CheckResult[] = [];
    for (const check of settings.checks) {
      if (!(await applies(this.options.worktree.path, check.paths, base, on.commit))) continue;
      const result = await this.twice(settings, check, on);
      results.push(result);
      this.options.onResult?.(result);
      if (!isGreen(result)) break;
    }
    return results;
  }

  /** A red check runs once more. */
  private async twice(settings: Settings, check: Check, on: Checked): Promise<CheckResult> {
    const key = keyOf(settings, check, on.tree);
    return this.known.get(key) ?? this.again(settings, check, on);
  }

  /** Whatever is known about the tree. */
  private async again(settings: Settings, check: Check, on: Checked): Promise<CheckResult> {
    const key = keyOf(settings, check, on.tree);
    let result = await this.once(settings, check, on);
    if (!isGreen(result)) {
      const again = await this.once(settings, check, on);
      result = isGreen(again) ? { ...again, state: "flaky" } : again;
    }
    this.known.set(key, result);
    if (this.known.size > rememberedMax) this.known.delete(this.known.keys().next().value!);
    return result;
  }

  /**
   * The same check on the target, run now: if it is red there, too, that is no submission's fault. What passed there earlier says
   * nothing about it, because the cause can be outside of the tree.
   */
  async refuseRedTarget(settings: Settings, name: string, target: string, base: Checked): Promise<void> {
    const check = settings.checks.find((each) => each.name === name);
    if (!check) return;
    const result = await this.again(settings, check, base);
    if (isGreen(result)) return;
    this.forgetRed();
    const { setup } = settings;
    if (setup !== null && result.logTail.startsWith(setupFailed))
      throw setupRed(setup, result, { target, isStarted: !this.unstartable.has(setupName) });
    throw this.unstartable.has(name) ? cannotStart(check, result) : targetRed(result, target);
  }

  /** What was red because of the target runs again. */
  forgetRed(): void {
    for (const [key, known] of this.known) if (!isGreen(known)) this.known.delete(key);
  }

  private async once(settings: Settings, check: Check, on: Checked): Promise<CheckResult> {
    const { worktree } = this.options;
    await worktree.show(on.commit);
    const prepared = await this.prepare(settings.setup, on);
    if (prepared) return { ...prepared, name: check.name };
    // What the setup changed in the tree, or left without git ignoring it, does not land.
    await worktree.show(on.commit);
    return this.execute(check, on.tree);
  }

  /** Runs the setup if its paths changed since it ran last; the answer is its result if it failed. */
  private async prepare(setup: Settings["setup"], on: Checked): Promise<CheckResult | null> {
    if (setup === null) return null;
    const { path } = this.options.worktree;
    const run = JSON.stringify(setup.run);
    const before = this.setUp;
    const isSame =
      before?.run === run &&
      (setup.paths.length === 0 || !(await applies(path, setup.paths, before.commit, on.commit)));
    if (isSame) return null;
    this.setUp = null;
    const result = await this.execute(
      { name: setupName, run: setup.run, timeoutMs: setupTimeoutMs },
      on.tree,
    );
    if (!isGreen(result)) return { ...result, logTail: `${setupFailed}${result.logTail}` };
    this.setUp = { run, commit: on.commit };
    return null;
  }

  private async execute(
    command: Pick<Check, "name" | "run" | "timeoutMs">,
    tree: string,
  ): Promise<CheckResult> {
    const { worktree, ranBy, signal, machine } = this.options;
    const { name, timeoutMs } = command;
    this.unstartable.delete(name);
    const tail = new Tail(logTailMax);
    worktree.isChanged();
    try {
      const { error, ...result } = await runCheck(command, {
        root: worktree.path,
        env: process.env,
        signal,
        onOutput: (text) => tail.add(text),
        onStart: (pid) => {
          this.guard.protect(pid);
          worktree.running({
            host: machine.hostId,
            pid,
            pgid: pid,
            processStartedAt: machine.processStart(pid),
          });
        },
      });
      signal.throwIfAborted();
      if (error !== undefined) this.unstartable.add(name);
      const end =
        error !== undefined
          ? `cannot be started: ${error}\n`
          : result.state === "timed-out"
            ? `ended after ${timeoutMs} ms\n`
            : "";
      return { ...result, tree, ranBy, logTail: `${end}${tail.read()}` };
    } finally {
      this.guard.protect(0);
      worktree.running(null);
      await worktree.detach();
    }
  }

  close(): void {
    this.guard.close();
  }
}

function cannotStart({ name, run }: Check, { logTail }: CheckResult): Held {
  const why = logTail.split("\n")[0]!.replace("cannot be started: ", "");
  return new Held({
    reason: "CHECK_CANNOT_START",
    message: `Check ${name} (${run.join(" ").slice(0, 200)}) cannot be started: ${why}.`,
    fix: `dibs check add ${name} -- <command>`,
  });
}

function setupRed(
  { run }: { run: string[] },
  result: CheckResult,
  { target, isStarted }: { target: string; isStarted: boolean },
): Held {
  const line = run.join(" ").slice(0, 200);
  const why = result.logTail.slice(setupFailed.length).split("\n")[0]!;
  return new Held({
    reason: isStarted ? "TARGET_RED" : "CHECK_CANNOT_START",
    message: isStarted
      ? `The setup of landing (${line}) ${endOf(result)} on ${target} itself, so nothing is checked.`
      : `The setup of landing (${line}) ${why}.`,
    fix: "dibs project show",
  });
}

const endOf = ({ state, exitCode }: CheckResult) =>
  state === "timed-out" ? "times out" : `exits with code ${exitCode}`;

function targetRed(result: CheckResult, target: string): Held {
  const { name } = result;
  return new Held({
    reason: "TARGET_RED",
    message: `Check ${name} ${endOf(result)} on ${target} itself, so nothing lands until ${target} is fixed.`,
    fix: `dibs check run ${name}`,
  });
}

/** Whether one of the paths is changed between two commits; without paths: always. */
export async function applies(
  cwd: string,
  paths: readonly string[],
  from: string,
  to: string,
): Promise<boolean> {
  if (paths.length === 0) return true;
  const globs = paths.map((path) => `:(glob)${path}`);
  return (await gitOr(cwd, ["diff", "--quiet", "--no-renames", from, to, "--", ...globs])) === null;
}

function keyOf(settings: Settings, { name, run, timeoutMs }: Check, tree: string): string {
  const command = JSON.stringify([tree, name, run, timeoutMs, settings.setup]);
  return createHash("sha256").update(command).digest("base64");
}

export async function treeOf(cwd: string, commit: string): Promise<string> {
  return git(cwd, ["rev-parse", `${commit}^{tree}`]);
}
