// How an attempt is reported. Work that is done must not get lost because the store is away for a while: a report is repeated
// until it is heard, the lease is over, or the runner has to end; with its epoch it acts once.

import type { Dibs } from "../client/client.js";
import { type HolderOf, isLost } from "../client/reporting.js";
import { DibsError } from "../contract/error.js";
import type { Outcome } from "./options.js";
import { persistently } from "./patience.js";
import type { TaskOutcome } from "./result.js";

/** Why a task goes back that is neither done nor failed: somebody else has to do something first. */
export const waitsForChildren = "waits for its subtasks";
export const waitsForAnswer = "waits for the answer";

/** When it is time to stop. */
export interface LastWords {
  /** From here on everything is said once. */
  hurry: AbortSignal;
  /** From here on nothing is. */
  silence: AbortSignal;
}

interface ReporterOptions extends LastWords {
  retryMs: number;
  /** The lease is over. */
  isLate(): boolean;
  onTrouble(error: unknown): void;
}

export class Reporter {
  /** With what words the task was given back, if it was. */
  releasedFor: string | null = null;

  constructor(
    private readonly dibs: Dibs,
    private readonly by: HolderOf,
    private readonly options: ReporterOptions,
  ) {}

  async start(): Promise<void> {
    await this.persistently(() => this.dibs.tasks.start(this.by, this.heard));
  }

  /** With children still open it is not done; with a question open it waits for the answer. */
  async complete(result: TaskOutcome): Promise<Outcome> {
    try {
      await this.persistently(() => this.dibs.tasks.complete({ ...this.by, result }, this.heard));
      return "completed";
    } catch (error) {
      const code = error instanceof DibsError ? error.code : null;
      if (code === "CHILDREN_OPEN") return this.release(waitsForChildren, "released");
      if (code === "INVALID_STATE") return this.release(waitsForAnswer, "awaiting");
      if (code === "PAYLOAD_TOO_LARGE" || code === "VALIDATION_FAILED") {
        return this.complete({ output: result.output.slice(0, 1_000), filesCreated: [], filesModified: [] });
      }
      return this.notHeard(error);
    }
  }

  /** `quick`: the command has done nothing, as far as the runner can see. */
  async fail(error: string, { retryable, quick }: { retryable: boolean; quick: boolean }): Promise<Outcome> {
    const report = { ...this.by, error, retryable, quick };
    try {
      await this.persistently(() => this.dibs.tasks.fail(report, this.heard));
      return "failed";
    } catch (refused) {
      return this.notHeard(refused);
    }
  }

  async release(reason: string, outcome: Outcome): Promise<Outcome> {
    try {
      const { task } = await this.persistently(() =>
        this.dibs.tasks.release({ ...this.by, reason }, this.heard),
      );
      this.releasedFor = reason;
      return task.state === "awaiting_response" ? "awaiting" : outcome === "awaiting" ? "released" : outcome;
    } catch (error) {
      return this.notHeard(error);
    }
  }

  /** Whether the claim was closed by a report: it is the command itself that has sent it. */
  async wasReported(): Promise<boolean> {
    const { project, taskId, epoch } = this.by;
    const on = project === undefined ? { taskId } : { project, taskId };
    const { attempts } = await this.dibs.tasks.attempts({ ...on, limit: 10 }, this.heard);
    const attempt = attempts.find((each) => each.epoch === epoch);
    return attempt?.releaseReason === "completed" || attempt?.releaseReason === "failed";
  }

  private async notHeard(error: unknown): Promise<Outcome> {
    const isRefused = isLost(error);
    if (isRefused && (await this.wasReported().catch(() => false))) return "reported";
    if (!isRefused) this.options.onTrouble(error);
    return "lost";
  }

  private get heard() {
    return { signal: this.options.silence };
  }

  /** Repeats a call until the store answers, while the lease lasts. */
  persistently<T>(call: () => Promise<T>): Promise<T> {
    const { retryMs, isLate, hurry, onTrouble } = this.options;
    return persistently(call, {
      retryMs,
      isHopeless: () => hurry.aborted || isLate(),
      onTrouble,
      signal: hurry,
    });
  }
}

const errorLengthMax = 8_000;

export function errorText(text: string): string {
  return text.slice(0, errorLengthMax).toWellFormed().replaceAll("\0", "�") || "failed";
}
