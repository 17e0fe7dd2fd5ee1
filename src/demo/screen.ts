// Where the demo shows itself: a table redrawn in place on a terminal, else one line per event.

import type { WriteStream } from "node:tty";
import { padTo } from "../common/text.js";
import { agentLines, type Picture, taskLines, titleLine } from "./table.js";
import { colour, noColour, type Paint, type Style, seconds } from "./text.js";

export interface Output {
  /** A line of the log; a minor one tells what the table shows anyway. */
  log(line: LogLine): void;
  draw(picture: Picture): void;
  /** Leaves the terminal as it was; may be called again. */
  close(): void;
}

export interface LogLine {
  elapsedMs: number;
  text: string;
  minor?: boolean;
  style?: Style | undefined;
}

const logMax = 12;
const columnsMax = 110;

export function openOutput(stdout: WriteStream): Output {
  const isTerminal = stdout.isTTY && process.env.TERM !== "dumb";
  return isTerminal ? new Screen(stdout, paintFor(stdout)) : new Lines(stdout);
}

export function paintFor(stdout: WriteStream): Paint {
  return stdout.isTTY && !process.env.NO_COLOR && stdout.hasColors() ? colour : noColour;
}

class Lines implements Output {
  constructor(private readonly stdout: NodeJS.WritableStream) {}

  log({ elapsedMs, text }: LogLine): void {
    this.stdout.write(`${seconds(elapsedMs).padStart(7)}  ${text}\n`);
  }

  draw(): void {}

  close(): void {}
}

/** Writes only the lines that changed, so that nothing flickers. */
class Screen implements Output {
  private readonly tail: LogLine[] = [];
  private drawn: string[] = [];
  private open = true;

  constructor(
    private readonly stdout: WriteStream,
    private readonly paint: Paint,
  ) {
    // The other screen, so that what the terminal showed before comes back; the cursor would jump about.
    stdout.write("\x1b[?1049h\x1b[?25l\x1b[2J");
    stdout.on("resize", this.onResize);
  }

  private readonly onResize = () => {
    this.drawn = [];
    this.stdout.write("\x1b[2J");
  };

  log(line: LogLine): void {
    if (line.minor) return;
    this.tail.push(line);
    if (this.tail.length > logMax) this.tail.shift();
  }

  draw(picture: Picture): void {
    if (!this.open) return;
    const lines = this.lines(picture);
    let changes = "";
    for (let row = 0; row < Math.max(lines.length, this.drawn.length); row++) {
      if (lines[row] !== this.drawn[row]) changes += `\x1b[${row + 1};1H${lines[row] ?? ""}\x1b[K`;
    }
    this.drawn = lines;
    if (changes) this.stdout.write(changes);
  }

  /** The log takes the rows that are left; on a low screen the gaps go first. */
  private lines(picture: Picture): string[] {
    // A full last column would make some terminals wrap.
    const columns = Math.min((this.stdout.columns || 80) - 1, columnsMax);
    const rows = this.stdout.rows || 24;
    const look = { columns, paint: this.paint };
    const parts = [[titleLine(picture, look)], agentLines(picture, look), taskLines(picture, look)];
    const height = parts.reduce((sum, part) => sum + part.length, 0);
    const gap = rows >= height + parts.length + 3 ? [""] : [];
    const above = parts.flatMap((part) => [...part, ...gap]);
    const log = this.tail.slice(-Math.max(1, Math.min(logMax, rows - above.length)));
    const below = log.map(({ elapsedMs, text, style }) => {
      const line = padTo(text, columns - 9);
      return ` ${this.paint(seconds(elapsedMs).padStart(6), "dim")}  ${style ? this.paint(line, style) : line}`;
    });
    return [...above, ...below].slice(0, rows);
  }

  close(): void {
    if (!this.open) return;
    this.open = false;
    this.stdout.off("resize", this.onResize);
    this.stdout.write("\x1b[?25h\x1b[?1049l");
  }
}
