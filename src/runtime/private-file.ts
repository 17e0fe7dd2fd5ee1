// Files that only their owner may read, replaced as a whole.

import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

export function writePrivate(path: string, text: string): void {
  const next = `${path}.${process.pid}.new`;
  rmSync(next, { force: true });
  writeFileSync(next, text, { mode: 0o600, flag: "wx" });
  renameSync(next, path);
}

/** Null if there is none, or if it is a link or not of this user alone: what a repository brings along never is. */
export function readPrivate(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size > 65_536) return null;
  const isOurs = process.getuid === undefined || found.uid === process.getuid();
  const isOpen = process.platform !== "win32" && (found.mode & 0o077) !== 0;
  return isOurs && !isOpen ? readFileSync(path, "utf8") : null;
}

export function removePrivate(path: string): void {
  rmSync(path, { force: true });
}
