// The standard streams. To files and pipes we write at once, without Node's streams, and those are not asked what they are: to
// load them takes longer than many a command.

import { fstatSync, writeSync } from "node:fs";

interface Stream {
  write(text: string): void;
  readonly isTerminal: boolean;
  readonly columns: number;
}

function streamOf(fd: 1 | 2): Stream {
  // Once in use it is used for all, to keep the order.
  let stream: NodeJS.WriteStream | null = null;
  const open = () => {
    if (stream) return stream;
    stream = fd === 1 ? process.stdout : process.stderr;
    stream.on("error", endIfNobodyReads);
    return stream;
  };
  return {
    write(text) {
      const rest = stream || isDevice(fd) ? text : writeAtOnce(fd, text);
      if (rest.length > 0) open().write(rest);
    },
    get isTerminal() {
      return isDevice(fd) && open().isTTY === true;
    },
    get columns() {
      return (isDevice(fd) && open().columns) || 80;
    },
  };
}

export const output = streamOf(1);
export const errors = streamOf(2);
export const input = {
  get isTerminal() {
    return isDevice(0) && process.stdin.isTTY === true;
  },
};

/** Returns what could not be written because the reader is slow. */
function writeAtOnce(fd: number, text: string): Uint8Array {
  let rest: Uint8Array = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return rest;
    endIfNobodyReads(error as NodeJS.ErrnoException);
    return new Uint8Array();
  }
  return rest;
}

let mustGoOn = false;

/** From now on nobody need read what is written: a runner has tasks to bring to their end. */
export function keepGoingUnread(): void {
  mustGoOn = true;
}

/** Whoever read our output has seen enough. */
function endIfNobodyReads(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  if (!mustGoOn) process.exit(0);
}

/** Terminals are; files, pipes and sockets are not. */
function isDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice();
  } catch {
    return false;
  }
}
