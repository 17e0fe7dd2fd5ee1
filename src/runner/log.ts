// The attempt's log on its way to the store: in batches, one at a time, and bounded. A program that prints faster than batches
// may go loses the middle of what it printed, not the beginning or the end of it.

import { setTimeout as sleep } from "node:timers/promises";
import { isLost } from "../client/holding/index.js";
import { DibsError } from "../contract/error.js";

export interface LogOptions {
  append(text: string): Promise<unknown>;
  onLost(error: unknown): void;
  /** A batch goes after so long, or when it is full. */
  everyMs: number;
  /** The shortest time between two batches. */
  gapMs: number;
}

/** Below what the store takes at once, 64 KiB. */
const batchBytes = 32 * 1024;
const headBytesMax = 28 * 1024;
const tailBytesMax = 28 * 1024;

export class Log {
  private head = "";
  private headBytes = 0;
  private tail = "";
  private tailBytes = 0;
  private droppedBytes = 0;
  private timer: NodeJS.Timeout | null = null;
  private sending: Promise<void> | null = null;
  /** Nothing more comes: behind the last batch there is nothing to keep apart from it. */
  private isClosing = false;
  private isClosed = false;

  constructor(private readonly options: LogOptions) {}

  add(text: string): void {
    if (this.isClosed || this.isClosing || text === "") return;
    this.keep(text);
    const isFull = this.headBytes + this.tailBytes >= batchBytes;
    if (isFull && !this.sending) this.send();
    else this.timer ??= setTimeout(() => this.send(), this.options.everyMs);
  }

  private keep(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.tailBytes === 0 && this.headBytes + bytes <= headBytesMax) {
      this.head += text;
      this.headBytes += bytes;
      return;
    }
    this.tail += text;
    this.tailBytes += bytes;
    if (this.tailBytes <= 2 * tailBytesMax) return;
    this.tail = endOf(this.tail, tailBytesMax);
    this.droppedBytes += this.tailBytes - Buffer.byteLength(this.tail);
    this.tailBytes = Buffer.byteLength(this.tail);
  }

  private take(): string {
    const tail = endOf(this.tail, tailBytesMax);
    const dropped = this.droppedBytes + this.tailBytes - Buffer.byteLength(tail);
    const gap = dropped > 0 ? `\n[${dropped} bytes left out: printed too fast]\n` : "";
    const text = this.head + gap + tail;
    this.head = "";
    this.tail = "";
    this.headBytes = 0;
    this.tailBytes = 0;
    this.droppedBytes = 0;
    return text;
  }

  private send(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    if (this.sending || this.headBytes + this.tailBytes === 0) return;
    const text = this.take();
    this.sending = this.deliver(text).finally(() => {
      this.sending = null;
      if (this.headBytes + this.tailBytes > 0 && !this.isClosed) {
        this.timer ??= setTimeout(() => this.send(), this.options.gapMs);
      }
    });
  }

  private async deliver(text: string): Promise<void> {
    let isLast = this.isClosing;
    try {
      await this.options.append(text);
    } catch (error) {
      isLast = false;
      if (isLost(error)) {
        this.isClosed = true;
        this.options.onLost(error);
      } else if (error instanceof DibsError && error.retryable) {
        // With what came meanwhile, and as bounded.
        const later = this.take();
        this.keep(text);
        if (later !== "") this.keep(later);
      }
    }
    if (!this.isClosed && !isLast) await sleep(this.options.gapMs);
  }

  /** Sends the rest, if that can be done in time. */
  async close(withinMs: number): Promise<void> {
    this.isClosing = true;
    const until = performance.now() + withinMs;
    const isOver = () => this.isClosed || performance.now() >= until;
    while (!isOver() && (this.sending || this.headBytes + this.tailBytes > 0)) {
      this.send();
      const late = new AbortController();
      const limit = sleep(Math.max(1, until - performance.now()), undefined, { signal: late.signal });
      await Promise.race([this.sending, limit.catch(() => undefined)]);
      late.abort();
    }
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
  }
}

/** The end of a text, cut between characters. */
function endOf(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let from = bytes.length - bytesMax;
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++;
  return bytes.subarray(from).toString();
}
