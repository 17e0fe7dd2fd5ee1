import { createReadStream, createWriteStream, renameSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

export async function* linesOf(file: string): AsyncGenerator<string> {
  for await (const line of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line !== "") yield line;
  }
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
