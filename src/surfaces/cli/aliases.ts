// Names that users of other tools type, each for one command.

const aliases: ReadonlyMap<string, string> = new Map([
  ["create", "add"],
  ["next", "ready"],
  ["close", "done"],
  ["ls", "list"],
  ["status", "list"],
]);

/** The command that a word stands for. */
export const unaliased = (word: string): string => aliases.get(word) ?? word;

export const aliasesOf = (command: string): string[] =>
  [...aliases].filter(([, name]) => name === command).map(([alias]) => alias);
