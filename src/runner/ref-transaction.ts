// Several refs that change together, or not at all.

import { git } from "./git.js";

export type RefChange =
  /** `from` null: the ref must not exist; omitted: whatever it is. */
  { ref: string; to: string; from?: string | null } | { ref: string; is: string };

export interface TransactionOptions {
  /** Before the command, such as `-c core.hooksPath=/dev/null`. */
  options?: readonly string[];
  timeoutMs?: number;
}

export async function changeRefs(
  root: string,
  changes: readonly RefChange[],
  { options = [], ...more }: TransactionOptions = {},
): Promise<void> {
  // Separated by NUL: no name or value can become a line of its own.
  const input = ["start\0", ...changes.map(lineOf), "prepare\0", "commit\0"].join("");
  await git(root, [...options, "update-ref", "--no-deref", "-z", "--stdin"], { input, ...more });
}

function lineOf(change: RefChange): string {
  if ("is" in change) return `verify ${change.ref}\0${change.is}\0`;
  const { ref, to, from } = change;
  return `update ${ref}\0${to}\0${from === null ? "0".repeat(to.length) : (from ?? "")}\0`;
}
