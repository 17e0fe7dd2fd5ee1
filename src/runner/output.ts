// What a command prints: shown line by line, kept as the attempt's log, and its end as the result. However much it is, the
// memory it takes is bounded.

import { stripVTControlCharacters } from "node:util";

export type StreamName = "stdout" | "stderr";

/** The last characters of a text that grows. */
export class Tail {
  private text = "";
  private isCut = false;

  constructor(private readonly max: number) {}

  add(text: string): void {
    this.text += text;
    if (this.text.length <= 2 * this.max) return;
    this.text = this.text.slice(-this.max);
    this.isCut = true;
  }

  /** Without the sequences that colour terminals, and from the beginning of a line if something is missing before. */
  read(): string {
    const isCut = this.isCut || this.text.length > this.max;
    const text = stripVTControlCharacters(this.text.slice(-this.max).toWellFormed())
      .replaceAll("\0", "�")
      .trim();
    const lineEnd = text.indexOf("\n");
    return isCut ? `…\n${lineEnd === -1 ? text : text.slice(lineEnd + 1)}` : text;
  }
}

const lineLengthMax = 8192;

/** Lines as they are completed; endless ones in pieces. */
class Lines {
  private rest = "";

  constructor(private readonly show: (line: string) => void) {}

  add(text: string): void {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop()!;
    for (const line of lines) this.show(line.endsWith("\r") ? line.slice(0, -1) : line);
    while (this.rest.length > lineLengthMax) {
      this.show(this.rest.slice(0, lineLengthMax));
      this.rest = this.rest.slice(lineLengthMax);
    }
  }

  end(): void {
    if (this.rest !== "") this.show(this.rest);
    this.rest = "";
  }
}

const tailMax = 16 * 1024;
const lastLinesMax = 40;
const lastLinesLengthMax = 4_000;

export class Output {
  /** What a program has to say is on stdout; its progress often on stderr. */
  private readonly said = new Tail(tailMax);
  private readonly everything = new Tail(tailMax);
  private readonly lines: Lines[] = [];

  constructor(
    private readonly log: (text: string) => void,
    private readonly show: (line: string, stream: StreamName) => void,
    private readonly also: (text: string, stream: StreamName) => void = () => undefined,
  ) {}

  read(name: StreamName, stream: NodeJS.ReadableStream): void {
    const decoder = new TextDecoder();
    const lines = new Lines((line) => this.show(line, name));
    this.lines.push(lines);
    stream.on("data", (chunk: Buffer) => {
      const text = decoder.decode(chunk, { stream: true });
      if (name === "stdout") this.said.add(text);
      this.everything.add(text);
      this.log(text);
      this.also(text, name);
      lines.add(text);
    });
    stream.on("error", () => undefined);
  }

  end(): void {
    for (const lines of this.lines) lines.end();
  }

  get result(): string {
    return this.said.read() || this.everything.read();
  }

  /** The end of everything. */
  get tail(): string {
    return this.everything.read();
  }

  get lastLines(): string {
    const lines = this.tail.split("\n").slice(-lastLinesMax).join("\n");
    return lines.slice(-lastLinesLengthMax).toWellFormed();
  }
}
