// The terminal while it is ours. Frames are compared line by line and only what changed is written, in one piece, so that nothing
// flickers and nothing is written while nothing changes. Whatever happens, leaving gives it back as it was.

import type { ReadStream, WriteStream } from "node:tty";

export interface Frame {
  lines: readonly string[];
  /** Where somebody types; null hides it. */
  cursor: { row: number; column: number } | null;
}

const csi = "\x1b[";
/** The other screen, no cursor, no wrapping, pasted text marked as such. */
const enter = `${csi}?1049h${csi}?25l${csi}?7l${csi}?2004h${csi}2J`;
const leave = `${csi}?2026l${csi}0m${csi}?2004l${csi}?7h${csi}?25h${csi}?1049l`;
/** Terminals that know it show all of it at once. */
const begin = `${csi}?2026h`;
const end = `${csi}?2026l`;

// biome-ignore lint/suspicious/noControlCharactersInRegex: everything but colours is taken out, wherever it came from.
const harmful = /\x1b(?!\[[\d;]*m)|[\x00-\x1a\x1c-\x1f\x7f-\x9f]/g;

export class Screen {
  private drawn: readonly string[] = [];
  private cursor: Frame["cursor"] = null;
  private isOurs = false;
  private later: Frame | null = null;

  constructor(
    private readonly stdin: Pick<ReadStream, "setRawMode">,
    private readonly stdout: Pick<WriteStream, "write" | "once" | "writableNeedDrain">,
  ) {}

  enter(): void {
    if (this.isOurs) return;
    this.isOurs = true;
    this.stdin.setRawMode(true);
    this.stdout.write(enter);
    this.forget();
  }

  /** May be called again, and from anywhere. */
  leave(): void {
    if (!this.isOurs) return;
    this.isOurs = false;
    this.later = null;
    // A terminal that is gone refuses both.
    try {
      this.stdout.write(leave);
      this.stdin.setRawMode(false);
    } catch {}
  }

  /** What is shown is no longer known: all of it is drawn the next time. */
  forget(): void {
    this.drawn = [];
    this.cursor = null;
  }

  draw(frame: Frame): void {
    if (!this.isOurs) return;
    if (this.stdout.writableNeedDrain) {
      this.postpone(frame);
      return;
    }
    const lines = frame.lines.map((line) => line.replace(harmful, ""));
    const changes = this.changes(lines) + this.cursorChange(frame.cursor);
    if (changes !== "") this.stdout.write(`${begin}${changes}${end}`);
    this.drawn = lines;
    this.cursor = frame.cursor;
  }

  private changes(lines: readonly string[]): string {
    const count = Math.max(lines.length, this.drawn.length);
    let text = "";
    for (let at = 0; at < count; at++) {
      const line = lines[at] ?? "";
      // Erased before it is written: behind a line as wide as the terminal, tmux would erase its last column.
      if (line !== this.drawn[at]) text += `${csi}${at + 1};1H${csi}K${line}${csi}0m`;
    }
    // Drawing moves it.
    return text === "" || this.cursor === null ? text : `${csi}?25l${text}${placed(this.cursor)}`;
  }

  private cursorChange(cursor: Frame["cursor"]): string {
    if (cursor?.row === this.cursor?.row && cursor?.column === this.cursor?.column) return "";
    return cursor === null ? `${csi}?25l` : placed(cursor);
  }

  /** A slow terminal gets the newest frame when it is ready, and none of those between. */
  private postpone(frame: Frame): void {
    const isWaiting = this.later !== null;
    this.later = frame;
    if (isWaiting) return;
    this.stdout.once("drain", () => {
      const newest = this.later;
      this.later = null;
      if (newest) this.draw(newest);
    });
  }
}

const placed = ({ row, column }: NonNullable<Frame["cursor"]>) => `${csi}${row + 1};${column + 1}H${csi}?25h`;
