// What `init` changed in files of others, so that it can be taken back to the letter: where a file is as we left it, what we put in
// goes and what we replaced comes back, and a file that we made goes whole. Where somebody has edited it since, or the record is
// another clone's, what is ours is looked for instead.

import { createHash } from "node:crypto";

/** `init` without agents wants it for whoever comes. */
export const everybody = "*";

interface Entry {
  /** How the file was left. */
  left: string;
  isMade: boolean;
  at: number;
  length: number;
  replaced: string;
  /** For whom. */
  agents: string[];
}

const markOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** The one place where two texts differ. */
function difference(before: string, after: string): Pick<Entry, "at" | "length" | "replaced"> {
  const shorter = Math.min(before.length, after.length);
  let at = 0;
  while (at < shorter && before[at] === after[at]) at++;
  let tail = 0;
  while (tail < shorter - at && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return { at, length: after.length - at - tail, replaced: before.slice(at, before.length - tail) };
}

export class Changes {
  private readonly files: Map<string, Entry>;

  constructor(text: string | null) {
    this.files = new Map(Object.entries(read(text)));
  }

  get isEmpty(): boolean {
    return this.files.size === 0;
  }

  toString(): string {
    return `${JSON.stringify({ files: Object.fromEntries(this.files) }, null, 2)}\n`;
  }

  /** To be written before the file is: should that fail, the file is not as it is said to be left. */
  note(name: string, before: string | null, after: string, agents: readonly string[]): void {
    const known = this.files.get(name);
    if (before === after) {
      if (known) known.agents = [...new Set([...known.agents, ...agents])];
      return;
    }
    const first = before === null ? { text: null } : (this.undo(name, before) ?? { text: before });
    const isMade = first.text === null;
    this.files.set(name, {
      left: markOf(after),
      isMade,
      ...difference(first.text ?? "", after),
      agents: [...new Set([...(known?.agents ?? []), ...agents])],
    });
  }

  knows(name: string): boolean {
    return this.files.has(name);
  }

  /** The file as it was, null if there was none; undefined: it is not as we left it. */
  undo(name: string, text: string): { text: string | null } | undefined {
    const entry = this.files.get(name);
    if (!entry || entry.left !== markOf(text)) return undefined;
    if (entry.isMade) return { text: null };
    const { at, length, replaced } = entry;
    return { text: text.slice(0, at) + replaced + text.slice(at + length) };
  }

  forget(name: string): void {
    this.files.delete(name);
  }

  /** These want it no longer; true if nobody does by now. */
  leave(name: string, agents: readonly string[]): boolean {
    const entry = this.files.get(name);
    if (!entry) return false;
    entry.agents = entry.agents.filter((each) => !agents.includes(each));
    return entry.agents.length === 0;
  }
}

/** A record that cannot be read is none: it lies in a repository, where anybody may have written it. */
function read(text: string | null): { [name: string]: Entry } {
  try {
    const { files } = JSON.parse(text ?? "") as { files: { [name: string]: Entry } };
    return Object.values(files).every(isEntry) ? files : {};
  } catch {
    return {};
  }
}

function isEntry({ left, isMade, at, length, replaced, agents }: Entry): boolean {
  const isPlace = [at, length].every((each) => Number.isSafeInteger(each) && each >= 0);
  const areTexts = [left, replaced, ...agents].every((each) => typeof each === "string");
  return isPlace && areTexts && typeof isMade === "boolean";
}
