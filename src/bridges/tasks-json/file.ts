// tasks.json on the disk: read as a whole or not at all, replaced by renaming, and never through a link that leads elsewhere.

import { randomBytes } from "node:crypto";
import { constants, lstatSync, readdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DibsError } from "../../contract/error.js";
import { BrokenFile } from "./contents.js";
import type { Machine } from "./lock.js";

/** A larger file is refused; ten thousand tasks take about ten. */
const fileBytesMax = 64 * 1024 * 1024;

export interface Reading {
  text: string;
  /** Differs whenever the file does, unless it changes twice within a tick of the disk's clock. */
  stamp: string;
  mtimeMs: number;
  mode: number;
}

const quietMs = 3;
const quietTries = 10;
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export class TaskFile {
  private constructor(
    /** Where it really is. */
    readonly path: string,
    readonly bytesMax: number,
  ) {}

  static at(path: string, bytesMax = fileBytesMax): TaskFile {
    return new TaskFile(targetOf(path), bytesMax);
  }

  get directory(): string {
    return dirname(this.path);
  }

  get name(): string {
    return basename(this.path);
  }

  /** A file of ours beside it. */
  beside(ending: string): string {
    return join(this.directory, `.${this.name}.dibs-${ending}`);
  }

  /** Null if there is none. */
  stamp(): string | null {
    const found = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    return found ? stampOf(found) : null;
  }

  /** Null if there is none; throws BrokenFile for what is no file, or too large, or no text. */
  read(): Promise<Reading | null> {
    return readWhole(this.path, this.bytesMax);
  }

  /** Beside it, and on the disk. */
  async draft(text: string, mode: number): Promise<string> {
    const path = this.beside(`${process.pid}-${randomBytes(4).toString("hex")}.tmp`);
    const file = await open(path, "wx", mode);
    try {
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return path;
  }

  /**
   * Nobody makes files in its directory: an editor that saves makes one first, and renames it. Those that take no lock are waited
   * for, for a moment at most; directories may be busy for other reasons.
   */
  async quiet(): Promise<void> {
    const changedAt = () => lstatSync(this.directory, { bigint: true }).mtimeNs;
    for (let tries = 0; tries < quietTries; tries++) {
      const before = changedAt();
      await sleep(quietMs);
      if (changedAt() === before) return;
    }
  }

  /**
   * Puts a draft in its place if it still is what was read (null: nothing was there). Looking and renaming are two calls with
   * nothing in between: a program that takes no lock has these microseconds to be overlooked in.
   */
  replace(draft: string, expected: string | null): boolean {
    if (this.stamp() !== expected) return false;
    renameSync(draft, this.path);
    return true;
  }

  /** A rename is on the disk when its directory is. */
  async settle(): Promise<void> {
    const directory = await open(this.directory, constants.O_RDONLY);
    await directory.sync().catch(() => undefined); // Not every system can.
    await directory.close();
  }

  /** What processes that were killed left behind. */
  removeDrafts({ isAlive }: Machine): void {
    const ours = [`.${this.name}.dibs-`, `.${this.name}.dibs-sync.`, `${this.name}.lock.`];
    for (const name of readdirSync(this.directory)) {
      const ends = ours.filter((each) => name.startsWith(each)).map((each) => name.slice(each.length));
      const pid = ends.flatMap((end) => /^(\d+)-[0-9a-f]{8}(\.tmp)?$/.exec(end)?.[1] ?? [])[0];
      if (pid && (Number(pid) === process.pid || !isAlive(Number(pid), null))) {
        rmSync(join(this.directory, name), { force: true });
      }
    }
  }
}

export async function readWhole(path: string, bytesMax: number): Promise<Reading | null> {
  const file = await opened(path);
  if (!file) return null;
  try {
    for (let tries = 0; ; tries++) {
      const before = await file.stat({ bigint: true });
      if (!before.isFile()) throw new BrokenFile("it is not a regular file");
      if (before.size > bytesMax) {
        throw new BrokenFile(`it has ${before.size} bytes, and ${bytesMax} are the most`);
      }
      const bytes = await bytesOf(file, Number(before.size));
      const after = await file.stat({ bigint: true });
      // Somebody writes into it: what was read is neither old nor new.
      if (stampOf(before) !== stampOf(after) && tries < 3) continue;
      const { mtimeMs, mode } = after;
      const text = decoded(bytes);
      return { text, stamp: stampOf(after), mtimeMs: Number(mtimeMs), mode: Number(mode) & 0o7777 };
    }
  } finally {
    await file.close();
  }
}

async function opened(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, readOnly);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new BrokenFile(code === "ELOOP" ? "it is a link" : message);
  }
}

type Stats = { ino: bigint; size: bigint; mtimeNs: bigint; ctimeNs: bigint };

const stampOf = ({ ino, size, mtimeNs, ctimeNs }: Stats) => [ino, size, mtimeNs, ctimeNs].join(":");

/** No more than there was when it was looked at, and one byte to notice that there is more. */
async function bytesOf(file: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size + 1);
  let length = 0;
  while (length <= size) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new BrokenFile("it is not UTF-8");
  }
}

/** A link may lead to another file of its directory, and nowhere else. */
function targetOf(path: string): string {
  if (path.includes("\u0000")) throw refused(path, "its name has a NUL character");
  const directory = realDirectory(path);
  const place = join(directory, basename(path));
  const found = lstatSync(place, { throwIfNoEntry: false });
  const target = found?.isSymbolicLink() ? linkTarget(place, path) : place;
  const way = relative(directory, target);
  if (way === "" || way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) {
    throw refused(path, "it is a link that leads out of its directory", "Name the file itself.");
  }
  const real = lstatSync(target, { throwIfNoEntry: false });
  if (real?.isDirectory()) throw refused(path, "it is a directory", `Name a file in it: ${path}/tasks.json`);
  if (real && !real.isFile()) throw refused(path, "it is not a regular file");
  return target;
}

function realDirectory(path: string): string {
  try {
    return realpathSync(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw refused(path, (error as Error).message);
    throw new DibsError("NOT_FOUND", `Directory ${dirname(path)} not found.`, {
      hint: `Run: mkdir -p ${dirname(path)}`,
    });
  }
}

function linkTarget(link: string, path: string): string {
  try {
    return realpathSync(link);
  } catch {
    throw refused(path, "it is a link that leads nowhere");
  }
}

function refused(path: string, why: string, hint?: string): DibsError {
  return new DibsError("VALIDATION_FAILED", `${path} cannot be kept in step: ${why}.`, { hint });
}
