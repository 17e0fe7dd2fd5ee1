// What the reader has to say. Nothing here throws: all problems are collected, up to a bound.

import type { At, Problem } from "./plan.js";

const problemsMax = 50;
const notesMax = 50;

export class Report {
  readonly problems: Problem[] = [];
  private readonly said: string[] = [];
  private unsaid = 0;
  private readonly strayLines: number[] = [];
  private readonly fields = new Set<string>();

  get isFull(): boolean {
    return this.problems.length >= problemsMax;
  }

  problem(at: At, message: string, hint?: string): void {
    if (this.isFull) return;
    this.problems.push({ line: at.line, column: at.column, message, ...(hint !== undefined && { hint }) });
  }

  note(message: string): void {
    if (this.said.length < notesMax) this.said.push(message);
    else this.unsaid++;
  }

  /** A line that belongs to no task. */
  stray(line: number): void {
    if (this.strayLines.at(-1) !== line) this.strayLines.push(line);
  }

  unknownField(name: string): void {
    if (this.fields.size < 20) this.fields.add(name);
  }

  get notes(): string[] {
    const notes = [...this.said];
    if (this.unsaid > 0) notes.push(`… and ${this.unsaid} more notes.`);
    if (this.fields.size > 0)
      notes.push(`Fields that Dibs does not know were ignored: ${[...this.fields].join(", ")}.`);
    if (this.strayLines.length > 0) notes.push(strayNote(this.strayLines.toSorted((a, b) => a - b)));
    return notes;
  }
}

function strayNote(lines: number[]): string {
  const ranges: string[] = [];
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (lines[end + 1] === lines[end]! + 1) end++;
    ranges.push(end > i ? `${lines[i]}–${lines[end]}` : `${lines[i]}`);
    i = end + 1;
  }
  const shown = ranges.slice(0, 8).join(", ") + (ranges.length > 8 ? ", …" : "");
  const what = lines.length === 1 ? "1 line that belongs" : `${lines.length} lines that belong`;
  return `Ignored ${what} to no task (${lines.length === 1 ? "line" : "lines"} ${shown}).`;
}
