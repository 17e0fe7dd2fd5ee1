// Files of people's own that Dibs makes or changes with their consent.

import {
  appendFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { makeDirectory } from "./directory.js";
import { readText } from "./read-text.js";

const bytesMax = 4 * 1024 * 1024;

/** Null if there is none. */
export function read(path: string): string | null {
  try {
    return readText(path, bytesMax);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Refuses to write over anything; its directory is made. */
export function create(path: string, text: string): void {
  makeDirectory(dirname(path));
  writeFileSync(path, text, { flag: "wx" });
}

/** Whatever others add meanwhile. */
export function append(path: string, text: string): void {
  appendFileSync(path, text);
}

/** As a whole, through links, with the mode it had. */
export function replace(path: string, text: string): void {
  const target = realpathSync(path);
  const next = `${target}.${process.pid}.new`;
  try {
    writeFileSync(next, text, { flag: "wx", mode: statSync(target).mode });
    renameSync(next, target);
  } finally {
    rmSync(next, { force: true });
  }
}

/** Also where it is a link: a repository must not make us write elsewhere. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(realpathSync(directory), realpathSync(path));
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

export function remove(path: string): void {
  rmSync(path, { force: true });
}

/** A directory and those above it, below the root, as long as nothing is in them. */
export function prune(directory: string, root: string): void {
  for (let at = directory; at !== root && at.startsWith(root + sep); at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch {
      return;
    }
  }
}

/** What is in a directory; nothing where there is none. Links are not followed. */
export function entries(directory: string): { name: string; isFile: boolean }[] {
  if (!lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(directory, { withFileTypes: true }).map((entry) => ({
    name: entry.name,
    isFile: entry.isFile(),
  }));
}

export const exists = (path: string): boolean => existsSync(path);

/** Where the working tree begins that a directory belongs to: where its `.git` is, else its `.dibs`, else there. */
export function rootOf(directory: string): string {
  const start = resolve(directory);
  for (const name of [".git", ".dibs"]) {
    for (let at = start; ; at = dirname(at)) {
      if (existsSync(join(at, name))) return at;
      if (dirname(at) === at) break;
    }
  }
  return start;
}
