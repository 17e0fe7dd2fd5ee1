// One claimed task from its claim to its report: end what an earlier attempt left, start the command, hold the lease while it
// runs, end it when the task is no longer ours, and say how it went.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  HeldClaim,
  type HolderOf,
  isLost,
  isTransient,
  type Outcome,
  Reports,
  storable,
  waitsForAnswer,
} from "../client/holding/index.js";
import { exactDuration, quickMs } from "../contract/duration.js";
import { DibsError } from "../contract/error.js";
import type { WireClaim, WireEvent, WireTask } from "../contract/shapes.js";
import { briefFor } from "./brief.js";
import { needsBrief, startRequestFor } from "./command.js";
import { gitOr } from "./git.js";
import type { Group } from "./group.js";
import { Log } from "./log.js";
import type { AttemptEnd, RunnerOptions, Timings } from "./options.js";
import { Output } from "./output.js";
import { type Left, nothing, readResultFile, type TaskOutcome } from "./result.js";
import { endSurvivors } from "./survivors.js";
import { TimeLimit } from "./time-limit.js";
import { type Exit, Unstartable } from "./watchdog-messages.js";
import { openWorktree, type Worktree } from "./worktree.js";

export interface AttemptParts {
  options: RunnerOptions;
  timings: Timings;
  group: Group;
  claim: WireClaim;
  task: WireTask;
  /** By this process's clock, when the claim was asked for. */
  askedAt: number;
  /** The task was made for this command: if that cannot be started, it is of no use to others. */
  isOwn: boolean;
  /** From here on every report is tried once; from `silence` on nothing is sent. */
  hurry: AbortSignal;
  silence: AbortSignal;
}

/** Why the command is ended before its own end; the first reason counts. */
type Verdict =
  | { kind: "lost"; error: unknown }
  | { kind: "timeout" }
  | { kind: "stopped" }
  | { kind: "reported" };

export class Attempt {
  private readonly by: HolderOf;
  private readonly held: HeldClaim;
  private readonly timeLimit: TimeLimit;
  private readonly reports: Reports<TaskOutcome>;
  private readonly log: Log;
  private readonly output: Output;
  private verdict: Verdict | null = null;
  private isReporting = false;
  private stopsNow = false;
  private startedAt = 0;
  /** The last commit of the shared directory when the command was started; null: it has none. */
  private head: string | null = null;
  private directory = "";
  private worktree: Worktree | null = null;
  private afterReport: NodeJS.Timeout | null = null;

  constructor(private readonly parts: AttemptParts) {
    const { options, timings, claim, task, askedAt, hurry, silence } = parts;
    const { dibs } = options;
    const { epoch, sessionId, ttlMs } = claim;
    this.by = { project: task.project, taskId: task.id, sessionId, epoch };
    this.timeLimit = new TimeLimit(task.timeoutMs, () => this.decide({ kind: "timeout" }));
    this.held = new HeldClaim({
      dibs: () => dibs,
      by: this.by,
      ttlMs,
      askedAt,
      // The command must have ended when the lease does.
      marginMs: Math.min(timings.killGraceMs, ttlMs / 4),
      onLost: (error) => void this.lose(error),
      onWaiting: (isWaiting) => this.runTimeLimit(!isWaiting),
      onTrouble: (error) => options.onTrouble?.(error),
    });
    this.reports = new Reports<TaskOutcome>(dibs, this.held, {
      retryMs: timings.retryMs,
      hurry,
      silence,
      shorten: ({ output }) => ({ output: output.slice(0, 1_000), filesCreated: [], filesModified: [] }),
      onTrouble: (error) => options.onTrouble?.(error),
    });
    this.log = new Log({
      append: (text) => dibs.tasks.appendLog({ ...this.by, text }),
      onLost: (error) => void this.lose(error),
      everyMs: timings.logEveryMs,
      gapMs: timings.logGapMs,
    });
    this.output = new Output(
      (text) => this.log.add(text),
      (line, stream) => options.output?.(line, { taskId: task.id, stream }),
    );
  }

  get isWaiting(): boolean {
    return this.held.isWaiting;
  }

  notice(event: WireEvent): void {
    this.held.notice(event);
  }

  renew(signal?: AbortSignal): Promise<boolean> {
    return this.held.renew(signal);
  }

  /** From the start of the command, except while a question is open. */
  private runTimeLimit(runs: boolean): void {
    if (runs && this.startedAt > 0) this.timeLimit.run();
    else this.timeLimit.pause();
  }

  /** Ends the command and gives the task back. */
  stop({ now }: { now: boolean }): void {
    this.stopsNow ||= now;
    this.decide({ kind: "stopped" });
    if (now) void this.parts.group.end({ now });
  }

  async run(): Promise<AttemptEnd> {
    const { group, options, claim, task } = this.parts;
    try {
      options.onStart?.(claim, task);
      return await this.runCommand();
    } catch (error) {
      return await this.giveUp(error);
    } finally {
      this.held.end();
      this.timeLimit.pause();
      if (this.afterReport) clearTimeout(this.afterReport);
      await group.end();
      await this.removeFiles();
    }
  }

  private async runCommand(): Promise<AttemptEnd> {
    const { group, options, timings, task } = this.parts;
    if (this.verdict) return this.report(nobodySaw, nothing);
    void this.held.renew();
    const ended = await endSurvivors(
      options.dibs,
      { project: task.project, taskId: task.id, epoch: this.by.epoch },
      options.machine,
      timings.killGraceMs,
    );
    for (const pgid of ended)
      options.onTrouble?.(new Error(`ended process group ${pgid} of an earlier attempt`));
    if (options.worktree) this.worktree = await openWorktree(options.worktree, task, this.by);
    await this.reports.start();
    const { resultFile, brief } = await this.prepareFiles();
    // Stopped or lost before anything was started.
    if (this.verdict) return this.report(nobodySaw, nothing);
    this.output.read("stdout", group.output.stdout);
    this.output.read("stderr", group.output.stderr);
    const request = startRequestFor(options.command, {
      task,
      sessionId: this.by.sessionId,
      epoch: this.by.epoch,
      cwd: this.cwd,
      resultFile,
      brief,
      promptFile: join(this.directory, "prompt"),
      briefFile: join(this.directory, "brief"),
      scratch: this.directory,
      env: { ...(options.env ?? process.env), ...this.worktree?.env },
      connectionEnv: options.connectionEnv ?? {},
    });
    if (!this.worktree) this.head = await headOf(this.cwd);
    this.startedAt = performance.now();
    this.runTimeLimit(!this.held.isWaiting);
    await group.run(request, { brief, prompt: task.prompt, empty: "" }[options.stdin ?? "brief"]);
    if (this.verdict) void group.end();
    const exit = await group.exited;
    // Whoever is still in the group would go on without a claim.
    await group.end();
    this.output.end();
    const left = await readResultFile(resultFile);
    // Before the report, which may take long: nobody but this process would remove it now.
    await this.removeFiles();
    return this.report(exit, left);
  }

  /** A directory that only this user can read. */
  private async prepareFiles(): Promise<{ resultFile: string; brief: string }> {
    const { options, task } = this.parts;
    this.directory = await mkdtemp(join(tmpdir(), "dibs-run-"));
    const resultFile = join(this.directory, "result");
    const place = { resultFile, branch: this.worktree?.branch ?? null };
    const brief = needsBrief(options)
      ? await this.reports.untilAnswered(() => briefFor(options.dibs, task, place))
      : "";
    const texts = { "{promptFile}": ["prompt", task.prompt], "{briefFile}": ["brief", brief] } as const;
    for (const [placeholder, [name, text]] of Object.entries(texts)) {
      if (!options.command.includes(placeholder)) continue;
      await writeFile(join(this.directory, name), text, { mode: 0o600 });
    }
    return { resultFile, brief };
  }

  private get cwd(): string {
    return this.worktree?.path ?? this.parts.options.cwd ?? process.cwd();
  }

  /** In a directory of its own; or anybody's in the shared one, where the agents cannot be told apart. */
  private async hasCommitted(): Promise<boolean> {
    if (this.worktree) return this.worktree.hasNewCommits();
    return this.head !== null && (await headOf(this.cwd)) !== this.head;
  }

  private async removeFiles(): Promise<void> {
    if (this.directory !== "") await rm(this.directory, { recursive: true, force: true });
  }

  private async report(exit: Exit, left: Left): Promise<AttemptEnd> {
    const { verdict, worktree } = this;
    if (verdict?.kind !== "lost") await this.log.close(this.stopsNow ? 1_000 : 5_000);
    this.isReporting = true;
    if (verdict?.kind === "lost") return this.end("lost", exit, String((verdict.error as Error).message));
    if (verdict?.kind === "reported") return this.end("reported", exit);
    if (verdict?.kind === "stopped") {
      return this.end(await this.reports.release("stopped"), exit, "stopped");
    }
    if (verdict?.kind === "timeout" || exit.code !== 0 || left.error !== null) {
      const why =
        verdict?.kind === "timeout"
          ? `timed out after ${exactDuration(this.parts.task.timeoutMs ?? 0)}`
          : endOf(exit);
      const quick = verdict === null && left.error === null && !(await this.hasCommitted());
      // What did nothing leaves nothing behind.
      if (quick && performance.now() - this.startedAt <= quickMs) await worktree?.tidy();
      const isKept = worktree && !worktree.isRemoved;
      const where = isKept ? `\nworktree kept: ${worktree.path} (branch ${worktree.branch})` : "";
      const text = left.error ?? `${why}\n${this.output.lastLines}`.trim();
      const { retryable } = left;
      const outcome = await this.reports.fail(storable(text + where), { retryable, quick });
      return this.end(outcome, exit, left.error ?? why);
    }
    const result: TaskOutcome = left.result ?? {
      output: this.output.result,
      filesCreated: [],
      filesModified: [],
    };
    if (this.held.isWaiting) {
      const outcome = await this.reports.release(waitsForAnswer);
      return this.end(outcome, exit, this.reports.releasedFor);
    }
    const commit = (await worktree?.commit()) ?? null;
    const note = worktree ? await worktree.tidy() : null;
    if (note) result.output = `${result.output}\n\n${note}`.trim();
    if (commit !== null) result.commit = commit;
    if (commit !== null && !worktree?.isRemoved) result.branch = worktree?.branch;
    const outcome = await this.reports.complete(result);
    return this.end(outcome, exit, this.reports.releasedFor);
  }

  /** The command never ran, or something broke on the way: the task goes back, unless it is the task's own fault. */
  private async giveUp(error: unknown): Promise<AttemptEnd> {
    this.isReporting = true;
    await this.parts.group.end();
    this.output.end();
    const exit = nobodySaw;
    if (this.verdict?.kind === "lost" || isLost(error)) return this.end("lost", exit, messageOf(error));
    if (this.verdict?.kind === "stopped") {
      return this.end(await this.reports.release("stopped"), exit, "stopped");
    }
    if (error instanceof Unstartable && error.code === "E2BIG") {
      const text = "The prompt is too long to be an argument; give it on standard input or as {promptFile}.";
      return this.end(await this.reports.fail(text, forGood), exit, text);
    }
    if (error instanceof Unstartable && error.code !== "WATCHDOG") {
      const reason = `cannot start ${this.parts.options.command[0]}`;
      if (this.parts.isOwn) await this.reports.fail(storable(`${reason}: ${error.message}`), forGood);
      else await this.reports.release(reason.slice(0, 500));
      throw new DibsError("VALIDATION_FAILED", `Cannot start the command: ${error.message}`, {
        hint: "Check that it exists, can be executed, and that the directory is there.",
        cause: error,
      });
    }
    if (!isTransient(error)) this.parts.options.onTrouble?.(error);
    const reason = messageOf(error).slice(0, 500) || "the runner failed";
    return this.end(await this.reports.release(reason), exit, reason);
  }

  /** A holder's call was refused, or an event says that the claim is over. */
  private async lose(error: unknown): Promise<void> {
    if (this.isReporting || this.verdict) return;
    if (error instanceof DibsError && error.details.reason === "timeout") {
      this.decide({ kind: "timeout" });
      return;
    }
    const mayBeItsOwn = error instanceof DibsError && error.code === "TASK_NOT_CLAIMED";
    if (mayBeItsOwn && (await this.reports.wasReported().catch(() => false))) {
      if (this.verdict || this.isReporting) return;
      this.verdict = { kind: "reported" };
      // It has said how it went; what is left is to say goodbye.
      this.afterReport = setTimeout(() => void this.parts.group.end(), this.parts.timings.afterReportMs);
      return;
    }
    this.decide({ kind: "lost", error });
  }

  private decide(verdict: Verdict): void {
    if (this.isReporting || (this.verdict && this.verdict.kind !== "reported")) return;
    this.verdict ??= verdict;
    void this.parts.group.end();
  }

  private async end(
    outcome: Outcome,
    { code, signal }: Exit,
    reason: string | null = null,
  ): Promise<AttemptEnd> {
    const { project, id: taskId } = this.parts.task;
    const { worktree } = this;
    const kept = worktree && !worktree.isRemoved ? { path: worktree.path, branch: worktree.branch } : null;
    // Where the claim was lost the fence stays: somebody of that attempt may still be there.
    if (kept && outcome !== "lost") await worktree?.removeFence();
    const end: AttemptEnd = {
      taskId,
      project,
      epoch: this.by.epoch,
      sessionId: this.by.sessionId,
      outcome,
      exitCode: code,
      signal,
      reason,
      worktree: kept,
    };
    this.parts.options.onEnd?.(end);
    return end;
  }
}

const headOf = (cwd: string) => gitOr(cwd, ["rev-parse", "--verify", "--quiet", "HEAD"]);
const forGood = { retryable: false, quick: false };

const nobodySaw: Exit = { code: null, signal: null };

function endOf({ code, signal }: Exit): string {
  if (code !== null) return `exited with code ${code}`;
  return signal === null ? "ended with an unknown exit code" : `was ended by ${signal}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
