// Server-sent events, read as the bytes come in: whatever the chunks cut in two, lines or characters, comes out whole.

export type SseItem =
  | { kind: "message"; id: string | null; data: string }
  | { kind: "comment"; text: string }
  | { kind: "retry"; ms: number };

/** Far above what a Dibs server sends in one message; a stream that goes beyond is not one of ours. */
const messageLengthMax = 64 * 1024 * 1024;

export class SseParser {
  private readonly decoder = new TextDecoder();
  /** The line that has not ended yet. */
  private line = "";
  private data: string[] = [];
  private length = 0;
  private id: string | null = null;
  private endedWithReturn = false;

  *feed(bytes: Uint8Array): Generator<SseItem, void, undefined> {
    let text = this.decoder.decode(bytes, { stream: true });
    if (text === "") return;
    // A line that ends with CR LF may have been cut between the two.
    if (this.endedWithReturn && text.startsWith("\n")) text = text.slice(1);
    this.endedWithReturn = text.endsWith("\r");
    this.length += text.length;
    if (this.length > messageLengthMax) throw new Error("a message is too long");
    const lines = text.split(/\r\n|\n|\r/);
    const rest = lines.pop()!;
    for (const line of lines) {
      const item = this.take(this.line + line);
      this.line = "";
      if (item) yield item;
    }
    this.line += rest;
  }

  private take(line: string): SseItem | null {
    if (line === "") return this.message();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    switch (field) {
      case "":
        return { kind: "comment", text: value };
      case "data":
        this.data.push(value);
        return null;
      case "id":
        this.id = value;
        return null;
      case "retry":
        return /^\d+$/.test(value) ? { kind: "retry", ms: Number(value) } : null;
      default:
        return null;
    }
  }

  private message(): SseItem | null {
    const { id, data } = this;
    this.id = null;
    this.data = [];
    this.length = 0;
    return id === null && data.length === 0 ? null : { kind: "message", id, data: data.join("\n") };
  }
}
