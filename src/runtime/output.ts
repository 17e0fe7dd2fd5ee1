// The standard streams. Most commands have nothing to do but to print: they write at once, without Node's streams, whose loading
// takes longer than many a command, and wait for a slow reader as any program does. Runners and servers must not wait: for them
// what is not read in time is kept up to a bound, and beyond it left out, line by line, and counted.

import { fstatSync, writeSync } from "node:fs";

interface Stream {
  write(text: string): void;
  readonly isTerminal: boolean;
  readonly columns: number;
}

const waitingBytesMax = 1024 * 1024;

let mustGoOn = false;

/** From now on nobody need read what is written, in time or at all: there are tasks to bring to their end. */
export function keepGoingUnread(): void {
  mustGoOn = true;
}

function streamOf(fd: 1 | 2): Stream {
  // Once in use it is used for all, to keep the order.
  let stream: NodeJS.WriteStream | null = null;
  let leftOut = 0;
  const open = () => {
    if (stream) return stream;
    stream = fd === 1 ? process.stdout : process.stderr;
    stream.on("error", endIfNobodyReads);
    stream.on("drain", tellLeftOut);
    return stream;
  };
  const tellLeftOut = () => {
    if (leftOut === 0) return;
    const what = leftOut === 1 ? "1 line" : `${leftOut} lines`;
    const where = fd === 1 ? "on standard output" : "here";
    leftOut = 0;
    // What is on standard output is often read by programs.
    errors.write(`dibs: ${what} left out ${where}: they were not read in time\n`);
  };
  /** Only while somebody is slow; a text of any size goes when nothing waits. */
  const isTooMuch = ({ writableLength }: NodeJS.WriteStream, bytes: Uint8Array) =>
    mustGoOn && writableLength > 0 && writableLength + bytes.length > waitingBytesMax;
  const writeToStream = (text: string) => {
    const to = open();
    const bytes = Buffer.from(text);
    if (isTooMuch(to, bytes)) leftOut += linesIn(text);
    else to.write(bytes);
  };
  return {
    write(text) {
      if (stream || isDevice(fd) || (mustGoOn && !isFile(fd))) writeToStream(text);
      else writeAtOnce(fd, text);
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

const linesIn = (text: string) => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

function writeAtOnce(fd: number, text: string): void {
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") {
        endIfNobodyReads(error as NodeJS.ErrnoException);
        return;
      }
      pauseMs(5);
    }
  }
}

/** A pipe that does not block, of whoever started us, is full: the same wait as for one that does. */
function pauseMs(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Whoever read our output has seen enough. */
function endIfNobodyReads(error: NodeJS.ErrnoException): void {
  if (mustGoOn) return;
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}

/** Terminals are; files, pipes and sockets are not. */
const isDevice = (fd: number) => statOf(fd)?.isCharacterDevice() === true;
/** Never makes anybody wait. */
const isFile = (fd: number) => statOf(fd)?.isFile() === true;

function statOf(fd: number) {
  try {
    return fstatSync(fd);
  } catch {
    return null;
  }
}
