// What an attempt says at its end besides how it went: what it has cost, and that its agent ran into a limit. The hold comes before the
// task goes back: the next worker would only try the same wall again.

import type { Dibs } from "../client/client.js";
import type { HolderOf, Sent } from "../client/holding/index.js";
import type { Limit } from "./limit.js";
import type { Reported } from "./usage.js";

export interface AtEnd {
  dibs: Dibs;
  by: HolderOf;
  /** Repeats a call until the store answers, or it is too late for that. */
  untilAnswered<T>(call: (sent: Sent) => Promise<T>): Promise<T>;
  onTrouble(error: unknown): void;
}

/**
 * Below the 6 hours that a worker can hold, by a clock that can be behind. A limit that ends later is tried again by then: its time can
 * be misread, and people buy more.
 */
const holdMsMax = 6 * 60 * 60_000 - 60_000;
/** A limit that ends sooner has ended when the hold is stored: to hold then would only delay other workers. */
const holdMsMin = 500;
const reasonLengthMax = 300;

/** What cannot be reported is not worth the attempt. */
export async function reportUsage({ dibs, by, ...end }: AtEnd, usage: Reported | null): Promise<void> {
  if (!usage) return;
  await end.untilAnswered((sent) => dibs.tasks.usage({ ...by, ...usage }, sent)).catch(end.onTrouble);
}

/** Holds what the session uses; says which of it. Without a time the store chooses the pause. */
export async function holdFor(
  { dibs, by, ...end }: AtEnd,
  { message, resetAt }: Limit,
  resources: readonly string[],
): Promise<string[]> {
  if (resetAt !== null && resetAt - Date.now() < holdMsMin) return [];
  const { project, sessionId } = by;
  const until = resetAt === null ? {} : { until: new Date(Date.now() + holdMs(resetAt)).toISOString() };
  const held: string[] = [];
  for (const id of resources) {
    const hold = {
      id,
      source: "quota" as const,
      sessionId,
      reason: message.slice(0, reasonLengthMax),
      ...until,
    };
    try {
      const on = project ? { project } : {};
      await end.untilAnswered((sent) => dibs.resources.hold({ ...hold, ...on }, sent));
      held.push(id);
    } catch (error) {
      end.onTrouble(error);
    }
  }
  return held;
}

const holdMs = (resetAt: number) => Math.min(resetAt - Date.now(), holdMsMax);

export const limitReason = ({ message }: Limit) => `limit: ${message}`.slice(0, reasonLengthMax);

/** Where no resource is held, this runner waits by itself: until the limit ends, or for growing pauses. */
export class LimitPause {
  private until = 0;
  private pauses = 0;

  /** How long it still lasts. */
  get ms(): number {
    return Math.max(0, this.until - Date.now());
  }

  /** Several slots can run into one limit. */
  begin({ resetAt }: Limit): void {
    if (this.ms > 0 && resetAt === null) return;
    // A time that has passed is tried at once, but not again and again.
    const isTimed = resetAt !== null && resetAt - Date.now() >= holdMsMin;
    const first = resetAt === null ? pauseMsMin : endedPauseMsMin;
    const ms = isTimed ? holdMs(resetAt) : Math.min(first * 2 ** this.pauses++, pauseMsMax);
    this.until = Math.max(this.until, Date.now() + ms);
  }

  /** An attempt has come through. */
  end(): void {
    this.pauses = 0;
  }
}

const pauseMsMin = 60_000;
const endedPauseMsMin = 250;
const pauseMsMax = 60 * 60_000;
