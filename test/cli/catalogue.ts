// Every command that there is, with the words that it needs.

import { entries } from "../../src/surfaces/cli/commands.js";
import { argsOf, type CommandSpec } from "../../src/surfaces/cli/spec.js";

export interface Typed {
  spec: CommandSpec;
  /** What is typed before and after further flags. */
  words: { before: string[]; after: string[] };
}

const runners = ["work", "run"];

export async function commandsTyped(): Promise<Typed[]> {
  const all: Typed[] = [];
  for (const [name, { load }] of entries) {
    const command = (await load())[name]!;
    for (const spec of "parts" in command ? Object.values(command.parts) : [command]) {
      const needed = argsOf(spec).filter((each) => each.needed || each.name === "id");
      const isRunner = runners.includes(spec.name);
      const runs = isRunner || needed.some(({ name }) => name === "command");
      const more = isRunner
        ? ["--prompt", "x"].slice(spec.name === "run" ? 0 : 2)
        : needed.filter(({ name }) => name !== "command").map(() => "0001");
      const before = [...spec.name.split(" "), ...more, "--session", "a"];
      all.push({ spec, words: { before, after: runs ? ["--", "true"] : [] } });
    }
  }
  return all;
}
