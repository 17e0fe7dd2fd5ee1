// A short flag means the same wherever it is taken: nobody has to look up which command this is.

import { expect, test } from "vitest";
import { type FlagSpec, globalFlags, listFlags } from "../../src/surfaces/cli/spec.js";
import { commandsTyped } from "./catalogue.js";

/** To give a flag a short form, add it here: it is taken for all commands then. */
const meanings: Record<string, string[]> = {
  a: ["all"],
  c: ["created"],
  // Leaders' own word for it.
  d: ["depends-on", "depends"],
  f: ["follow"],
  h: ["help"],
  l: ["label"],
  m: ["modified"],
  n: ["concurrency"],
  p: ["priority"],
  q: ["quiet"],
  s: ["status"],
  t: ["tree"],
  y: ["yes"],
};

test("every short flag means one thing across all commands", async () => {
  const problems: string[] = [];
  for (const { spec } of await commandsTyped()) {
    const flags: Record<string, FlagSpec> = { ...globalFlags, ...spec.flags };
    for (const [name, flag] of Object.entries(flags)) {
      if (flag.short === undefined) continue;
      const known = meanings[flag.short];
      if (!known?.includes(name))
        problems.push(
          `dibs ${spec.name}: -${flag.short} is --${known?.[0] ?? "nothing yet"}, not --${name}.`,
        );
      // Also --all: of all projects, never something else.
      if (flag.short === "a" && flag !== listFlags.all)
        problems.push(`dibs ${spec.name}: -a is listFlags.all, or has no short form.`);
    }
  }
  expect(problems).toEqual([]);
});
