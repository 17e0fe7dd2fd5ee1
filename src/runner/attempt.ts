// One claimed task from its claim to its report: end what an earlier attempt left, start the command, hold the lease while it
// runs, end it when the task is no longer ours, and say how it went.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  HeldClaim,
  type HolderOf,
  isLost,
  isSubmitted,
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
import { ChangedPaths } from "./changed-paths.js";
import { needsBrief, startRequestFor } from "./command.js";
import { gitOr, inTurn, withoutRepository } from "./git.js";
import type { Group } from "./group.js";
import {
  branchesOf,
  type Conflicts,
  type ProjectPlan,
  planOf,
  refuseUnlandable,
  startFor,
  startOnDependencies,
  startOnTarget,
} from "./landing-worktree.js";
import { type Limit, LimitWatch } from "./limit.js";
import { type AtEnd, holdFor, limitReason, reportUsage } from "./limited.js";
import { Log } from "./log.js";
import { NotMerged } from "./merge.js";
import type { AttemptEnd, RunnerOptions, Timings } from "./options.js";
import { Output } from "./output.js";
import { NotPrepared, prepare } from "./prepare.js";
import { type Left, nothing, readResultFile, type TaskOutcome } from "./result.js";
import { handIn, keepSubmission, NotSubmittable } from "./submission.js";
import { endSurvivors } from "./survivors.js";
import type { Target } from "./target.js";
import { TimeLimit } from "./time-limit.js";
import { type Exit, Unstartable } from "./watchdog-messages.js";
import { openWorktree, patiently, repositoryOf, type Worktree } from "./worktree.js";

export interface AttemptParts {
  options: RunnerOptions;
  timings: Timings;
  group: Group;
  /** For what runs before the command. */
  newGroup: () => Group;
  claim: WireClaim;
  task: WireTask;
  /** What earlier attempts left. */
  handover?: string | undefined;
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
  private readonly limits: LimitWatch;
  private verdict: Verdict | null = null;
  private isReporting = false;
  private stopsNow = false;
  private startedAt = 0;
  /** The last commit of the shared directory when the command was started; null: it has none. */
  private head: string | null = null;
  private directory = "";
  private worktree: Worktree | null = null;
  private plan: ProjectPlan | null = null;
  private conflicts: Conflicts | null = null;
  private changed: ChangedPaths | null = null;
  private readonly ending = new AbortController();
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
      changed: () => this.changed?.unreported ?? null,
      onChangedReported: (paths) => this.changed?.wereReported(paths),
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
    this.limits = new LimitWatch(options.command, options.limitPattern);
    this.output = new Output(
      (text) => this.log.add(text),
      (line, stream) => options.output?.(line, { taskId: task.id, stream }),
      (text, stream) => this.limits.add(stream, text),
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
      this.changed?.end();
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
    this.plan = await this.reports.untilAnswered(() => planOf(options.dibs, task.project));
    await this.openWorktree(this.plan);
    await this.reports.start();
    await this.prepareWorktree(this.plan);
    const { resultFile, handoverFile, brief } = await this.prepareFiles();
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
      handoverFile,
      brief,
      promptFile: join(this.directory, "prompt"),
      briefFile: join(this.directory, "brief"),
      scratch: this.directory,
      env: { ...(options.env ?? process.env), ...this.worktree?.env },
      connectionEnv: options.connectionEnv ?? {},
    });
    if (!this.worktree) this.head = await headOf(this.cwd);
    else this.changed = new ChangedPaths(this.worktree, timings.changedEveryMs, () => void this.held.renew());
    this.startedAt = performance.now();
    this.runTimeLimit(!this.held.isWaiting);
    await group.run(request, { brief, prompt: task.prompt, empty: "" }[options.stdin ?? "brief"]);
    if (this.verdict) void group.end();
    const exit = await group.exited;
    // Whoever is still in the group would go on without a claim.
    await group.end();
    this.changed?.end();
    this.output.end();
    this.limits.end();
    const left = await readResultFile(resultFile);
    // Before the report, which may take long: nobody but this process would remove it now.
    await this.removeFiles();
    return this.report(exit, left);
  }

  private async openWorktree(plan: ProjectPlan): Promise<void> {
    const { options, task } = this.parts;
    const { target } = plan;
    const { worktree: where, machine, dibs } = options;
    if (!where || (where.onlyToLand && target === null)) return;
    const env = this.gitEnv;
    if (target === null) {
      const worktree = await openWorktree(where, task, this.by);
      this.worktree = worktree;
      if (!worktree.isNew || task.dependsOn.length === 0) return;
      const branches = await this.reports.untilAnswered(() => branchesOf(dibs, task));
      this.conflicts = await startOnDependencies(worktree.path, branches, env);
      const isMerged = this.conflicts === null;
      await worktree.begin({ isStart: () => isMerged });
      return;
    }
    const root = await repositoryOf(where.root);
    await refuseUnlandable(root, plan, machine);
    const start = await inTurn(root, () => patiently(() => startFor(root, target, task)));
    const worktree = await openWorktree(where, task, this.by, { start, target: target.target });
    this.worktree = worktree;
    this.conflicts = await startOnTarget(worktree.path, { start, target, env });
    await worktree.begin({ isStart: (commit) => commit === start.tip });
  }

  private async prepareWorktree({ settings }: ProjectPlan): Promise<void> {
    const { worktree } = this;
    if (!worktree) return;
    const { options, newGroup } = this.parts;
    await prepare(worktree.path, {
      root: worktree.root,
      settings: settings.worktree,
      env: options.env ?? process.env,
      newGroup,
      signal: this.ending.signal,
      onTrouble: (error) => options.onTrouble?.(error),
    });
  }

  /** Hooks of the user and of the fence run with what the command has. */
  private get gitEnv(): Record<string, string | undefined> {
    const { env = process.env, connectionEnv } = this.parts.options;
    return { ...env, ...connectionEnv, ...withoutRepository };
  }

  /** A directory that only this user can read. */
  private async prepareFiles() {
    const { options, task, handover } = this.parts;
    this.directory = await mkdtemp(join(tmpdir(), "dibs-run-"));
    const resultFile = join(this.directory, "result");
    const place = {
      resultFile,
      branch: this.worktree?.branch ?? null,
      target: this.plan?.target?.target ?? null,
      conflicts: this.conflicts,
    };
    const brief = needsBrief(options)
      ? await this.reports.untilAnswered(() => briefFor(options.dibs, { task, handover }, place))
      : "";
    const texts = { "{promptFile}": ["prompt", task.prompt], "{briefFile}": ["brief", brief] } as const;
    for (const [placeholder, [name, text]] of Object.entries(texts)) {
      if (!options.command.includes(placeholder)) continue;
      await writeFile(join(this.directory, name), text, { mode: 0o600 });
    }
    const handoverFile = handover === undefined ? null : join(this.directory, "handover");
    if (handoverFile !== null) await writeFile(handoverFile, `${handover}\n`, { mode: 0o600 });
    return { resultFile, handoverFile, brief };
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
    await reportUsage(this.atEnd, this.limits.usage);
    if (verdict?.kind === "lost") return this.end("lost", exit, String((verdict.error as Error).message));
    if (verdict?.kind === "reported") {
      await this.keepReported().catch((error) => this.parts.options.onTrouble?.(error));
      return this.end("reported", exit);
    }
    if (verdict?.kind === "stopped") {
      return this.end(await this.reports.release("stopped"), exit, "stopped");
    }
    const limit = verdict === null ? this.limitOf(exit, left) : null;
    if (limit) return this.giveBack(exit, limit);
    if (verdict?.kind === "timeout" || exit.code !== 0 || left.error !== null) {
      const why =
        verdict?.kind === "timeout"
          ? `timed out after ${exactDuration(this.parts.task.timeoutMs ?? 0)}`
          : endOf(exit);
      const quick = verdict === null && left.error === null && !(await this.hasCommitted());
      // What did nothing leaves nothing behind.
      if (quick && performance.now() - this.startedAt <= quickMs) await worktree?.tidy();
      const text = left.error ?? `${why}\n${this.output.lastLines}`.trim();
      const { retryable } = left;
      const outcome = await this.fail(text, { retryable, quick });
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
    const target = this.plan?.target;
    if (worktree && target) return this.submit(exit, result, { worktree, target });
    const commit = (await worktree?.commit()) ?? null;
    const note = worktree ? await worktree.tidy() : null;
    if (note) result.output = `${result.output}\n\n${note}`.trim();
    if (commit !== null) result.commit = commit;
    if (commit !== null && !worktree?.isRemoved) result.branch = worktree?.branch;
    const outcome = await this.reports.complete(result);
    return this.end(outcome, exit, this.reports.releasedFor);
  }

  private get atEnd(): AtEnd {
    return {
      dibs: this.parts.options.dibs,
      by: this.by,
      untilAnswered: (call) => this.reports.untilAnswered(call),
      onTrouble: (error) => this.parts.options.onTrouble?.(error),
    };
  }

  /** What the command says of its own end in the result file comes first. */
  private limitOf({ code }: Exit, { error, result }: Left): Limit | null {
    if (error !== null || (code === 0 && result !== null)) return null;
    return this.limits.judge({ output: this.output.tail, hasFailed: code !== 0, now: Date.now() });
  }

  /**
   * What a task names by itself, such as a test database, is not the agent's account. What the project uses is, where the session
   * names nothing: else workers with another account would stop, too.
   */
  private get resources(): string[] {
    const ofSession = Object.keys(this.parts.options.uses ?? {});
    return ofSession.length > 0 ? ofSession : Object.keys(this.plan?.settings.uses ?? {});
  }

  private async giveBack(exit: Exit, limit: Limit): Promise<AttemptEnd> {
    if (!(await this.hasCommitted())) await this.worktree?.tidy();
    const held = await holdFor(this.atEnd, limit, this.resources);
    const outcome = await this.reports.release(limitReason(limit));
    return this.end(outcome, exit, limitReason(limit), { ...limit, held });
  }

  /** With the place of what is kept, and what it changes: the next attempt goes on from it. */
  private async fail(text: string, how: { retryable: boolean; quick: boolean }): Promise<Outcome> {
    const { worktree } = this;
    if (!worktree || worktree.isRemoved) return this.reports.fail(storable(text), how);
    const changed = await worktree.changed().catch(() => null);
    const where = `worktree kept: ${worktree.path} (branch ${worktree.branch})`;
    const what = changed === null ? "" : `\nchanged in it: ${changed}`;
    return this.reports.fail(storable(`${text}\n${where}${what}`), how);
  }

  /** The command has handed in by itself. */
  private async keepReported(): Promise<void> {
    const { worktree } = this;
    if (!worktree || !this.plan?.target) return;
    const { project, taskId } = this.by;
    const { task } = await this.parts.options.dibs.tasks.get(project ? { project, taskId } : { taskId });
    await keepSubmission(worktree.root, task);
  }

  /** Everything in the worktree is handed in; it stays until it has landed. */
  private async submit(
    exit: Exit,
    { commit: _, branch: __, ...result }: TaskOutcome,
    { worktree, target }: { worktree: Worktree; target: Target },
  ): Promise<AttemptEnd> {
    const { task, options } = this.parts;
    const { hostId: host } = options.machine;
    // What an attempt hands in that has ended must not take the place of its successor's.
    const confirm = async () => {
      const ended = await this.reports.ended();
      if (ended) throw new Ended(ended);
    };
    try {
      await confirm();
      const handedIn = await handIn(worktree, { task, target, env: this.gitEnv, confirm });
      const { commit, branch } = handedIn ?? {};
      const outcome = await this.reports.submit({ ...result, commit, branch }, { ...handedIn, host });
      if (outcome !== "completed") return this.end(outcome, exit, this.reports.releasedFor);
      const note = handedIn ? null : await worktree.tidy();
      if (note !== null) options.onTrouble?.(new Error(note));
      return this.end(outcome, exit, isSubmitted);
    } catch (error) {
      if (error instanceof Ended) return this.end(error.outcome, exit);
      const why = whyNotSubmitted(error);
      if (why === null) throw error;
      const outcome = await this.fail(why, { retryable: true, quick: false });
      return this.end(outcome, exit, why);
    }
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
    if (error instanceof NotPrepared) {
      return this.end(await this.fail(error.message, { retryable: true, quick: true }), exit, error.message);
    }
    if (error instanceof NotMerged) {
      return this.end(await this.fail(error.message, { retryable: true, quick: false }), exit, error.message);
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
    this.ending.abort();
    void this.parts.group.end();
  }

  private async end(
    outcome: Outcome,
    { code, signal }: Exit,
    reason: string | null = null,
    limit?: AttemptEnd["limit"],
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
      ...(limit ? { limit } : {}),
    };
    this.parts.options.onEnd?.(end);
    return end;
  }
}

const headOf = (cwd: string) => gitOr(cwd, ["rev-parse", "--verify", "--quiet", "HEAD"]);
/** The claim ended before its report. */
class Ended extends Error {
  constructor(readonly outcome: Outcome) {
    super(outcome);
  }
}

/** Null: it is no reason to fail the attempt. */
function whyNotSubmitted(error: unknown): string | null {
  if (error instanceof NotSubmittable) return error.message;
  if (!(error instanceof DibsError) || error.code !== "REMOTE_REQUIRED") return null;
  return [error.message, error.hint].filter(Boolean).join("\n");
}

const forGood = { retryable: false, quick: false };

const nobodySaw: Exit = { code: null, signal: null };

function endOf({ code, signal }: Exit): string {
  if (code !== null) return `exited with code ${code}`;
  return signal === null ? "ended with an unknown exit code" : `was ended by ${signal}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
