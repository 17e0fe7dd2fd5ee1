// Reconciles one held task: the place of its file becomes an operation (taken: start, `completed`: complete, error file:
// fail, dead process: lost), and the file of a lost claim is removed. A step can be interrupted anywhere. The next poll
// repeats it: operations are idempotent, and the place of the file decides.

import { join } from "node:path";
import type { Dibs } from "../../client/client.js";
import { hasCode, isHandedIn, isLost, storable } from "../../client/holding/index.js";
import { DibsError } from "../../contract/error.js";
import type { StageDirectories } from "./directories.js";
import type { Hold } from "./hold.js";
import { bounds, type SpoolEvent, type SpoolMachine, type Timings } from "./options.js";
import type { Records } from "./records.js";
import { errorOf, errorPathOf, resultOf } from "./results.js";
import type { SpoolFile } from "./scan.js";
import type { SpoolSessions } from "./sessions.js";
import type { Settling } from "./settling.js";
import type { Tree } from "./tree.js";

export interface ReconcilerParts {
  dibs: Dibs;
  project: { project?: string };
  tree: Tree;
  records: Records;
  directories: StageDirectories;
  sessions: SpoolSessions;
  settling: Settling;
  machine: SpoolMachine;
  timings: Timings;
  now(): number;
  report(event: SpoolEvent): void;
  onOddity(path: string, problem: string): void;
  /** The task is no longer held. */
  drop(hold: Hold): void;
}

/** Refusals of `complete` that end by themselves: the poll retries. */
const notYet: Partial<Record<string, string>> = {
  CHILDREN_OPEN: "it has open subtasks",
  INVALID_STATE: "it waits for an answer",
};

export class Reconciler {
  constructor(private readonly parts: ReconcilerParts) {}

  async step(hold: Hold, spoolFiles: readonly SpoolFile[]): Promise<void> {
    const spoolFile = this.choose(hold, spoolFiles);
    try {
      await this.stepOn(hold, spoolFile);
    } catch (error) {
      if (!isLost(error)) throw error;
      await this.noteLoss(hold, error);
      if (hold.lost !== null) await this.takeAway(hold, spoolFile);
    }
  }

  private async stepOn(hold: Hold, spoolFile: SpoolFile | null): Promise<void> {
    if (hold.lost !== null) return this.takeAway(hold, spoolFile);
    if (!spoolFile) return this.missing(hold);
    hold.missingSince = null;
    if (!hold.isFresh) this.freshen(hold, spoolFile);
    if (spoolFile.stage === "stale") return this.lose(hold, spoolFile, "a worker found it stale");
    if (spoolFile.stage === "to_execute") return this.wait(hold, spoolFile);
    if (hold.isReported) return this.putAway(hold, spoolFile);
    const errorPath = errorPathOf(this.parts.tree, spoolFile);
    if (errorPath !== null) return this.fail(hold, spoolFile, errorPath);
    return spoolFile.stage === "completed" ? this.complete(hold, spoolFile) : this.workedOn(hold, spoolFile);
  }

  /** The file in the latest stage; of several, the one whose worker is recorded. */
  private choose({ record }: Hold, spoolFiles: readonly SpoolFile[]): SpoolFile | null {
    const furthest = spoolFiles.at(-1);
    if (!furthest) return null;
    const there = spoolFiles.filter(({ stage }) => stage === furthest.stage);
    const chosen = there.find(({ pid }) => pid !== null && pid === record.pid) ?? there[0]!;
    if (furthest.stage !== "to_execute") this.withdrawCopies(spoolFiles, chosen);
    return chosen;
  }

  /** A worker that copied instead of moving leaves a second copy, which is removed. A different file of that name waits. */
  private withdrawCopies(spoolFiles: readonly SpoolFile[], chosen: SpoolFile): void {
    const { tree, directories, onOddity } = this.parts;
    const read = (spoolFile: SpoolFile) =>
      tree.read(join(spoolFile.directory, spoolFile.file), bounds.promptBytesMax);
    for (const spoolFile of spoolFiles.filter(({ stage }) => stage === "to_execute")) {
      const [copy, taken] = [read(spoolFile), read(chosen)];
      if (!copy.ok || !taken.ok) continue;
      if (copy.text === taken.text) directories.withdraw(spoolFile);
      else
        onOddity(
          join(spoolFile.directory, spoolFile.file),
          "has the name of a task that is worked on, and waits for it",
        );
    }
  }

  /** Moved back from `stale`: gets its plain name again, and the mark of the earlier attempt is removed. */
  private freshen(hold: Hold, { stage, directory, file, name }: SpoolFile): void {
    const { records, tree } = this.parts;
    if (stage === "to_execute" && records.markIn(directory)) {
      tree.move(join(directory, file), join(directory, `${name}.md`));
      records.unmark(directory);
    }
    hold.isFresh = true;
  }

  private async wait(hold: Hold, spoolFile: SpoolFile): Promise<void> {
    const { now, records, directories } = this.parts;
    if (hold.record.isTaken) {
      // Moved back by its worker: another worker can take it under the same claim.
      Object.assign(hold.record, { isTaken: false, pid: null, processStartedAt: null });
      records.write(hold.record);
    }
    if (hold.isReported) {
      if (directories.withdraw(spoolFile)) this.drop(hold);
    } else if (now() >= hold.giveBackAt)
      await this.release(hold, spoolFile, "its time limit ran while it waited");
    else if (hold.claim.isLate) hold.isWithdrawn = directories.withdraw(spoolFile);
  }

  private async workedOn(hold: Hold, spoolFile: SpoolFile): Promise<void> {
    const { dibs, records, report, machine, tree } = this.parts;
    const { record } = hold;
    if (!record.isTaken || record.pid !== spoolFile.pid) {
      const processStartedAt = spoolFile.pid === null ? null : machine.processStart(spoolFile.pid);
      Object.assign(record, { isTaken: true, pid: spoolFile.pid, processStartedAt });
      records.write(record);
      tree.removeIfEmpty(tree.stage("to_execute", record.name));
      report({ type: "taken", ...onTask(hold), pid: spoolFile.pid });
      hold.isStarted = false;
    }
    const gone = this.whyGone(hold);
    if (gone !== null) return this.lose(hold, spoolFile, gone);
    if (hold.isStarted) return;
    await dibs.tasks.start(hold.claim.by).catch((error) => {
      // The task waits for an answer, so it was started.
      if (!hasCode(error, "INVALID_STATE")) throw error;
    });
    hold.isStarted = true;
  }

  /** A worker without a process id in the file name has the time of one lease. */
  private whyGone(hold: Hold): string | null {
    const { machine, now } = this.parts;
    const { pid, processStartedAt, ttlMs } = hold.record;
    hold.namelessSince = pid === null ? (hold.namelessSince ?? now()) : null;
    if (pid !== null) return machine.isAlive(pid, processStartedAt) ? null : `process ${pid} is gone`;
    return now() - hold.namelessSince! >= ttlMs ? "its worker has put no process id into its name" : null;
  }

  private async complete(hold: Hold, spoolFile: SpoolFile): Promise<void> {
    const { dibs, tree, directories, report, onOddity } = this.parts;
    const result = resultOf(tree, spoolFile, onOddity);
    try {
      await dibs.tasks
        .complete({ ...hold.claim.by, result })
        .catch((error) => this.completeShortly(error, hold, spoolFile));
    } catch (error) {
      const reason = error instanceof DibsError ? notYet[error.code] : undefined;
      if (reason === undefined) throw error;
      if (hold.waitsFor !== reason) report({ type: "waiting", ...onTask(hold), reason });
      hold.waitsFor = reason;
      this.markTaken(hold);
      return;
    }
    directories.settleCompleted(spoolFile, this.mark(hold, "completed"));
    this.drop(hold);
    report({ type: "completed", ...onTask(hold) });
  }

  /** Completes the task with a reference to the result if the result itself is refused. */
  private async completeShortly(error: unknown, hold: Hold, spoolFile: SpoolFile): Promise<void> {
    if (!hasCode(error, "PAYLOAD_TOO_LARGE", "VALIDATION_FAILED")) throw error;
    const { dibs, tree, onOddity } = this.parts;
    onOddity(
      join(spoolFile.directory, spoolFile.file),
      `has a result that cannot be kept: ${(error as Error).message}`,
    );
    await dibs.tasks.complete({
      ...hold.claim.by,
      result: `The result is in ${tree.shown(spoolFile.directory)}.`,
    });
  }

  private async fail(hold: Hold, spoolFile: SpoolFile, errorPath: string): Promise<void> {
    const { dibs, tree, directories, settling, report } = this.parts;
    this.markTaken(hold);
    if (!settling.isSettled(errorPath, tree.stats(errorPath))) return;
    const error = storable(errorOf(tree, errorPath));
    const { willRetry } = await dibs.tasks.fail({ ...hold.claim.by, error });
    directories.toStale(spoolFile, this.mark(hold, "failed"));
    this.drop(hold);
    report({ type: "failed", ...onTask(hold), error, willRetry });
  }

  private markTaken({ record }: Hold): void {
    if (record.isTaken) return;
    record.isTaken = true;
    this.parts.records.write(record);
  }

  /** Moves the file first: if the worker is alive after all and has moved it on, the task is kept. */
  private async lose(hold: Hold, spoolFile: SpoolFile | null, reason: string): Promise<void> {
    const { records, directories, sessions, tree, report } = this.parts;
    const isThere = spoolFile?.stage === "stale";
    const path = isThere
      ? spoolFile.directory
      : spoolFile && directories.toStale(spoolFile, this.mark(hold, "stale"));
    if (spoolFile && path === null) return;
    await sessions.end(hold.record.sessionId);
    if (isThere) records.mark(spoolFile.directory, this.mark(hold, "stale"));
    this.drop(hold);
    report({ type: "stale", ...onTask(hold), reason, path: path && tree.shown(path) });
  }

  private async missing(hold: Hold): Promise<void> {
    const { now, timings } = this.parts;
    if (hold.isReported) return this.drop(hold);
    if (hold.isWithdrawn) return;
    hold.missingSince ??= now();
    if (now() - hold.missingSince < timings.missingMs) return;
    if (hold.record.isTaken) await this.lose(hold, null, "its file is gone");
    else await this.release(hold, null, "its file was removed");
  }

  /** No worker has started: the task returns to the queue, not counted as a failed attempt. */
  async release(hold: Hold, spoolFile: SpoolFile | null, reason: string): Promise<void> {
    const { dibs, directories, sessions, report } = this.parts;
    if (spoolFile && !directories.withdraw(spoolFile)) return;
    hold.isWithdrawn = true;
    await dibs.tasks.release({ ...hold.claim.by, reason });
    await sessions.end(hold.record.sessionId);
    this.drop(hold);
    report({ type: "released", ...onTask(hold), reason });
  }

  /** The claim is lost: a file that was not taken is removed, one that was taken goes to `stale`. */
  private async takeAway(hold: Hold, spoolFile: SpoolFile | null): Promise<void> {
    const { records, directories, tree, report } = this.parts;
    if (spoolFile?.stage === "completed") await this.handInLate(hold, spoolFile);
    let path: string | null = null;
    if (spoolFile?.stage === "to_execute") {
      // A mark shows that it was in `stale` and was moved back for another attempt.
      const isForAnotherTry = records.markIn(spoolFile.directory) !== null;
      if (!isForAnotherTry && !directories.withdraw(spoolFile)) return;
    } else if (spoolFile && spoolFile.stage !== "stale") {
      path = directories.toStale(spoolFile, this.mark(hold, "lost"));
      if (path === null) return;
    }
    this.drop(hold);
    report({ type: "lost", ...onTask(hold), reason: hold.lost ?? "", path: path && tree.shown(path) });
  }

  /** The store refuses it and records it on the attempt. */
  private async handInLate(hold: Hold, spoolFile: SpoolFile): Promise<void> {
    const { dibs, tree, onOddity } = this.parts;
    try {
      await dibs.tasks.complete({ ...hold.claim.by, result: resultOf(tree, spoolFile, onOddity) });
    } catch (error) {
      if (!(error instanceof DibsError) || error.retryable) throw error;
    }
  }

  /** A worker can hand in its task itself through the CLI or the API; then nothing is lost. */
  private async noteLoss(hold: Hold, error: unknown): Promise<void> {
    const { dibs, project } = this.parts;
    const { taskId, epoch } = hold.record;
    const attempts = hasCode(error, "TASK_NOT_FOUND")
      ? []
      : (await dibs.tasks.attempts({ ...project, taskId })).attempts;
    const reason = attempts.find((each) => each.epoch === epoch)?.releaseReason;
    if (isHandedIn(reason)) hold.isReported = true;
    else hold.lost = (error as Error).message;
  }

  /** Completed by its worker: the file is archived when the worker has moved it, or is gone. */
  private putAway(hold: Hold, spoolFile: SpoolFile): void {
    const { machine, directories, report } = this.parts;
    const { pid } = spoolFile;
    const isAtWork =
      pid !== null && machine.isAlive(pid, pid === hold.record.pid ? hold.record.processStartedAt : null);
    if (spoolFile.stage === "in_progress" && isAtWork) return;
    directories.settleCompleted(spoolFile, this.mark(hold, "completed"));
    this.drop(hold);
    report({ type: "completed", ...onTask(hold) });
  }

  /** Renews the claim, and notes if it is lost. */
  async renew(hold: Hold, renewMs: number): Promise<void> {
    if (hold.lost !== null || hold.isReported) return;
    const askedAt = this.parts.now();
    if (await hold.claim.renew()) hold.renewAt = askedAt + renewMs;
    else if (hold.refusal) await this.noteLoss(hold, hold.refusal);
  }

  private mark({ record }: Hold, outcome: string) {
    return { taskId: record.taskId, epoch: record.epoch, outcome };
  }

  private drop(hold: Hold): void {
    hold.claim.end();
    this.parts.records.remove(hold.record.name);
    this.parts.drop(hold);
  }
}

const onTask = ({ record }: Hold) => ({ taskId: record.taskId, name: record.name });
