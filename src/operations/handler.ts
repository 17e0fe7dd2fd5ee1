// The implementation of an operation: one object with everything that the operation does. Handlers translate;
// rules stay in the core. A new operation needs its contract file, a line in contract/registry.ts, and one
// handler object. No table elsewhere names it.

import type { DibsError } from "../contract/error.js";
import type { OutputOf, ParsedOf } from "../contract/operation.js";
import type { OperationName, OperationNamed } from "../contract/registry.js";
import type { Command } from "../core/command.js";
import type { ValueOf } from "../core/decide.js";
import type { Outcome } from "../core/refusal.js";
import type { Reads, View } from "../core/view.js";
import type { Caller, Environment } from "./environment.js";
import type { Executed, Executor } from "./execute.js";

export interface CallOptions {
  /** For a day, the same key and input return the same answer, and the operation runs once. */
  idempotencyKey?: string | undefined;
  /**
   * Each of them ends a wait. (Not combined with AbortSignal.any: long-lived signals would keep every call in
   * memory.)
   */
  signals?: readonly AbortSignal[] | undefined;
  /** Of an operation that runs calls of other operations: what happened to each. */
  onPart?: ((name: OperationName, result: { answer: unknown } | { error: DibsError }) => void) | undefined;
}

/**
 * A call whose input and key are valid and whose caller is authorised. Only `dispatch` and `tasks.bulk`
 * create calls.
 */
export interface Call<N extends OperationName> extends CallOptions {
  handler: Handler<N>;
  input: ParsedOf<OperationNamed<N>>;
  caller: Caller;
}

export interface CommandCall<N extends OperationName> extends Call<N> {
  handler: AnyCommandHandler<N>;
}

export interface QueryCall<N extends OperationName> extends Call<N> {
  handler: QueryHandler<N>;
}

export interface CallContext {
  caller: Caller;
  environment: Environment;
  /**
   * Fields that a command's handler adds to this one answer. They are not stored, and a repeated call does
   * not return them.
   */
  aside: Record<string, unknown>;
  /** Ids that were read before the transaction: of tasks, of which it takes one, or of sessions. */
  candidates?: readonly string[] | undefined;
}

interface CommonMembers<N extends OperationName> {
  name: N;
  /**
   * Runs before the operation, for example to end the claims of dead processes. Returns undefined if there is
   * nothing to do.
   */
  prepare?: ((executor: Executor, call: Call<N>) => Promise<unknown> | undefined) | undefined;
}

export interface CommandHandler<N extends OperationName, C extends Command> extends CommonMembers<N> {
  kind: "command";
  command(input: ParsedOf<OperationNamed<N>>, context: CallContext): C;
  answer(view: View, value: ValueOf<C["type"]>, command: C, now: number): OutputOf<OperationNamed<N>>;
  /**
   * Whether a call that is repeated with its idempotency key returns this answer. If not, it runs again.
   * Default: yes.
   */
  isRemembered(answer: OutputOf<OperationNamed<N>>): boolean;
  /** Default: in one transaction. */
  run(executor: Executor, call: CommandCall<N>): Promise<OutputOf<OperationNamed<N>>>;
}

export interface QueryHandler<N extends OperationName> extends CommonMembers<N> {
  kind: "query";
  query(
    view: Reads,
    input: ParsedOf<OperationNamed<N>>,
    context: CallContext,
    now: number,
  ): Outcome<OutputOf<OperationNamed<N>>>;
  /** Whether expired leases are ended before the read (ADR 7). Default: yes. */
  sweeps: boolean;
  /** Default: in one read. */
  run(executor: Executor, call: QueryCall<N>): Promise<OutputOf<OperationNamed<N>>>;
}

// biome-ignore lint/suspicious/noExplicitAny: each handler is checked against its own operation and command where it is defined.
type AnyCommandHandler<N extends OperationName> = CommandHandler<N, any>;

/** The entry point of dispatch.ts, for handlers that run calls of other operations. */
export type Dispatch = (
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: CallOptions,
) => Promise<unknown>;

/** Runs calls of other operations, each validated, authorised and refused on its own. */
export interface CompositeHandler<N extends OperationName> extends CommonMembers<N> {
  kind: "composite";
  run(executor: Executor, call: Call<N>, dispatch: Dispatch): Promise<OutputOf<OperationNamed<N>>>;
}

export type Handler<N extends OperationName> = AnyCommandHandler<N> | QueryHandler<N> | CompositeHandler<N>;

type CommandMembers<N extends OperationName, C extends Command> = Pick<CommandHandler<N, C>, "command"> &
  Pick<CommandHandler<N, NoInfer<C>>, "answer"> &
  Partial<Pick<CommandHandler<N, NoInfer<C>>, "prepare" | "isRemembered" | "run">>;

type QueryMembers<N extends OperationName> = Pick<QueryHandler<N>, "query"> &
  Partial<Pick<QueryHandler<N>, "prepare" | "sweeps" | "run">>;

export function forCommand<N extends OperationName, C extends Command>(
  name: N,
  { command, answer, prepare, isRemembered = always, run = inOneTransaction }: CommandMembers<N, C>,
): CommandHandler<N, C> {
  return { kind: "command", name, prepare, command, answer, isRemembered, run };
}

export function forQuery<N extends OperationName>(
  name: N,
  { query, prepare, sweeps = true, run = inOneRead }: QueryMembers<N>,
): QueryHandler<N> {
  return { kind: "query", name, prepare, query, sweeps, run };
}

export function forCalls<N extends OperationName>(
  name: N,
  { run }: Pick<CompositeHandler<N>, "run">,
): CompositeHandler<N> {
  return { kind: "composite", name, run };
}

const always = () => true;

function inOneTransaction<N extends OperationName>(executor: Executor, call: CommandCall<N>) {
  return executor.transact(call).then(answerOf<N>);
}

const answerOf = <N extends OperationName>({ answer }: Executed<N>) => answer;

function inOneRead<N extends OperationName>(executor: Executor, call: QueryCall<N>) {
  return executor.query(call);
}
