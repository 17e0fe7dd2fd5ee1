import type { Context } from "./context.js";
import type { CommandSpec } from "./spec.js";

/** What it did, as an exit code, if not 0. */
export type Run = (context: Context) => Promise<unknown>;

export interface SingleCommand extends CommandSpec {
  run: Run;
}

/** Only its parts can be called: `lock acquire`, `lock release`. */
export interface CommandGroup {
  name: string;
  summary: string;
  details?: string;
  parts: Record<string, SingleCommand>;
}

export type Command = SingleCommand | CommandGroup;

/** There was nothing to do or to claim. */
export const nothingToDo = 5;
