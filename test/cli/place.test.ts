// Where a directory's store is: one per repository, however git keeps it; and what is in a home directory is not for all below it.

import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { databaseFor } from "../../src/runtime/locate.js";
import { projectNameFor } from "../../src/runtime/project-name.js";
import { tempDir } from "../support.js";

function room(): string {
  const directory = realpathSync(tempDir());
  return directory;
}

function git(cwd: string, ...words: string[]): void {
  const who = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "protocol.file.allow=always"];
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", [...who, ...words], { cwd, env, stdio: "pipe" });
}

/** A repository with one commit. */
function source(at: string, ...words: string[]): string {
  mkdirSync(at);
  git(at, "init", "-q", ...words);
  git(at, "commit", "-q", "--allow-empty", "-m", "first");
  return at;
}

const storeIn = (...path: string[]) => join(...path, ".dibs", "dibs.db");

function made(...path: string[]): string {
  const directory = join(...path);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** What makes a `.dibs` a store's. */
function storeMade(directory: string): string {
  made(directory, ".dibs");
  writeFileSync(storeIn(directory), "");
  return directory;
}

test("all worktrees of a bare clone have one store, and none shares it with a bare clone beside it", () => {
  const at = room();
  source(join(at, "src"));
  for (const name of ["shop.git", "docs.git"]) git(at, "clone", "-q", "--bare", "src", name);
  const bare = join(at, "shop.git");
  for (const name of ["a", "b"]) git(bare, "worktree", "add", "-q", join(at, name), "-b", name);
  const places = [join(at, "a"), made(at, "b", "src"), bare, join(bare, "refs")].map((each) =>
    databaseFor(each),
  );
  expect(new Set(places)).toEqual(new Set([storeIn(bare)]));
  expect(databaseFor(join(at, "docs.git"))).toBe(storeIn(at, "docs.git"));
  expect(projectNameFor(places[0]!)).toBe("shop");
});

test("a .bare directory in a project's directory has its store beside it", () => {
  const at = room();
  source(join(at, "src"));
  const project = made(at, "shop");
  git(project, "clone", "-q", "--bare", "../src", ".bare");
  git(join(project, ".bare"), "worktree", "add", "-q", "../main", "-b", "a");
  expect(databaseFor(join(project, "main"))).toBe(storeIn(project));
  writeFileSync(join(project, ".git"), "gitdir: ./.bare\n");
  expect(databaseFor(project)).toBe(storeIn(project));
  expect(databaseFor(join(project, "main"))).toBe(storeIn(project));
  expect(databaseFor(join(project, ".bare"))).toBe(storeIn(project));
});

test("a repository with a separate git directory has one store for all its worktrees", () => {
  const at = room();
  const main = source(join(at, "main"), "--separate-git-dir", join(at, "shop.git"));
  git(main, "worktree", "add", "-q", "../tree");
  expect(databaseFor(main)).toBe(databaseFor(join(at, "tree")));
  expect(databaseFor(main)).not.toBe(storeIn(at));
});

test("a submodule is a repository of its own, with all its worktrees", () => {
  const at = room();
  source(join(at, "part"));
  const whole = source(join(at, "whole"));
  git(whole, "submodule", "add", "-q", "../part", "part");
  git(join(whole, "part"), "worktree", "add", "-q", join(at, "tree"));
  expect(databaseFor(whole)).toBe(storeIn(whole));
  expect(databaseFor(join(whole, "part"))).toBe(storeIn(whole, "part"));
  expect(databaseFor(join(at, "tree"))).toBe(storeIn(whole, "part"));
});

test("a worktree whose repository is gone has its store where it is", () => {
  const at = room();
  const tree = made(at, "tree");
  writeFileSync(join(tree, ".git"), "gitdir: ../gone/.git/worktrees/tree\n");
  expect(databaseFor(tree)).toBe(storeIn(tree));
});

test("outside of repositories the nearest store counts, and an empty .dibs is none", () => {
  const at = room();
  storeMade(at);
  made(at, "a", ".dibs", "teams");
  expect(databaseFor(made(at, "a", "b"))).toBe(storeIn(at));
  writeFileSync(join(at, "a", ".dibs", "config.json"), "{}");
  expect(databaseFor(join(at, "a", "b"))).toBe(storeIn(at, "a"));
});

test("the home directory's store is for the home directory only", () => {
  const home = room();
  storeMade(home);
  const below = made(home, "notes");
  expect(databaseFor(below, home)).toBe(storeIn(below));
  expect(databaseFor(home, home)).toBe(storeIn(home));
  const above = storeMade(dirname(made(home, "team", "shop")));
  expect(databaseFor(join(above, "shop"), home)).toBe(storeIn(above));
});

test("in a repository a .dibs further down hides nothing", () => {
  const at = room();
  made(at, ".git");
  const below = storeMade(made(at, "pkg"));
  expect(databaseFor(below)).toBe(storeIn(at));
});
