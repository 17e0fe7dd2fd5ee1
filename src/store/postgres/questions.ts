// A decision is synchronous, the database is not. What a decision asks for and is not known yet is noted; single rows are
// guessed to be absent, so that the run goes on and finds what else it will ask for. Then all questions are asked in one round
// trip, what the run has done is taken back, and it runs again: decisions are pure. A run without a question counts.

import type { Row } from "../row-codec.js";
import { orUnreadable, UnreadableRowError } from "../unreadable.js";
import type { Statement } from "./statement.js";

/** A run cannot go on: what it asked for cannot be guessed. One for all: nobody looks at where it was thrown. */
export const unanswered = Object.assign(new Error("not answered yet"), { name: "Unanswered" });

/** Asked with others of its kind in one statement; `take` notes the answer for its key, and what came along for others. */
export interface Kind<K extends readonly unknown[]> {
  name: string;
  /** `deep`: the run has asked for several rounds, and probably walks along a chain. */
  statement(org: string, keys: readonly K[], deep: boolean): Statement;
  take(
    rows: Row[],
    keys: readonly K[],
    note: (kind: string, key: readonly unknown[], answer: unknown) => void,
  ): void;
}

interface Asked {
  kind: Kind<never>;
  keys: (readonly unknown[])[];
}

/** A list, which the database must answer with what is pending: it is written, the list read, and the writing taken back. */
export interface AskedList {
  key: string;
  statement: Statement;
  decode(rows: Row[]): unknown;
  pending: Statement[];
  /** Projects whose queue must be written anew first. */
  rebuilt: string[];
}

export class Questions {
  guesses = 0;
  private readonly answers = new Map<string, unknown>();
  private asked = new Map<string, Asked>();
  private askedKeys = new Set<string>();
  private lists = new Map<string, AskedList>();

  get isOpen(): boolean {
    return this.asked.size > 0 || this.lists.size > 0;
  }

  /** The answer, or the guess, noting the question. `part` is what of the answer is wanted, if it has several. */
  one<K extends readonly unknown[], T>(kind: Kind<K>, key: K, guess: T, part = kind.name): T {
    const name = keyOf(part, key);
    if (this.answers.has(name)) return readableAnswer<T>(this.answers.get(name));
    this.guesses++;
    const question = keyOf(kind.name, key);
    if (!this.askedKeys.has(question)) {
      this.askedKeys.add(question);
      const asked = this.asked.get(kind.name);
      if (asked) asked.keys.push(key);
      else this.asked.set(kind.name, { kind: kind as unknown as Kind<never>, keys: [key] });
    }
    return guess;
  }

  note(kind: string, key: readonly unknown[], answer: unknown): void {
    this.answers.set(keyOf(kind, key), answer);
  }

  list<T>(key: string, ask: () => Omit<AskedList, "key">): T {
    if (this.answers.has(key)) return readableAnswer<T>(this.answers.get(key));
    if (!this.lists.has(key)) this.lists.set(key, { key, ...ask() });
    throw unanswered;
  }

  noteList({ key, decode }: AskedList, rows: Row[]): void {
    this.answers.set(
      key,
      orUnreadable(() => decode(rows)),
    );
  }

  /** Takes the open questions, to be asked now. */
  take(): { kinds: Asked[]; lists: AskedList[] } {
    const taken = { kinds: [...this.asked.values()], lists: [...this.lists.values()] };
    this.asked = new Map();
    this.askedKeys = new Set();
    this.lists = new Map();
    return taken;
  }

  forget(): void {
    this.answers.clear();
    this.take();
  }
}

/** An unreadable row fails the run that asks for it, not the round trip that fetched it along. */
function readableAnswer<T>(answer: unknown): T {
  if (answer instanceof UnreadableRowError) throw answer;
  return answer as T;
}

function keyOf(kind: string, key: readonly unknown[]): string {
  return `${kind} ${key.join("/")}`;
}
