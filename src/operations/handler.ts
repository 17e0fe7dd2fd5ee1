// An operation's implementation: a command with its answer, or a query. Handlers translate; rules stay in the core.

import type { OutputOf, ParsedOf } from "../contract/operation.js";
import type { OperationName, OperationNamed } from "../contract/registry.js";
import type { Command } from "../core/command.js";
import type { ValueOf } from "../core/decide.js";
import type { Outcome } from "../core/refusal.js";
import type { Reads } from "../core/view.js";
import type { Caller, Environment } from "./environment.js";

export interface CallContext {
  caller: Caller;
  environment: Environment;
  /** What a command's handler puts here is shown in this one answer; stored it is nowhere, also not for a repeated call. */
  aside: Record<string, unknown>;
}

export interface CommandHandler<N extends OperationName, C extends Command> {
  kind: "command";
  command(input: ParsedOf<OperationNamed<N>>, context: CallContext): C;
  answer(view: Reads, value: ValueOf<C["type"]>, command: C, now: number): OutputOf<OperationNamed<N>>;
}

export interface QueryHandler<N extends OperationName> {
  kind: "query";
  query(
    view: Reads,
    input: ParsedOf<OperationNamed<N>>,
    context: CallContext,
    now: number,
  ): Outcome<OutputOf<OperationNamed<N>>>;
}

// biome-ignore lint/suspicious/noExplicitAny: each handler is checked against its own operation and command where it is defined.
export type Handler<N extends OperationName> = CommandHandler<N, any> | QueryHandler<N>;

export function forCommand<N extends OperationName, C extends Command>(
  _name: N,
  handler: Pick<CommandHandler<N, C>, "command"> & Pick<CommandHandler<N, NoInfer<C>>, "answer">,
): CommandHandler<N, C> {
  return { kind: "command", ...handler };
}

export function forQuery<N extends OperationName>(
  _name: N,
  query: QueryHandler<N>["query"],
): QueryHandler<N> {
  return { kind: "query", query };
}
