// One claimed review from its claim to its verdict: run the command on the submission, hold the review's lease while it runs, and
// report the verdict that it left in its file. Without one the review is released.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { gatherReview, type ReviewFacts, type WireSubmission } from "../client/brief/review-facts.js";
import { HeldClaim, type HolderOf, hasCode, isLost, Reports } from "../client/holding/index.js";
import { DibsError } from "../contract/error.js";
import type { WireClaim, WireEvent, WireTask } from "../contract/shapes.js";
import { startRequestFor } from "./command.js";
import { withoutRepository } from "./git.js";
import type { Group } from "./group.js";
import { type Limit, LimitWatch } from "./limit.js";
import { type AtEnd, holdFor, limitReason } from "./limited.js";
import type { AttemptEnd, RunnerOptions, Timings } from "./options.js";
import { Output } from "./output.js";
import { reviewBrief } from "./review-brief.js";
import { type GivenVerdict, readVerdict } from "./review-result.js";
import { openReviewWorktree, type ReviewWorktree } from "./review-worktree.js";
import { type Exit, Unstartable } from "./watchdog-messages.js";

interface ReviewParts {
  options: RunnerOptions;
  timings: Timings;
  group: Group;
  claim: WireClaim;
  task: WireTask;
  /** What is to be reviewed. */
  submission: WireSubmission;
  askedAt: number;
  hurry: AbortSignal;
  silence: AbortSignal;
}

const nobodySaw: Exit = { code: null, signal: null };

/** What a verdict is called where attempts are listed. */
export const verdictWords = { approve: "approved", "request-changes": "changes requested" } as const;

export class ReviewAttempt {
  readonly isWaiting = false;
  private readonly by: HolderOf;
  private readonly held: HeldClaim;
  private readonly reports: Reports;
  private readonly output: Output;
  private readonly limits: LimitWatch;
  private ended: { kind: "lost"; error: unknown } | { kind: "stopped" } | null = null;
  private isReporting = false;
  private directory = "";
  private worktree: ReviewWorktree | null = null;

  constructor(private readonly parts: ReviewParts) {
    const { options, timings, claim, task, askedAt, hurry, silence } = parts;
    const { dibs } = options;
    const { epoch, sessionId, ttlMs } = claim;
    const onTrouble = (error: unknown) => options.onTrouble?.(error);
    this.by = { project: task.project, taskId: task.id, sessionId, epoch };
    this.held = new HeldClaim({
      dibs: () => dibs,
      by: this.by,
      ttlMs,
      askedAt,
      // The command must have ended when the lease does.
      marginMs: Math.min(timings.killGraceMs, ttlMs / 4),
      onLost: (error) => this.end({ kind: "lost", error }),
      onTrouble,
    });
    this.reports = new Reports(dibs, this.held, { retryMs: timings.retryMs, hurry, silence, onTrouble });
    this.limits = new LimitWatch(options.command, options.limitPattern);
    this.output = new Output(
      () => undefined,
      (line, stream) => options.output?.(line, { taskId: task.id, stream }),
      (text, stream) => this.limits.add(stream, text),
    );
  }

  /** Another reviewer, the lander or a person may have ended what is reviewed: the store knows. */
  notice(event: WireEvent): void {
    const { taskId, project, sessionId } = this.by;
    if (event.taskId !== taskId || event.project !== project || event.sessionId === sessionId) return;
    void this.look().catch(() => undefined);
  }

  renew(signal?: AbortSignal): Promise<boolean> {
    return this.held.renew(signal);
  }

  stop({ now }: { now: boolean }): void {
    this.end({ kind: "stopped" });
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
      await group.end();
      await this.removeFiles();
    }
  }

  private async look(): Promise<void> {
    const { project, taskId } = this.by;
    const { dibs } = this.parts.options;
    const on = project === undefined ? { taskId } : { project, taskId };
    const { submission } = await dibs.tasks.submission(on);
    const { number } = this.parts.submission;
    if (submission.number === number && submission.stage !== null && !submission.approved) return;
    const decided = submission.reviews.findLast(({ verdict }) => verdict !== null);
    const verdict = decided?.verdict === "approve" ? "was approved" : "was sent back";
    const how = submission.number === number && decided ? `${verdict} by ${decided.by}` : "has ended";
    this.held.lose(new DibsError("STALE_SUBMISSION", `Submission ${number} of task ${taskId} ${how}.`));
  }

  private async runCommand(): Promise<AttemptEnd> {
    const { group, options, submission } = this.parts;
    if (this.ended) return this.report(nobodySaw, null);
    const { project, taskId } = this.by;
    const on = project === undefined ? { taskId } : { project, taskId };
    const facts = await this.reports.untilAnswered(() => gatherReview(options.dibs, on, submission));
    this.worktree = await this.openWorktree();
    const { resultFile, patchFile, brief } = await this.prepareFiles(facts);
    // Stopped or lost before anything was started.
    if (this.ended) return this.report(nobodySaw, null);
    this.output.read("stdout", group.output.stdout);
    this.output.read("stderr", group.output.stderr);
    const { sessionId, epoch } = this.by;
    const request = startRequestFor(this.command, {
      task: facts.task,
      sessionId,
      epoch,
      cwd: this.worktree?.path ?? this.directoryOfRunner,
      resultFile,
      handoverFile: null,
      brief,
      promptFile: join(this.directory, "prompt"),
      briefFile: join(this.directory, "brief"),
      scratch: this.directory,
      env: { ...(options.env ?? process.env), ...(this.worktree ? withoutRepository : {}) },
      connectionEnv: {
        ...options.connectionEnv,
        DIBS_REVIEW: "1",
        DIBS_SUBMISSION: String(submission.number),
        DIBS_PATCH_FILE: patchFile ?? undefined,
      },
    });
    await group.run(request, options.stdin === "empty" ? "" : brief);
    if (this.ended) void group.end();
    const exit = await group.exited;
    await group.end();
    this.output.end();
    this.limits.end();
    const verdict = await readVerdict(resultFile);
    await this.removeFiles();
    return this.report(exit, verdict);
  }

  private get directoryOfRunner(): string {
    return this.parts.options.cwd ?? process.cwd();
  }

  /** The reviewer's own program: a relative path must not name a file of the submission. */
  private get command(): readonly string[] {
    const [file = "", ...args] = this.parts.options.command;
    return file.includes("/") && !isAbsolute(file)
      ? [resolve(this.directoryOfRunner, file), ...args]
      : [file, ...args];
  }

  private async openWorktree(): Promise<ReviewWorktree | null> {
    const { submission, task, options } = this.parts;
    const { number, commit } = submission;
    if (commit === null) return null;
    return openReviewWorktree(this.directoryOfRunner, { taskId: task.id, number, commit }, options.machine);
  }

  /** A directory that only this user can read. */
  private async prepareFiles(facts: ReviewFacts) {
    const { command } = this.parts.options;
    this.directory = await mkdtemp(join(tmpdir(), "dibs-review-"));
    const write = (name: string, text: string) =>
      writeFile(join(this.directory, name), text, { mode: 0o600 });
    const resultFile = join(this.directory, "result");
    const patchFile = facts.patch ? join(this.directory, "patch") : null;
    if (facts.patch) await write("patch", facts.patch.patch);
    const brief = reviewBrief(facts, { resultFile, patchFile, isCheckedOut: this.worktree !== null });
    if (command.includes("{promptFile}")) await write("prompt", facts.task.prompt);
    if (command.includes("{briefFile}")) await write("brief", brief);
    return { resultFile, patchFile, brief };
  }

  private async removeFiles(): Promise<void> {
    if (this.directory !== "") await rm(this.directory, { recursive: true, force: true });
    await this.worktree?.remove().catch((error) => this.parts.options.onTrouble?.(error));
    this.worktree = null;
  }

  private async report(exit: Exit, left: GivenVerdict | { missing: string } | null): Promise<AttemptEnd> {
    this.isReporting = true;
    if (this.ended?.kind === "lost") return this.lost(this.ended.error, exit);
    if (this.ended) return this.release("stopped", exit);
    const hasVerdict = exit.code === 0 && left !== null && !("missing" in left);
    const limit = hasVerdict ? null : this.limitOf(exit);
    if (limit) return this.giveBack(exit, limit);
    if (exit.code !== 0) return this.release(`the command ${endOf(exit)}`, exit);
    if (left === null || "missing" in left) return this.release(left?.missing ?? "no verdict", exit);
    return this.give(left, exit);
  }

  private limitOf({ code }: Exit): Limit | null {
    return this.limits.judge({ output: this.output.tail, hasFailed: code !== 0, now: Date.now() });
  }

  private async giveBack(exit: Exit, limit: Limit): Promise<AttemptEnd> {
    const { dibs, uses = {}, onTrouble = () => undefined } = this.parts.options;
    const atEnd: AtEnd = {
      dibs,
      by: this.by,
      untilAnswered: (call) => this.reports.untilAnswered(call),
      onTrouble,
    };
    const held = await holdFor(atEnd, limit, Object.keys(uses));
    return { ...(await this.release(limitReason(limit), exit)), limit: { ...limit, held } };
  }

  private async give({ verdict, findings }: GivenVerdict, exit: Exit): Promise<AttemptEnd> {
    const { dibs } = this.parts.options;
    const on = { ...this.by, submission: this.parts.submission.number };
    try {
      await this.reports.untilAnswered(async (sent) => {
        if (verdict === "request-changes") await dibs.tasks.requestChanges({ ...on, reason: findings }, sent);
        else await dibs.tasks.approve({ ...on, ...(findings === "" ? {} : { comment: findings }) }, sent);
      });
      return this.ending("completed", exit, verdictWords[verdict]);
    } catch (error) {
      return this.lost(error, exit);
    }
  }

  /** The refusal says whose verdict came first. A review that still counts as held would keep the session from the next one. */
  private async lost(error: unknown, exit: Exit): Promise<AttemptEnd> {
    const { options, silence } = this.parts;
    await options.dibs.tasks.release(this.by, { signal: silence }).catch(() => undefined);
    return this.ending("lost", exit, error instanceof Error ? error.message : String(error));
  }

  private async release(reason: string, exit: Exit): Promise<AttemptEnd> {
    try {
      const report = { ...this.by, reason: reason.slice(0, 500) };
      await this.reports.untilAnswered((sent) => this.parts.options.dibs.tasks.release(report, sent));
      return this.ending("released", exit, reason);
    } catch (error) {
      if (!isLost(error) && !hasCode(error, "INVALID_STATE")) this.parts.options.onTrouble?.(error);
      return this.lost(error, exit);
    }
  }

  /** The command never ran, or something broke on the way. */
  private async giveUp(error: unknown): Promise<AttemptEnd> {
    this.isReporting = true;
    await this.parts.group.end();
    this.output.end();
    if (this.ended?.kind === "lost" || isLost(error)) return this.lost(error, nobodySaw);
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Unstartable && error.code !== "WATCHDOG") {
      await this.release(`cannot start ${this.parts.options.command[0]}`, nobodySaw);
      throw new DibsError("VALIDATION_FAILED", `Cannot start the command: ${message}`, {
        hint: "Check that it exists, can be executed, and that the directory is there.",
        cause: error,
      });
    }
    this.parts.options.onTrouble?.(error);
    return this.release(message || "the runner failed", nobodySaw);
  }

  private end(how: NonNullable<ReviewAttempt["ended"]>): void {
    if (this.isReporting || this.ended) return;
    this.ended = how;
    void this.parts.group.end();
  }

  private ending(outcome: AttemptEnd["outcome"], { code, signal }: Exit, reason: string): AttemptEnd {
    const { taskId, sessionId, epoch } = this.by;
    const end: AttemptEnd = {
      taskId,
      project: this.parts.task.project,
      epoch,
      sessionId,
      outcome,
      exitCode: code,
      signal,
      reason,
      worktree: null,
      submission: this.parts.submission.number,
    };
    this.parts.options.onEnd?.(end);
    return end;
  }
}

function endOf({ code, signal }: Exit): string {
  if (code !== null) return `exited with code ${code}`;
  return signal === null ? "ended with an unknown exit code" : `was ended by ${signal}`;
}
