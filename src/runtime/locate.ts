// Where the database of a directory is: `.dibs/dibs.db` at the root of its repository, the same for every sub-directory and every
// worktree; outside of repositories in the nearest directory that has a `.dibs`, else here.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isDirectory, makeDirectory } from "./directory.js";

export function databaseFor(directory: string): string {
  return join(rootOf(resolve(directory)), ".dibs", "dibs.db");
}

function rootOf(start: string): string {
  for (let at = start; ; at = dirname(at)) {
    const repository = repositoryAt(at);
    if (repository) return repository;
    if (isDirectory(join(at, ".dibs"))) return at;
    if (dirname(at) === at) return start;
  }
}

/** The main working tree of the repository whose working tree is here. */
function repositoryAt(directory: string): string | null {
  const git = join(directory, ".git");
  if (!existsSync(git)) return null;
  if (isDirectory(git)) return directory;
  const [, gitDirectory] = /^gitdir: (.+)$/m.exec(readFileSync(git, "utf8")) ?? [];
  if (!gitDirectory) return directory;
  const own = resolve(directory, gitDirectory.trim());
  const common = join(own, "commondir");
  // A submodule has a file here too, but is a repository of its own.
  if (!existsSync(common)) return directory;
  const shared = resolve(own, readFileSync(common, "utf8").trim());
  return basename(shared) === ".git" ? dirname(shared) : directory;
}

/** Makes the directory of a database. What is in a `.dibs` is nobody's to commit, but for the settings. */
export function makeRoomFor(database: string): void {
  const directory = dirname(resolve(database));
  makeDirectory(directory);
  if (basename(directory) !== ".dibs") return;
  const ignore = join(directory, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n!.gitignore\n!config.json\n");
}
