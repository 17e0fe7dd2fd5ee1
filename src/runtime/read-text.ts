// A file's text, up to a bound. Only regular files are read: a pipe that nobody writes to would hold us for ever, and a device has
// no end.

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { ByteBuffer } from "./byte-buffer.js";

const stepBytes = 64 * 1024;

export function readText(path: string, bytesMax: number): string {
  refuseNoFile(path);
  // Without waiting, should it have become something else meanwhile.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (fstatSync(fd).size > bytesMax) throw tooLarge(path);
    return bytesOf(fd, path, bytesMax).toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** By the names of the system's own errors. */
export function refuseNoFile(path: string): void {
  const found = statSync(path);
  if (!found.isFile()) throw trouble(found.isDirectory() ? "EISDIR" : "ENOTSUP", path);
}

/** A file may grow while it is read, and some say that they are empty (`/proc`). */
function bytesOf(fd: number, path: string, bytesMax: number): Buffer {
  const text = new ByteBuffer(bytesMax);
  const chunk = Buffer.allocUnsafe(stepBytes);
  for (;;) {
    const count = readSync(fd, chunk);
    if (count === 0) return text.take();
    if (!text.add(chunk.subarray(0, count))) throw tooLarge(path);
  }
}

export const tooLarge = (path: string): Error => trouble("EFBIG", path);

const meaning = { EFBIG: "file too large", EISDIR: "is a directory", ENOTSUP: "is not a regular file" };

function trouble(code: keyof typeof meaning, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${meaning[code]}, read '${path}'`), {
    code,
    syscall: "read",
    path,
  });
}
