// The sole pipeline: validate, authorise, replay or decide, answer. Every surface calls this and nothing else writes.

import { DibsError } from "../contract/error.js";
import { idempotencyKey } from "../contract/fields.js";
import type { InputOf, OutputOf } from "../contract/operation.js";
import { parseInput } from "../contract/parse.js";
import { type OperationName, type OperationNamed, operations } from "../contract/registry.js";
import { noChanges } from "../core/changes.js";
import type { Command } from "../core/command.js";
import { carryOut, wasSetBack } from "../core/decide.js";
import { limits } from "../core/limits.js";
import { InvariantError, type Outcome, type Refusal } from "../core/refusal.js";
import type { IdempotencyRecord, Reads } from "../core/view.js";
import type { ReadJob, Store, Transaction } from "../store/store.js";
import { authorise, boundTo } from "./authorise.js";
import { bulkOperations } from "./bulk-preview.js";
import type { Caller, Environment } from "./environment.js";
import type { CommandHandler, Handler, QueryHandler } from "./handler.js";
import { inFlightQuery } from "./in-flight.js";
import { lockOperations } from "./lock-operations.js";
import { logOperations } from "./log-operations.js";
import { metricsOperations } from "./metrics/operations.js";
import {
  claimOperations,
  eventOperations,
  notificationOperations,
  projectOperations,
  sessionOperations,
} from "./other-operations.js";
import { parserOf } from "./parsers.js";
import { withIsoTimes } from "./render.js";
import { taskCommands } from "./task-commands.js";
import { taskQueries } from "./task-queries.js";
import { tokenOperations } from "./token-operations.js";

const handlers: { [N in OperationName]: Handler<N> } = {
  ...taskCommands,
  ...taskQueries,
  ...inFlightQuery,
  ...sessionOperations,
  ...claimOperations,
  ...eventOperations,
  ...notificationOperations,
  ...projectOperations,
  ...metricsOperations,
  ...tokenOperations,
  ...lockOperations,
  ...logOperations,
  ...bulkOperations,
};

/** These show leases that are over, or nothing of tasks, or only the log; every other look has them ended first. */
const showsLeasesThatAreOver: ReadonlySet<string> = new Set([
  "tasks.inFlight",
  "claims.stats",
  "events.list",
  "tokens.list",
  "locks.get",
  "locks.list",
]);

const definitions = new Map(operations.map((operation) => [operation.name, operation]));

export interface CallOptions {
  /** Acts once: the same key and input answer the same again, for a day. */
  idempotencyKey?: string | undefined;
}

export type Submit = <T>(org: string, job: (transaction: Transaction) => T) => Promise<T>;

/** A decided command: its answer, and what the core said. */
export interface Executed<N extends OperationName> {
  answer: OutputOf<OperationNamed<N>>;
  value: unknown;
}

export class Executor {
  /** Calls under a key that take more than one transaction. */
  private readonly underWay = new Map<string, { request: string; answer: Promise<object> }>();

  constructor(
    readonly store: Store,
    readonly submit: Submit,
    readonly environment: Environment,
  ) {}

  execute<N extends OperationName>(
    name: N,
    input: InputOf<OperationNamed<N>>,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<OutputOf<OperationNamed<N>>> {
    return this.run(name, input, caller, options).then(answerOf);
  }

  /** Every call comes through here: promises are passed on, not awaited on each level. */
  run<N extends OperationName>(
    name: N,
    input: InputOf<OperationNamed<N>>,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<Executed<N>> {
    try {
      const parsed = this.admit(name, input, caller);
      if (options.idempotencyKey !== undefined) validateKey(options.idempotencyKey);
      const handler = handlers[name] as Handler<N>;
      if (handler.kind === "query") return this.query(name, handler, parsed, caller).catch(rethrow);
      return this.command(name, handler, parsed, caller, options.idempotencyKey);
    } catch (error) {
      return Promise.reject(asDibsError(error));
    }
  }

  private async query<N extends OperationName>(
    name: N,
    handler: QueryHandler<N>,
    parsed: unknown,
    caller: Caller,
  ): Promise<Executed<N>> {
    const context = { caller, environment: this.environment, aside: {} };
    const look = (view: Reads, now: number) => handler.query(view, parsed as never, context, now);
    const asItIs = showsLeasesThatAreOver.has(name);
    const outcome = await (asItIs ? this.store.read(caller.org, look) : this.look(caller.org, look));
    if (!outcome.ok) throw refusalError(outcome);
    return { answer: outcome.value, value: null };
  }

  /** Looks at an org in which no open lease is over. */
  async look<T>(org: string, job: ReadJob<T>): Promise<T> {
    for (let swept = false; ; swept = true) {
      const found = await this.store.read(org, (view, now) =>
        !swept && (wasSetBack(view, now) || view.due(now, 1).length > 0) ? null : { value: job(view, now) },
      );
      if (found) return found.value;
      await this.sweep(org);
    }
  }

  /** Before a look: so that no answer depends on whether a sweeper has run. A store that cannot be written is shown as it is. */
  private async sweep(org: string): Promise<void> {
    for (let swept: number = limits.sweepMax; swept === limits.sweepMax; ) {
      const outcome = await this.system(org, { type: "sweep", limit: limits.sweepMax }).catch(() => null);
      swept = outcome?.ok ? (outcome.value as unknown[]).length : 0;
    }
  }

  private command<N extends OperationName>(
    name: N,
    handler: CommandHandler<N, Command>,
    parsed: unknown,
    caller: Caller,
    key: string | undefined,
  ): Promise<Executed<N>> {
    const { environment } = this;
    const aside = {};
    const command = handler.command(parsed as never, { caller, environment, aside });
    const request = key === undefined ? "" : this.requestOf(name, parsed, caller);
    const keptAs = key === undefined ? undefined : keyOf(caller, key);
    const decided = this.submit(caller.org, (transaction): Outcome<Executed<N>> => {
      const before = keptAs === undefined ? null : honoured(transaction.view, keptAs, transaction.now);
      if (before) return replay(before, request, key!);
      const decided = carryOut(transaction, command, caller.actor, boundTo(caller));
      if (!decided.ok) return decided;
      const answer = handler.answer(transaction.view, decided.value as never, command, transaction.now);
      if (keptAs !== undefined && !isEmptyHanded(answer)) {
        const record = { key: keptAs, request, answer: JSON.stringify(answer), createdAt: transaction.now };
        transaction.apply({ ...noChanges(), idempotency: record });
      }
      return { ok: true, value: { answer: Object.assign(answer, aside), value: decided.value } };
    });
    return decided.then(settled, rethrow);
  }

  private requestOf(name: OperationName, parsed: unknown, caller: Caller): string {
    return this.environment.fingerprint(`${name} ${caller.project} ${JSON.stringify(parsed)}`);
  }

  /** For what takes more than one transaction: a repeated call answers like the first one that came to its end. */
  async once<T extends object>(
    name: OperationName,
    parsed: unknown,
    caller: Caller,
    key: string | undefined,
    act: () => Promise<T>,
  ): Promise<T> {
    if (key === undefined) return act();
    validateKey(key);
    const request = this.requestOf(name, parsed, caller);
    const at = `${caller.org}/${keyOf(caller, key)}`;
    const other = this.underWay.get(at);
    if (other && other.request !== request) throw refusalError(usedForAnother(key));
    if (other) return other.answer as Promise<T>;
    const answer = this.firstTime(request, caller, key, act).finally(() => this.underWay.delete(at));
    this.underWay.set(at, { request, answer });
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

  /** Refuses what would be refused, before anything is done in the world on behalf of a call; returns the input. */
  admit(name: OperationName, input: unknown, caller: Caller): unknown {
    const operation = definitions.get(name)!;
    const parsed = parseInput(operation, input, parserOf(operation));
    authorise(caller, operation, parsed);
    return parsed;
  }

  /** A command of our own, such as ending what a dead process held. */
  system<C extends Command>(org: string, command: C): Promise<Outcome<unknown>> {
    return this.submit(org, (transaction) => carryOut(transaction, command, "system"));
  }
}

function answerOf<T>({ answer }: { answer: T }): T {
  return answer;
}

function settled<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw refusalError(outcome);
  return outcome.value;
}

/** A claim that found nothing has done nothing: trying again under the same key must be able to find something. */
function isEmptyHanded(answer: object): boolean {
  return "claim" in answer && answer.claim === null;
}

/** The name under which a key is kept: tokens do not get each other's answers. No key that travels in a header has this separator. */
function keyOf({ keysOf }: Caller, key: string): string {
  return keysOf === undefined ? key : `${keysOf}\u001f${key}`;
}

/** A key from further in the future was used while the clock was ahead. */
function honoured(view: Reads, key: string, now: number): IdempotencyRecord | null {
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

function validateKey(key: unknown): void {
  const result = idempotencyKey().safeParse(key);
  if (result.success) return;
  const issue = { path: "idempotencyKey", message: result.error.issues[0]!.message };
  throw new DibsError("VALIDATION_FAILED", `${issue.path}: ${issue.message}`, {
    details: { issues: [issue] },
  });
}

export function refusalError(refusal: Refusal): DibsError {
  const details = withIsoTimes(refusal.details ?? {}) as Record<string, unknown>;
  // The core knows no calendar: where a hint tells a time, it names the detail.
  const hint = refusal.hint?.replace(/\{(\w+At)\}/g, (name, at) => String(details[at] ?? name));
  return DibsError.from({ ...refusal, ...(hint === undefined ? {} : { hint }), details });
}

export function rethrow(error: unknown): never {
  throw asDibsError(error);
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
