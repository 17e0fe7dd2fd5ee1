// What the place of a task file means, told to the store: taken is start, `completed` is complete, an error file is fail, a dead
// process is a lost worker. And the other way round: a claim that is lost takes its file away. Each step can be cut short anywhere
// and is done again at the next look: what the store has heard, it answers the same; what lies where, decides.

import { join } from "node:path";
import type { Dibs } from "../../client/client.js";
import { hasCode, isLost, storable } from "../../client/holding/index.js";
import { DibsError } from "../../contract/error.js";
import type { Hold } from "./hold.js";
import type { Ledger } from "./ledger.js";
import { bounds, type Happening, type SpoolMachine, type Timings } from "./options.js";
import { errorOf, errorPathOf, resultOf } from "./results.js";
import type { Paper } from "./scan.js";
import type { Settling } from "./settling.js";
import type { Shelf } from "./shelf.js";
import type { Slots } from "./slots.js";
import type { Tree } from "./tree.js";

export interface DeskParts {
  dibs: Dibs;
  project: { project?: string };
  tree: Tree;
  ledger: Ledger;
  shelf: Shelf;
  slots: Slots;
  settling: Settling;
  machine: SpoolMachine;
  timings: Timings;
  now(): number;
  tell(happening: Happening): void;
  onOddity(path: string, problem: string): void;
  /** It is held no longer. */
  drop(hold: Hold): void;
}

/** Refusals that only say "not yet". */
const notYet: Partial<Record<string, string>> = {
  CHILDREN_OPEN: "it has open subtasks",
  INVALID_STATE: "it waits for an answer",
};

export class Desk {
  constructor(private readonly parts: DeskParts) {}

  async step(hold: Hold, papers: readonly Paper[]): Promise<void> {
    const paper = this.choose(hold, papers);
    try {
      await this.stepOn(hold, paper);
    } catch (error) {
      if (!isLost(error)) throw error;
      await this.noteLoss(hold, error);
      if (hold.lost !== null) await this.takeAway(hold, paper);
    }
  }

  private async stepOn(hold: Hold, paper: Paper | null): Promise<void> {
    if (hold.lost !== null) return this.takeAway(hold, paper);
    if (!paper) return this.missing(hold);
    hold.missingSince = null;
    if (!hold.isFresh) this.freshen(hold, paper);
    if (paper.stage === "stale") return this.lose(hold, paper, "a worker found it stale");
    if (paper.stage === "to_execute") return this.wait(hold, paper);
    if (hold.isReported) return this.putAway(hold, paper);
    const errorPath = errorPathOf(this.parts.tree, paper);
    if (errorPath !== null) return this.fail(hold, paper, errorPath);
    return paper.stage === "completed" ? this.complete(hold, paper) : this.workedOn(hold, paper);
  }

  /** Where it has got to; of several, the one whose worker we know. */
  private choose({ record }: Hold, papers: readonly Paper[]): Paper | null {
    const furthest = papers.at(-1);
    if (!furthest) return null;
    const there = papers.filter(({ stage }) => stage === furthest.stage);
    const chosen = there.find(({ pid }) => pid !== null && pid === record.pid) ?? there[0]!;
    if (furthest.stage !== "to_execute") this.withdrawCopies(papers, chosen);
    return chosen;
  }

  /** Who copies instead of moving leaves it to be taken twice. Another file of that name has to wait. */
  private withdrawCopies(papers: readonly Paper[], chosen: Paper): void {
    const { tree, shelf, onOddity } = this.parts;
    const read = (paper: Paper) => tree.read(join(paper.directory, paper.file), bounds.promptBytesMax);
    for (const paper of papers.filter(({ stage }) => stage === "to_execute")) {
      const [copy, taken] = [read(paper), read(chosen)];
      if (!copy.ok || !taken.ok) continue;
      if (copy.text === taken.text) shelf.withdraw(paper);
      else
        onOddity(
          join(paper.directory, paper.file),
          "has the name of a task that is worked on, and waits for it",
        );
    }
  }

  /** Brought back from `stale`: workers look for its plain name, and what became of it before is over. */
  private freshen(hold: Hold, { stage, directory, file, name }: Paper): void {
    const { ledger, tree } = this.parts;
    if (stage === "to_execute" && ledger.markIn(directory)) {
      tree.move(join(directory, file), join(directory, `${name}.md`));
      ledger.unmark(directory);
    }
    hold.isFresh = true;
  }

  private async wait(hold: Hold, paper: Paper): Promise<void> {
    const { now, ledger, shelf } = this.parts;
    if (hold.record.isTaken) {
      // Put back by its worker: the next one may have it, under the same claim.
      Object.assign(hold.record, { isTaken: false, pid: null, processStartedAt: null });
      ledger.write(hold.record);
    }
    if (hold.isReported) {
      if (shelf.withdraw(paper)) this.drop(hold);
    } else if (now() >= hold.giveBackAt)
      await this.release(hold, paper, "its time limit ran while it waited");
    else if (hold.claim.isLate) hold.isWithdrawn = shelf.withdraw(paper);
  }

  private async workedOn(hold: Hold, paper: Paper): Promise<void> {
    const { dibs, ledger, tell, machine, tree } = this.parts;
    const { record } = hold;
    if (!record.isTaken || record.pid !== paper.pid) {
      const processStartedAt = paper.pid === null ? null : machine.processStart(paper.pid);
      Object.assign(record, { isTaken: true, pid: paper.pid, processStartedAt });
      ledger.write(record);
      tree.removeIfEmpty(tree.stage("to_execute", record.name));
      tell({ type: "taken", ...onTask(hold), pid: paper.pid });
      hold.isStarted = false;
    }
    const gone = this.whyGone(hold);
    if (gone !== null) return this.lose(hold, paper, gone);
    if (hold.isStarted) return;
    await dibs.tasks.start(hold.claim.by).catch((error) => {
      // It asks already.
      if (!hasCode(error, "INVALID_STATE")) throw error;
    });
    hold.isStarted = true;
  }

  /** Whoever does not say who it is has the time of a lease. */
  private whyGone(hold: Hold): string | null {
    const { machine, now } = this.parts;
    const { pid, processStartedAt, ttlMs } = hold.record;
    hold.namelessSince = pid === null ? (hold.namelessSince ?? now()) : null;
    if (pid !== null) return machine.isAlive(pid, processStartedAt) ? null : `process ${pid} is gone`;
    return now() - hold.namelessSince! >= ttlMs ? "its worker has put no process id into its name" : null;
  }

  private async complete(hold: Hold, paper: Paper): Promise<void> {
    const { dibs, tree, shelf, tell, onOddity } = this.parts;
    const result = resultOf(tree, paper, onOddity);
    try {
      await dibs.tasks
        .complete({ ...hold.claim.by, result })
        .catch((error) => this.completeShortly(error, hold, paper));
    } catch (error) {
      const reason = error instanceof DibsError ? notYet[error.code] : undefined;
      if (reason === undefined) throw error;
      if (hold.waitsFor !== reason) tell({ type: "waiting", ...onTask(hold), reason });
      hold.waitsFor = reason;
      this.markTaken(hold);
      return;
    }
    shelf.settleCompleted(paper, this.mark(hold, "completed"));
    this.drop(hold);
    tell({ type: "completed", ...onTask(hold) });
  }

  /** The work is done, whatever is wrong with the words about it. */
  private async completeShortly(error: unknown, hold: Hold, paper: Paper): Promise<void> {
    if (!hasCode(error, "PAYLOAD_TOO_LARGE", "VALIDATION_FAILED")) throw error;
    const { dibs, tree, onOddity } = this.parts;
    onOddity(
      join(paper.directory, paper.file),
      `has a result that cannot be kept: ${(error as Error).message}`,
    );
    await dibs.tasks.complete({
      ...hold.claim.by,
      result: `The result is in ${tree.shown(paper.directory)}.`,
    });
  }

  private async fail(hold: Hold, paper: Paper, errorPath: string): Promise<void> {
    const { dibs, tree, shelf, settling, tell } = this.parts;
    this.markTaken(hold);
    if (!settling.isSettled(errorPath, tree.stats(errorPath))) return;
    const error = storable(errorOf(tree, errorPath));
    const { willRetry } = await dibs.tasks.fail({ ...hold.claim.by, error });
    shelf.toStale(paper, this.mark(hold, "failed"));
    this.drop(hold);
    tell({ type: "failed", ...onTask(hold), error, willRetry });
  }

  private markTaken({ record }: Hold): void {
    if (record.isTaken) return;
    record.isTaken = true;
    this.parts.ledger.write(record);
  }

  /** The file first: a worker that is not gone after all, and moves it on meanwhile, keeps its task. */
  private async lose(hold: Hold, paper: Paper | null, reason: string): Promise<void> {
    const { ledger, shelf, slots, tree, tell } = this.parts;
    const isThere = paper?.stage === "stale";
    const path = isThere ? paper.directory : paper && shelf.toStale(paper, this.mark(hold, "stale"));
    if (paper && path === null) return;
    await slots.end(hold.record.sessionId);
    if (isThere) ledger.mark(paper.directory, this.mark(hold, "stale"));
    this.drop(hold);
    tell({ type: "stale", ...onTask(hold), reason, path: path && tree.shown(path) });
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

  /** Nobody has begun: it goes back, and that is nobody's fault. */
  async release(hold: Hold, paper: Paper | null, reason: string): Promise<void> {
    const { dibs, shelf, slots, tell } = this.parts;
    if (paper && !shelf.withdraw(paper)) return;
    hold.isWithdrawn = true;
    await dibs.tasks.release({ ...hold.claim.by, reason });
    await slots.end(hold.record.sessionId);
    this.drop(hold);
    tell({ type: "released", ...onTask(hold), reason });
  }

  /** No longer ours: nobody may begin it, and what was begun is for inspection. */
  private async takeAway(hold: Hold, paper: Paper | null): Promise<void> {
    const { ledger, shelf, tree, tell } = this.parts;
    if (paper?.stage === "completed") await this.handInLate(hold, paper);
    let path: string | null = null;
    if (paper?.stage === "to_execute") {
      // With a mark it was in `stale` already, and somebody has brought it back for another try.
      const isForAnotherTry = ledger.markIn(paper.directory) !== null;
      if (!isForAnotherTry && !shelf.withdraw(paper)) return;
    } else if (paper && paper.stage !== "stale") {
      path = shelf.toStale(paper, this.mark(hold, "lost"));
      if (path === null) return;
    }
    this.drop(hold);
    tell({ type: "lost", ...onTask(hold), reason: hold.lost ?? "", path: path && tree.shown(path) });
  }

  /** It is refused, and kept on the attempt. */
  private async handInLate(hold: Hold, paper: Paper): Promise<void> {
    const { dibs, tree, onOddity } = this.parts;
    try {
      await dibs.tasks.complete({ ...hold.claim.by, result: resultOf(tree, paper, onOddity) });
    } catch (error) {
      if (!(error instanceof DibsError) || error.retryable) throw error;
    }
  }

  /** A worker may complete or fail its task by itself, as its holder; then nothing is lost. */
  private async noteLoss(hold: Hold, error: unknown): Promise<void> {
    const { dibs, project } = this.parts;
    const { taskId, epoch } = hold.record;
    const attempts = hasCode(error, "TASK_NOT_FOUND")
      ? []
      : (await dibs.tasks.attempts({ ...project, taskId })).attempts;
    const reason = attempts.find((each) => each.epoch === epoch)?.releaseReason;
    if (reason === "completed") hold.isReported = true;
    else hold.lost = (error as Error).message;
  }

  /** It was reported by its worker; the file follows when the worker has moved it, or is gone. */
  private putAway(hold: Hold, paper: Paper): void {
    const { machine, shelf, tell } = this.parts;
    const { pid } = paper;
    const isAtWork =
      pid !== null && machine.isAlive(pid, pid === hold.record.pid ? hold.record.processStartedAt : null);
    if (paper.stage === "in_progress" && isAtWork) return;
    shelf.settleCompleted(paper, this.mark(hold, "completed"));
    this.drop(hold);
    tell({ type: "completed", ...onTask(hold) });
  }

  /** Renews the claim; learns of its loss. */
  async beat(hold: Hold, beatMs: number): Promise<void> {
    if (hold.lost !== null || hold.isReported) return;
    const askedAt = this.parts.now();
    if (await hold.claim.renew()) hold.beatAt = askedAt + beatMs;
    else if (hold.refusal) await this.noteLoss(hold, hold.refusal);
  }

  private mark({ record }: Hold, outcome: string) {
    return { taskId: record.taskId, epoch: record.epoch, outcome };
  }

  private drop(hold: Hold): void {
    hold.claim.end();
    this.parts.ledger.remove(hold.record.name);
    this.parts.drop(hold);
  }
}

export const onTask = ({ record }: Hold) => ({ taskId: record.taskId, name: record.name });
