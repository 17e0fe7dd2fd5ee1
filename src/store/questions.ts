// A decision is synchronous, a database server is not. What a decision looks up and is not known yet is noted as a question; single
// rows are guessed to be absent, so that the run continues and finds what else it looks up. Then all questions are answered in one
// round trip, the run is undone, and it runs again (runs.ts). A run without a question counts.

import { orUnreadable, UnreadableRowError } from "./unreadable.js";

/** A run cannot continue: what it asked for cannot be guessed. One for all: its stack is never looked at. */
export const unanswered = Object.assign(new Error("not answered yet"), { name: "Unanswered" });

/** Questions of one kind are answered together. */
export interface Kind<K extends readonly unknown[]> {
  name: string;
  /** For the type of its keys only. */
  readonly keyed?: K;
}

export type Note = (kind: string, key: readonly unknown[], answer: unknown) => void;

interface Asked<A> {
  kind: A;
  keys: (readonly unknown[])[];
}

/** `A` is how a store answers a kind, `L` how it answers a list. */
export class Questions<A, L> {
  guesses = 0;
  private readonly answers = new Map<string, unknown>();
  private asked = new Map<string, Asked<A>>();
  private askedKeys = new Set<string>();
  private lists = new Map<string, L>();

  get isOpen(): boolean {
    return this.asked.size > 0 || this.lists.size > 0;
  }

  /** The answer, or the guess, noting the question. `part` is what of the answer is wanted, if it has several. */
  one<K extends readonly unknown[], T>(kind: A & Kind<K>, key: K, guess: T, part = kind.name): T {
    const name = keyOf(part, key);
    if (this.answers.has(name)) return readableAnswer<T>(this.answers.get(name));
    this.guesses++;
    const question = keyOf(kind.name, key);
    if (!this.askedKeys.has(question)) {
      this.askedKeys.add(question);
      const asked = this.asked.get(kind.name);
      if (asked) asked.keys.push(key);
      else this.asked.set(kind.name, { kind, keys: [key] });
    }
    return guess;
  }

  /** Bound: it is passed on. */
  readonly note: Note = (kind, key, answer) => {
    this.answers.set(keyOf(kind, key), answer);
  };

  /** The answer; without one the run ends here. */
  list<T>(key: string, ask: () => L): T {
    if (this.answers.has(key)) return readableAnswer<T>(this.answers.get(key));
    if (!this.lists.has(key)) this.lists.set(key, ask());
    throw unanswered;
  }

  noteList(key: string, answer: () => unknown): void {
    this.answers.set(key, orUnreadable(answer));
  }

  /** Takes the open questions, to be answered now. */
  take(): { kinds: Asked<A>[]; lists: [string, L][] } {
    const taken = { kinds: [...this.asked.values()], lists: [...this.lists] };
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
