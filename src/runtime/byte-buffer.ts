// Collects the chunks of a stream in one buffer. Kept as a list, each chunk costs some 400 bytes: a body sent in chunks of one
// byte would take hundreds of times its size.

export class ByteBuffer {
  private bytes: Buffer = Buffer.alloc(0);
  private length = 0;

  constructor(private readonly bytesMax = Number.POSITIVE_INFINITY) {}

  /** False: with this chunk there would be more than `bytesMax` bytes; it is not added. */
  add(chunk: Uint8Array): boolean {
    const length = this.length + chunk.length;
    if (length > this.bytesMax) return false;
    if (length > this.bytes.length) this.grow(length);
    this.bytes.set(chunk, this.length);
    this.length = length;
    return true;
  }

  /** All bytes so far; the buffer is empty afterwards. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }

  /** Doubles, so that each byte is copied twice on average, whatever the size of the chunks. */
  private grow(length: number): void {
    const grown = Buffer.allocUnsafe(Math.max(length, Math.min(2 * this.bytes.length, this.bytesMax)));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}
