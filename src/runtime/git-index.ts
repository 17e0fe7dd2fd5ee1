// Whether git tracks a file, from git's index itself: to start git takes longer than most commands. Read are the names only; they
// are sorted, so that the first page usually suffices. A split index has more names in files of its own.

import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/** The first of these files of a working tree that git tracks; names are relative to its root, with slashes. */
export function trackedOf(root: string, names: readonly string[]): string | null {
  const git = gitDirectoryOf(root);
  if (git === null || !existsSync(join(git, "index"))) return null;
  const hashBytes = /^\s*objectformat\s*=\s*sha256/im.test(textOf(join(commonOf(git), "config"))) ? 32 : 20;
  const shared = readdirSync(git).filter((name) => name.startsWith("sharedindex."));
  // The index has bytes, and its names are read as such.
  const wanted = names.map((name) => Buffer.from(name).toString("latin1"));
  for (const file of ["index", ...shared]) {
    const found = whileThere(() => trackedIn(join(git, file), wanted, hashBytes));
    if (found !== null) return found;
  }
  return null;
}

/** Git replaces and removes its files at any moment. */
function whileThere<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function gitDirectoryOf(root: string): string | null {
  const git = join(root, ".git");
  const stats = statSync(git, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return git;
  const [, path] = /^gitdir: (.+)$/m.exec(textOf(git)) ?? [];
  return path === undefined ? null : resolve(root, path.trim());
}

function commonOf(git: string): string {
  const path = textOf(join(git, "commondir")).trim();
  return path === "" ? git : resolve(git, path);
}

const textOf = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "");

const firstBytes = 64 * 1024;

function trackedIn(file: string, names: readonly string[], hashBytes: number): string | null {
  const { size } = statSync(file);
  const last = names
    .map((name) => name.toLowerCase())
    .sort()
    .at(-1)!;
  for (const bytes of size > firstBytes ? [firstBytes, size] : [size]) {
    const index = headOf(file, bytes);
    for (const name of namesIn(index, hashBytes)) {
      if (names.some((each) => isSame(name, each))) return name;
      if (name > last) return null;
    }
    if (bytes === size) return null;
  }
  return null;
}

/** Some file systems do not tell `.Dibs` from `.dibs`; a sparse index has whole directories as one entry. */
function isSame(tracked: string, name: string): boolean {
  const lower = tracked.toLowerCase();
  const wanted = name.toLowerCase();
  return lower === wanted || (lower.endsWith("/") && wanted.startsWith(lower));
}

function headOf(file: string, bytes: number): Buffer {
  const handle = openSync(file, "r");
  try {
    const head = Buffer.alloc(bytes);
    return head.subarray(0, readSync(handle, head, 0, bytes, 0));
  } finally {
    closeSync(handle);
  }
}

const headerBytes = 12;
const statBytes = 40;
const extended = 0x4000;

/** As far as the bytes go. https://git-scm.com/docs/index-format */
function* namesIn(index: Buffer, hashBytes: number): Generator<string> {
  if (index.toString("latin1", 0, 4) !== "DIRC") return;
  const version = index.readUInt32BE(4);
  const count = index.readUInt32BE(8);
  let previous = "";
  for (let at = headerBytes, n = 0; n < count; n++) {
    const flagsAt = at + statBytes + hashBytes;
    if (flagsAt + 2 > index.length) return;
    let nameAt = flagsAt + ((index.readUInt16BE(flagsAt) & extended) === 0 ? 2 : 4);
    let kept = "";
    if (version === 4) {
      const { value, next } = varint(index, nameAt);
      kept = previous.slice(0, Math.max(0, previous.length - value));
      nameAt = next;
    }
    const end = index.indexOf(0, nameAt);
    if (end < 0) return;
    previous = kept + index.toString("latin1", nameAt, end);
    yield previous;
    // Entries are padded to eight bytes, from version 4 on they are not.
    at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7);
  }
}

/** As git writes offsets: every further byte also adds one. */
function varint(bytes: Buffer, at: number): { value: number; next: number } {
  let next = at;
  let byte = bytes[next++] ?? 0;
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0 && next < bytes.length) {
    byte = bytes[next++]!;
    value = ((value + 1) << 7) | (byte & 0x7f);
  }
  return { value, next };
}
