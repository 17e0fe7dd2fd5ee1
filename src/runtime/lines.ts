import { createReadStream, createWriteStream, renameSync, rmSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { refuseNoFile, tooLarge } from "./read-text.js";

/** No row has so much, even with every character of its texts in escapes. */
const lineLengthMax = 32 * 1024 * 1024;

/** A file's lines without their ends; empty ones are passed over. */
export async function* linesOf(file: string, lengthMax = lineLengthMax): AsyncGenerator<string> {
  refuseNoFile(file);
  let begun: string[] = [];
  let length = 0;
  for await (const chunk of createReadStream(file, "utf8") as AsyncIterable<string>) {
    const [first = "", ...others] = chunk.split("\n");
    begun.push(first);
    length += first.length;
    if (length > lengthMax) throw tooLarge(file);
    if (others.length === 0) continue;
    const last = others.pop()!;
    for (const line of [begun.join(""), ...others]) {
      const bare = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (bare !== "") yield bare;
    }
    begun = [last];
    length = last.length;
  }
  const rest = begun.join("");
  if (rest !== "") yield rest;
}

/** Into a new file that only its owner can read; it has its name only when it is complete. Returns how many. */
export async function writeLines(file: string, lines: AsyncIterable<string>): Promise<number> {
  const draft = `${file}.part-${process.pid}`;
  let count = 0;
  async function* ended() {
    for await (const line of lines) {
      count++;
      yield line.endsWith("\n") ? line : `${line}\n`;
    }
  }
  try {
    await pipeline(
      Readable.from(ended()),
      createWriteStream(draft, { flags: "wx", mode: 0o600, flush: true }),
    );
    renameSync(draft, file);
    return count;
  } finally {
    rmSync(draft, { force: true });
  }
}
