// How an attempt is reported. Finished work must not get lost because the store is away for a while: a report is repeated until the
// store answers, the lease has ended, or the holder must stop. With its epoch it takes effect once.

import type { Dibs } from "../client.js";
import type { HeldClaim } from "./claim.js";
import { hasCode, isLost } from "./endings.js";
import { untilAnswered } from "./transient.js";

/** Why a task goes back that is neither done nor failed. */
export const waitsForChildren = "waits for its subtasks";
export const waitsForAnswer = "waits for the answer";
/** Why a task whose work lands is not completed yet. */
export const isSubmitted = "submitted";
/** The attempt ended because its work was handed in. */
export const isHandedIn = (releaseReason: string | null | undefined) =>
  releaseReason === "completed" || releaseReason === isSubmitted;

/** How a report is sent. */
export interface Sent {
  /** After it nothing is sent, and no answer is waited for. */
  signal?: AbortSignal;
}

export type Outcome =
  | "completed"
  | "failed"
  /** Given back: stopped, or with subtasks still open. */
  | "released"
  /** A question is open; the answer will queue the task again. */
  | "awaiting"
  /** The claim was closed by a report that another program sent for it. */
  | "reported"
  /** The claim was lost or the task cancelled. */
  | "lost";

export interface ReportOptions<Result> {
  retryMs: number;
  /** From here on everything is tried once. */
  hurry: AbortSignal;
  /** From here on nothing is sent. */
  silence?: AbortSignal;
  /** A result that the store refuses is replaced by this one. Without it the refusal is thrown. */
  shorten?(result: Result, refusal: Error): Result;
  onTrouble(error: unknown): void;
}

type Result = Parameters<Dibs["tasks"]["complete"]>[0]["result"];
/** What is handed in to land. */
export type HandIn = Pick<Parameters<Dibs["tasks"]["submit"]>[0], "commit" | "branch" | "base" | "host">;

export class Reports<Kind extends Result = Result> {
  /** The reason given with the release, if the task was released. */
  releasedFor: string | null = null;

  constructor(
    private readonly dibs: Dibs,
    private readonly claim: HeldClaim,
    private readonly options: ReportOptions<Kind>,
  ) {}

  async start(): Promise<void> {
    await this.untilAnswered((sent) => this.dibs.tasks.start(this.claim.by, sent));
  }

  /** With open subtasks it is not done; with an open question it waits for the answer. */
  async complete(result: Kind): Promise<Outcome> {
    const { by } = this.claim;
    try {
      await this.untilAnswered((sent) => this.dibs.tasks.complete({ ...by, result } as never, sent));
      return "completed";
    } catch (error) {
      if (hasCode(error, "INVALID_STATE")) return this.release(waitsForAnswer);
      return this.notDone(error, result, (shorter) => this.complete(shorter));
    }
  }

  /** Where work lands. Throws REMOTE_REQUIRED: the lander would not find the change. */
  async submit(result: Kind, handIn: HandIn): Promise<Outcome> {
    const { by } = this.claim;
    try {
      await this.untilAnswered((sent) => this.dibs.tasks.submit({ ...by, ...handIn, result } as never, sent));
      return "completed";
    } catch (error) {
      // Landing was turned off meanwhile, or a question is open.
      if (hasCode(error, "INVALID_STATE")) return this.complete(result);
      if (hasCode(error, "REMOTE_REQUIRED")) throw error;
      return this.notDone(error, result, (shorter) => this.submit(shorter, handIn));
    }
  }

  /** Whether the claim is still held, as the store says it now; else how it ended. */
  async ended(): Promise<Outcome | null> {
    try {
      await this.untilAnswered((sent) => this.dibs.tasks.heartbeat(this.claim.by, sent));
      return null;
    } catch (error) {
      // A question is open.
      return hasCode(error, "INVALID_STATE") ? null : this.refused(error);
    }
  }

  private async notDone(
    error: unknown,
    result: Kind,
    again: (shorter: Kind) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { shorten } = this.options;
    if (hasCode(error, "CHILDREN_OPEN")) return this.release(waitsForChildren);
    if (!hasCode(error, "PAYLOAD_TOO_LARGE", "VALIDATION_FAILED")) return this.refused(error);
    if (!shorten) throw error;
    return again(shorten(result, error as Error));
  }

  /** `quick`: the attempt has done nothing, as far as its holder can see. */
  async fail(error: string, { retryable, quick }: { retryable: boolean; quick: boolean }): Promise<Outcome> {
    const report = { ...this.claim.by, error: storable(error), retryable, quick };
    try {
      await this.untilAnswered((sent) => this.dibs.tasks.fail(report, sent));
      return "failed";
    } catch (refused) {
      return this.refused(refused);
    }
  }

  async release(reason: string): Promise<Outcome> {
    const report = { ...this.claim.by, reason };
    try {
      const { task } = await this.untilAnswered((sent) => this.dibs.tasks.release(report, sent));
      this.releasedFor = reason;
      return task.state === "awaiting_response" ? "awaiting" : "released";
    } catch (error) {
      return this.refused(error);
    }
  }

  /** Whether the claim was closed by a report of somebody else who knows its epoch: the command itself, for instance. */
  async wasReported(): Promise<boolean> {
    const { project, taskId, epoch } = this.claim.by;
    const on = project === undefined ? { taskId } : { project, taskId };
    const { attempts } = await this.dibs.tasks.attempts({ ...on, limit: 10 }, this.call);
    const attempt = attempts.find((each) => each.epoch === epoch);
    const reason = attempt?.releaseReason;
    return isHandedIn(reason) || reason === "failed";
  }

  private async refused(error: unknown): Promise<Outcome> {
    if (!isLost(error)) this.options.onTrouble(error);
    else if (await this.wasReported().catch(() => false)) return "reported";
    return "lost";
  }

  private get call(): Sent {
    const { silence } = this.options;
    return silence ? { signal: silence } : {};
  }

  untilAnswered<T>(call: (sent: Sent) => Promise<T>): Promise<T> {
    const { retryMs, hurry, onTrouble } = this.options;
    const isStopped = () => hurry.aborted || this.claim.isLate;
    return untilAnswered(() => call(this.call), { retryMs, isStopped, onTrouble, signal: hurry });
  }
}

const errorLengthMax = 8_000;

/** Cut, and without what no store can keep. */
export function storable(text: string): string {
  return text.slice(0, errorLengthMax).toWellFormed().replaceAll("\0", "�") || "failed";
}
