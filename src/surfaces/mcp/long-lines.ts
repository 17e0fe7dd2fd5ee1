// Messages that are too long are let go of as they come, and answered as refused; the connection stays. The transport itself would
// fall deaf.

import { Transform, type TransformCallback } from "node:stream";

/** Where the id stands is the client's choice: mostly at one of the ends. */
const endBytes = 512;
const id = String.raw`"id"\s*:\s*(\d{1,15}|"(?:[^"\\]|\\.){1,200}")`;
const atHead = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${id}\s*,`);
const atTail = new RegExp(String.raw`,\s*${id}\s*\}\s*$`);
const newline = 10;

export class LongLines extends Transform {
  private bytes = 0;
  private head: Buffer = Buffer.alloc(0);
  private tail: Buffer = Buffer.alloc(0);

  constructor(
    private readonly bytesMax: number,
    private readonly refuse: (id: string | number) => void,
  ) {
    super();
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    for (let from = 0; from < chunk.length; ) {
      const at = chunk.indexOf(newline, from);
      const to = at < 0 ? chunk.length : at + 1;
      this.hear(chunk.subarray(from, to), at >= 0);
      from = to;
    }
    done();
  }

  private hear(piece: Buffer, isEnd: boolean): void {
    const wasTooLong = this.bytes > this.bytesMax;
    if (this.head.length < endBytes) this.head = Buffer.concat([this.head, piece.subarray(0, endBytes)]);
    this.bytes += piece.length;
    if (this.bytes <= this.bytesMax) this.push(piece);
    else {
      // What was let through is no message without its end, and is passed over.
      if (!wasTooLong) this.push("\n");
      this.tail = Buffer.concat([this.tail, piece.subarray(-endBytes)]).subarray(-endBytes);
    }
    if (isEnd) this.endLine();
  }

  private endLine(): void {
    const isTooLong = this.bytes > this.bytesMax;
    const [, found] = isTooLong
      ? (atTail.exec(String(this.tail)) ?? atHead.exec(String(this.head)) ?? [])
      : [];
    this.bytes = 0;
    this.head = this.tail = Buffer.alloc(0);
    if (found !== undefined) this.refuse(JSON.parse(found) as string | number);
  }
}
