// How calls run: in one transaction, in one read, or in several transactions under one idempotency key.
// `dispatch` has validated and authorised them. Only this class submits the commands of callers.

import { DibsError } from "../contract/error.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationName, OperationNamed } from "../contract/registry.js";
import { type Changes, noChanges } from "../core/changes.js";
import type { Command } from "../core/command.js";
import { carryOut, wasSetBack } from "../core/decide.js";
import type { DibsEvent } from "../core/event.js";
import { limits } from "../core/limits.js";
import { InvariantError, type Outcome, type Refusal } from "../core/refusal.js";
import type { IdempotencyRecord, Reads, View } from "../core/view.js";
import type { ReadJob, Store, Transaction } from "../store/store.js";
import { boundTo } from "./authorise.js";
import type { Caller, Environment } from "./environment.js";
import type { CallOptions, CommandCall, QueryCall } from "./handler.js";
import { OwnEvents } from "./metrics/own-events.js";
import { withIsoTimes } from "./render.js";

export type Submit = <T>(org: string, job: (transaction: Transaction) => T) => Promise<T>;

/** A decided command: its answer, and the value that the core returned; null if the answer was remembered. */
export interface Executed<N extends OperationName> {
  answer: OutputOf<OperationNamed<N>>;
  value: unknown;
}

interface AnyCall extends CallOptions {
  handler: { name: OperationName };
  input: unknown;
  caller: Caller;
}

export class Executor {
  /** Calls with an idempotency key that take more than one transaction and have not finished. */
  private readonly unfinished = new Map<string, { request: string; answer: Promise<object> }>();

  /** What was committed here, for the figures. */
  readonly own = new OwnEvents();

  constructor(
    readonly store: Store,
    private readonly commit: Submit,
    readonly environment: Environment,
  ) {}

  /** Runs a job in the next group of its org. */
  readonly submit: Submit = <T>(org: string, job: (transaction: Transaction) => T): Promise<T> => {
    if (!this.own.isKeeping(org)) return this.commit(org, job);
    let events: DibsEvent[] = [];
    const noting = (transaction: Transaction): T => {
      // A job can run again.
      events = [];
      const { now, view } = transaction;
      const apply = (changes: Changes) => {
        if (changes.events.length > 0) events.push(...changes.events);
        transaction.apply(changes);
      };
      return job({ now, view, apply });
    };
    return this.commit(org, noting).then((value) => {
      this.own.add(org, events);
      return value;
    });
  };

  async query<N extends OperationName>(call: QueryCall<N>): Promise<OutputOf<OperationNamed<N>>> {
    const { handler, input, caller } = call;
    const context = { caller, environment: this.environment, aside: {} };
    const read = (view: Reads, now: number) => handler.query(view, input, context, now);
    const outcome = await (handler.sweeps
      ? this.readSwept(caller.org, read)
      : this.store.read(caller.org, read));
    return settled(outcome);
  }

  /** Ends expired leases, then reads: no answer depends on whether a sweeper has run (ADR 7). */
  async readSwept<T>(org: string, job: ReadJob<T>): Promise<T> {
    for (let swept = false; ; swept = true) {
      const found = await this.store.read(org, (view, now) =>
        !swept && (wasSetBack(view, now) || view.due(now, 1).length > 0) ? null : { value: job(view, now) },
      );
      if (found) return found.value;
      await this.sweep(org);
    }
  }

  /** If the store cannot be written, its rows are shown as they are. */
  private async sweep(org: string): Promise<void> {
    for (let swept: number = limits.sweepMax; swept === limits.sweepMax; ) {
      const outcome = await this.system(org, { type: "sweep", limit: limits.sweepMax }).catch(() => null);
      swept = outcome?.ok ? (outcome.value as unknown[]).length : 0;
    }
  }

  /** Promises are passed on, not awaited: nearly every call comes through here. */
  transact<N extends OperationName>(
    call: CommandCall<N>,
    candidates?: readonly string[],
  ): Promise<Executed<N>> {
    const { handler, input, caller, idempotencyKey: key } = call;
    const aside = {};
    const command = handler.command(input, { caller, environment: this.environment, aside, candidates });
    const request = key === undefined ? "" : this.requestOf(call);
    const keptAs = key === undefined ? undefined : keyOf(caller, key);
    // Pure: a job can run twice.
    const decided = this.submit(caller.org, (transaction): Outcome<Executed<N>> => {
      const before = keptAs === undefined ? null : honoured(transaction.view, keptAs, transaction.now);
      if (before) return replay(before, request, key!);
      const decided = carryOut(transaction, command, caller.actor, boundTo(caller));
      if (!decided.ok) return decided;
      const answer = handler.answer(transaction.view, decided.value as never, command, transaction.now);
      if (keptAs !== undefined && handler.isRemembered(answer)) {
        const record = { key: keptAs, request, answer: JSON.stringify(answer), createdAt: transaction.now };
        transaction.apply({ ...noChanges(), idempotency: record });
      }
      return { ok: true, value: { answer: Object.assign(answer, aside), value: decided.value } };
    });
    return decided.then(settled, rethrow);
  }

  /** How long a caller waits is not part of what it asks for: with less patience the same key is good for another try. */
  private requestOf({ handler, input, caller }: AnyCall): string {
    const { waitMs: _, ...asked } = input as { waitMs?: number };
    return this.environment.fingerprint(`${handler.name} ${caller.project} ${JSON.stringify(asked)}`);
  }

  /**
   * For calls that take more than one transaction: a repeated call returns the answer of the first one that
   * finished.
   */
  async once<T extends object>(call: AnyCall, act: () => Promise<T>): Promise<T> {
    const { caller, idempotencyKey: key } = call;
    if (key === undefined) return act();
    const request = this.requestOf(call);
    const at = `${caller.org}/${keyOf(caller, key)}`;
    const other = this.unfinished.get(at);
    if (other && other.request !== request) throw refusalError(usedForAnother(key));
    if (other) return other.answer as Promise<T>;
    const answer = this.firstTime(request, caller, key, act).finally(() => this.unfinished.delete(at));
    this.unfinished.set(at, { request, answer });
    return answer;
  }

  private async firstTime<T extends object>(
    request: string,
    caller: Caller,
    key: string,
    act: () => Promise<T>,
  ): Promise<T> {
    const keptAs = keyOf(caller, key);
    const before = await this.store.read(caller.org, (view, now) => honoured(view, keptAs, now));
    if (before) {
      const again = replay<{ answer: T }>(before, request, key);
      if (!again.ok) throw refusalError(again);
      return again.value.answer;
    }
    const answer = await act();
    await this.submit(caller.org, ({ view, now, apply }) => {
      if (honoured(view, keptAs, now)) return;
      const idempotency = { key: keptAs, request, answer: JSON.stringify(answer), createdAt: now };
      apply({ ...noChanges(), idempotency });
    });
    return answer;
  }

  /** Runs a command of the system, such as ending the session of a dead process. */
  system<C extends Command>(org: string, command: C): Promise<Outcome<unknown>> {
    return this.submit(org, (transaction) => carryOut(transaction, command, "system"));
  }
}

function settled<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw refusalError(outcome);
  return outcome.value;
}

/**
 * The stored name of a key: tokens do not get each other's answers. A key in a header cannot contain the
 * separator.
 */
function keyOf({ keysOf }: Caller, key: string): string {
  return keysOf === undefined ? key : `${keysOf}\u001f${key}`;
}

/**
 * A record from more than a day ahead was written while the clock was wrong. It is ignored, like an old one.
 */
function honoured(view: View, key: string, now: number): IdempotencyRecord | null {
  const before = view.idempotency(key);
  return before && Math.abs(now - before.createdAt) < limits.idempotencyMs ? before : null;
}

function replay<T>(before: { request: string; answer: string }, request: string, key: string): Outcome<T> {
  if (before.request === request)
    return { ok: true, value: { answer: JSON.parse(before.answer), value: null } as T };
  return usedForAnother(key);
}

function usedForAnother(key: string): Refusal {
  return {
    ok: false,
    code: "IDEMPOTENCY_MISMATCH",
    message: `Idempotency key ${key} was used for another request.`,
    hint: "Use a fresh key for each new request.",
  };
}

export function refusalError(refusal: Refusal): DibsError {
  const details = withIsoTimes(refusal.details ?? {}) as Record<string, unknown>;
  // The core has no calendar: a hint names the detail that holds its time.
  const hint = refusal.hint?.replace(/\{(\w+At)\}/g, (name, at) => String(details[at] ?? name));
  return DibsError.from({ ...refusal, ...(hint === undefined ? {} : { hint }), details });
}

export function rethrow(error: unknown): never {
  throw asDibsError(error);
}

/** What nobody foresaw is a defect of ours: its words stay inside, and its cause is for the log. */
export function asRefusal(thrown: unknown): DibsError {
  const error = asDibsError(thrown);
  if (error instanceof DibsError) return error;
  return new DibsError("INTERNAL", "This is a defect in Dibs.", {
    hint: "The server's log has the details under the request id in the header Dibs-Request-Id.",
    cause: error,
  });
}

export function asDibsError(error: unknown): unknown {
  if (error instanceof DibsError) return error;
  if (error instanceof InvariantError) {
    return new DibsError("INTERNAL", `This is a defect in Dibs; nothing was written: ${error.message}`, {
      cause: error,
    });
  }
  if (error instanceof Error && error.name === "StoreError") {
    const { code, hint } = error as Error & { code: DibsError["code"]; hint?: string };
    return new DibsError(code, error.message, { hint, cause: error });
  }
  return error;
}
