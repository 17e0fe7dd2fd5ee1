// Units of resources on the command line: --uses db --uses gpu=2.

import type { Context } from "./context.js";
import { type FlagSpec, usageError } from "./spec.js";

export const usesFlag = (whose: string): FlagSpec => ({
  value: "<id[=units]>",
  many: true,
  help: `resource that ${whose} uses; repeatable: --uses test-db --uses gpu=2`,
});

/** Undefined: not said. Empty: none. */
export function usesOf(context: Context): Record<string, number> | undefined {
  const words = context.list("uses");
  if (words === undefined) return undefined;
  const uses: Record<string, number> = {};
  for (const word of words) {
    const [id = "", units = "1", ...more] = word.split("=");
    if (id === "" || more.length > 0 || !/^[1-9]\d{0,6}$/.test(units))
      throw usageError(
        `--uses must be a resource and its units, not '${word}'.`,
        "For example: --uses gpu=2",
      );
    uses[id] = (Object.hasOwn(uses, id) ? uses[id]! : 0) + Number(units);
  }
  return uses;
}
