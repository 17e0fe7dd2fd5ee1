// Passes a message on when it is complete. One that is too long is dropped as it arrives, and answered as refused; the connection
// stays. The transport itself would stop reading, and copies all of a message with each chunk that it gets. A line that is not JSON
// is answered as well: the transport drops it in silence.

import { Transform, type TransformCallback } from "node:stream";
import { ByteBuffer } from "../../runtime/byte-buffer.js";

/** Where the id stands is the client's choice: mostly at one of the ends. */
const endBytes = 512;
const id = String.raw`"id"\s*:\s*(\d{1,15}|"(?:[^"\\]|\\.){1,200}")`;
const atHead = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${id}\s*,`);
const atTail = new RegExp(String.raw`,\s*${id}\s*\}\s*$`);
const newline = 10;

/** A longer line is not parsed twice. */
const checkedBytesMax = 1024 * 1024;

function isJson(line: Buffer): boolean {
  const text = line.length > checkedBytesMax ? "" : String(line).trim();
  if (text === "") return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export class LongLines extends Transform {
  private readonly line: ByteBuffer;
  private isTooLong = false;
  private head: Buffer = Buffer.alloc(0);
  private tail: Buffer = Buffer.alloc(0);

  constructor(
    bytesMax: number,
    private readonly refuse: (id: string | number) => void,
    private readonly refuseUnread: () => void,
  ) {
    super();
    this.line = new ByteBuffer(bytesMax);
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
    if (!this.isTooLong && !this.line.add(piece)) {
      this.isTooLong = true;
      this.head = Buffer.from(this.line.take().subarray(0, endBytes));
    }
    if (this.isTooLong) {
      if (this.head.length < endBytes) this.head = Buffer.concat([this.head, piece.subarray(0, endBytes)]);
      this.tail = Buffer.concat([this.tail, piece.subarray(-endBytes)]).subarray(-endBytes);
    }
    if (isEnd) this.endLine();
  }

  private endLine(): void {
    if (!this.isTooLong) {
      const line = this.line.take();
      if (isJson(line)) this.push(line);
      else this.refuseUnread();
      return;
    }
    const [, found] = atTail.exec(String(this.tail)) ?? atHead.exec(String(this.head)) ?? [];
    this.isTooLong = false;
    this.head = this.tail = Buffer.alloc(0);
    if (found !== undefined) this.refuse(JSON.parse(found) as string | number);
  }
}
