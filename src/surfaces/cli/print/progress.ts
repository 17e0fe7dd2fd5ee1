// How far long work is: one line that is written over, and gone at the end. Only where somebody looks.

import type { Context } from "../context.js";
import { columnsOf } from "./display.js";
import { cut } from "./text.js";

const linesPerStep = 1_000;

export class Progress {
  /** Of the lines that passed last. */
  count = 0;
  private readonly isOn: boolean;
  private isShown = false;

  constructor(private readonly context: Context) {
    const { stdout, env } = context.parts;
    this.isOn = stdout.isTerminal && !context.isJson && env.TERM !== "dumb";
  }

  /** The same lines, counted as they pass. */
  async *over(lines: AsyncIterable<string>, tell: (count: number) => string): AsyncGenerator<string> {
    this.count = 0;
    for await (const line of lines) {
      this.count++;
      if (this.isOn && this.count % linesPerStep === 0) this.show(tell(this.count));
      yield line;
    }
  }

  clear(): void {
    if (this.isShown) this.context.parts.out("\r\x1b[2K");
    this.isShown = false;
  }

  private show(text: string): void {
    const { parts } = this.context;
    parts.out(`\r\x1b[2K${cut(text, columnsOf(parts) - 1)}`);
    this.isShown = true;
  }
}
