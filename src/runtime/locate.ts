// Where the database of a directory is: `.dibs/dibs.db` at the root of its repository, the same for every sub-directory and every
// worktree; outside of repositories in the nearest directory that has a store or settings, else here. A repository whose git
// directory stands apart from any working tree (`shop.git` with worktrees) has it in there: git never looks at it, and it is the
// only place that all of its worktrees know.

import { existsSync, readFileSync, realpathSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { isDirectory, makeDirectory } from "./directory.js";

export function databaseFor(directory: string, home = homedir()): string {
  return join(rootOf(resolve(directory), home), ".dibs", "dibs.db");
}

function rootOf(start: string, home: string): string {
  return nearest(start, repositoryAt) ?? nearest(start, (at) => (hasStore(at, home) ? at : null)) ?? start;
}

function nearest(start: string, look: (at: string) => string | null): string | null {
  for (let at = start; ; at = dirname(at)) {
    const found = look(at);
    if (found !== null) return found;
    if (dirname(at) === at) return null;
  }
}

/** What Dibs keeps for a user lies in `~/.dibs` too: that makes no store for all that is below. */
function hasStore(directory: string, home: string): boolean {
  const own = join(directory, ".dibs");
  if (!existsSync(join(own, "dibs.db")) && !existsSync(join(own, "config.json"))) return false;
  return realPath(directory) !== realPath(home);
}

/** Where the store of the repository is whose working tree, or bare directory, is here. */
function repositoryAt(directory: string): string | null {
  const git = join(directory, ".git");
  if (isDirectory(git)) return directory;
  if (existsSync(git)) {
    const own = pointedAt(git, /^gitdir: (.+)$/m);
    const shared = own === null ? null : sharedBy(own);
    return shared !== null && isDirectory(shared) ? rootOfShared(shared) : directory;
  }
  return isGitDirectory(directory) ? rootOfShared(sharedBy(directory)) : null;
}

/** The git directory that all worktrees share. */
function sharedBy(own: string): string {
  const pointer = join(own, "commondir");
  return existsSync(pointer) ? (pointedAt(pointer, /^(.+)$/m) ?? own) : own;
}

function rootOfShared(shared: string): string {
  const parent = dirname(shared);
  if (basename(shared) === ".git" || basename(shared) === ".bare") return parent;
  // A submodule's is inside of the other repository, and says where the working tree is.
  const [, tree] = /^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(textOf(join(shared, "config"))) ?? [];
  if (tree) return resolve(shared, tree);
  const beside = join(parent, ".git");
  const isBeside =
    existsSync(beside) && !isDirectory(beside) && pointedAt(beside, /^gitdir: (.+)$/m) === shared;
  return isBeside ? parent : shared;
}

function isGitDirectory(directory: string): boolean {
  return (
    isDirectory(join(directory, "objects")) &&
    isDirectory(join(directory, "refs")) &&
    existsSync(join(directory, "HEAD"))
  );
}

/** The path that a file holds, relative to where the file is; null: it holds none. */
function pointedAt(file: string, form: RegExp): string | null {
  const [, path] = form.exec(textOf(file)) ?? [];
  return path === undefined ? null : realPath(resolve(dirname(file), path.trim()));
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Whether commands find the database in its directory without `--db`. */
export function isFoundByCommands(database: string): boolean {
  const path = resolve(database);
  const isUsual = basename(path) === "dibs.db" && basename(dirname(path)) === ".dibs";
  return isUsual || isConfigured(path, process.cwd());
}

/** Whether the settings of a directory name it. */
function isConfigured(path: string, directory: string): boolean {
  const settings = join(dirname(databaseFor(directory)), "config.json");
  try {
    const { db } = JSON.parse(textOf(settings)) as { db?: unknown };
    return typeof db === "string" && resolve(dirname(dirname(settings)), db) === path;
  } catch {
    return false;
  }
}

/** Makes the directory of a database. What is in a `.dibs` is nobody's to commit, but for the settings. */
export function makeRoomFor(database: string): void {
  const directory = dirname(resolve(database));
  makeDirectory(directory);
  if (basename(directory) !== ".dibs") return;
  const ignore = join(directory, ".gitignore");
  if (existsSync(ignore)) return;
  try {
    // Not through a link, which may lead anywhere.
    writeFileSync(ignore, "*\n!.gitignore\n!config.json\n", { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** The directory of a database, or the nearest one above it that exists. */
export function existingDirectory(database: string): string {
  return nearest(dirname(resolve(database)), (at) => (existsSync(at) ? at : null)) ?? "/";
}

/** Removes a database with the directories that were created for it: those below one that existed before. */
export function removeDatabase(database: string, existed: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(`${database}${end}`, { force: true });
  const directory = dirname(resolve(database));
  if (directory === existed) return;
  if (basename(directory) === ".dibs") rmSync(join(directory, ".gitignore"), { force: true });
  for (let at = directory; at !== existed; at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch {
      return;
    }
  }
}
