import type { Context } from "./context.js";
import type { CommandSpec } from "./spec.js";

/** What it did, as an exit code, if not 0. */
export type Run = (context: Context) => Promise<unknown>;

export interface Command extends CommandSpec {
  run: Run;
}

/** There was nothing to do or to claim. */
export const nothingToDo = 5;
