// What the reader has to say. Nothing here throws: all problems are collected, up to a bound.

import type { At, Problem } from "./plan.js";
import { quote } from "./words.js";

const problemsMax = 50;
const notesMax = 50;

export class Report {
  readonly problems: Problem[] = [];
  private readonly said: string[] = [];
  private unsaid = 0;
  private readonly strays: Stray[] = [];
  private readonly items = { count: 0, lost: [] as Stray[] };
  private readonly fields = new Map<string, string>();

  get isFull(): boolean {
    return this.problems.length >= problemsMax;
  }

  problem(at: At, message: string, hint?: string): void {
    if (this.isFull) return;
    this.problems.push({ line: at.line, column: at.column, message, ...(hint !== undefined && { hint }) });
  }

  note(message: string): void {
    if (this.said.includes(message)) return;
    if (this.said.length < notesMax) this.said.push(message);
    else this.unsaid++;
  }

  /** A line that belongs to no task. */
  stray({ number, text }: { number: number; text: string }): void {
    if (text.trim() !== "") this.strays.push({ line: number, text: text.slice(0, 500) });
  }

  /** A line outside of all tasks was understood all the same. */
  found(line: number): void {
    const index = this.strays.findIndex((each) => each.line === line);
    if (index >= 0) this.strays.splice(index, 1);
  }

  /** An item of a list or a heading that is like a task, and whether it became one, or text of one. */
  item({ number, text }: { number: number; text: string }, { isLost }: { isLost: boolean }): void {
    this.items.count++;
    if (isLost) this.items.lost.push({ line: number, text: text.slice(0, 500) });
  }

  /** Most of the author's items belong to no task: another plan is meant than the one that was read. */
  refuseIfLost(): void {
    const { count, lost } = this.items;
    if (lost.length < 3 || lost.length * 2 <= count) return;
    this.problem(
      { line: lost[0]!.line, column: 1 },
      `${lost.length} of the ${count} items of this plan were not understood: ${quoted(lost)}.`,
      "Write each task as `- [ ] title`, or put remarks under a heading such as `## Notes`.",
    );
  }

  /** A field that other programs write about work that was done; one value of it is quoted. */
  ignoredField(name: string, value: string): void {
    if (this.fields.size < 20 && !this.fields.has(name)) this.fields.set(name, quote(`${name}: ${value}`));
  }

  get notes(): string[] {
    const notes = [...this.said];
    if (this.unsaid > 0) notes.push(`… and ${this.unsaid} more notes.`);
    if (this.fields.size > 0)
      notes.push(`Fields about the state of work were ignored: ${[...this.fields.values()].join(", ")}.`);
    if (this.strays.length > 0) notes.push(strayNote(this.strays.toSorted((a, b) => a.line - b.line)));
    return notes;
  }
}

interface Stray {
  line: number;
  text: string;
}

const quotedMax = 200;

function strayNote(strays: Stray[]): string {
  const what = strays.length === 1 ? "1 line belongs" : `${strays.length} lines belong`;
  return `${what} to no task and ${strays.length === 1 ? "was" : "were"} left out: ${quoted(strays)}.`;
}

function quoted(strays: Stray[]): string {
  const shown = strays.slice(0, quotedMax).map(({ line, text }) => `line ${line} ${quote(text, 120)}`);
  const rest = strays.length - shown.length;
  if (rest > 0)
    shown.push(`and ${rest} more line${rest === 1 ? "" : "s"}, from line ${strays[quotedMax]!.line} on`);
  return shown.join(", ");
}
