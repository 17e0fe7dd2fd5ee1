import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { trackedOf } from "./git-index.js";

const wanted = [".dibs/dibs.db", ".dibs/dibs.db-wal"];

function repository(...options: string[]) {
  const root = mkdtempSync(join(tmpdir(), "dibs-index-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, stdio: "pipe" });
  git("init", "-q", ...options);
  const add = (...names: string[]) => {
    for (const name of names) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), name);
    }
    git("add", "--force", ...names);
  };
  return { root, git, add };
}

/** Names before and after it, some of which share their beginning with it. */
const others = ["#a", ".dibs/.gitignore", ".dibs/config.json", ".dibs/dibs", ".dibs/dibs.d", "src/a", "zé"];

const kinds: Record<string, { options?: string[]; config?: [string, string] }> = {
  "an index of version 2": {},
  "an index of version 4, whose names are shortened": { config: ["index.version", "4"] },
  "a repository with SHA-256": { options: ["--object-format=sha256"] },
};

for (const [name, { options = [], config }] of Object.entries(kinds)) {
  test(`${name} says whether a file is tracked`, () => {
    const { root, git, add } = repository(...options);
    if (config) git("config", ...config);
    expect(trackedOf(root, wanted)).toBeNull();
    add(...others);
    expect(trackedOf(root, wanted)).toBeNull();
    add(".dibs/dibs.db");
    expect(trackedOf(root, wanted)).toBe(".dibs/dibs.db");
    git("rm", "-q", "--cached", ".dibs/dibs.db");
    expect(trackedOf(root, wanted)).toBeNull();
  });
}

test("a file that is only intended to be added, among thousands of names before it, is tracked", () => {
  const { root, git, add } = repository();
  add(...Array.from({ length: 2_000 }, (_, n) => `#many/${n}`));
  writeFileSync(join(root, "x"), "");
  add(".dibs/config.json");
  expect(trackedOf(root, wanted)).toBeNull();
  writeFileSync(join(root, ".dibs/dibs.db-wal"), "x");
  git("add", "--force", "--intent-to-add", ".dibs/dibs.db-wal");
  expect(trackedOf(root, wanted)).toBe(".dibs/dibs.db-wal");
});

test("a split index has names in two files, and both count", () => {
  const { root, git, add } = repository();
  add(...others, ".dibs/dibs.db");
  git("update-index", "--split-index");
  add("later");
  expect(trackedOf(root, wanted)).toBe(".dibs/dibs.db");
});

test("a directory without a repository, and a working tree whose git directory is elsewhere", () => {
  expect(trackedOf(join(tmpdir(), "nowhere"), wanted)).toBeNull();
  const elsewhere = mkdtempSync(join(tmpdir(), "dibs-index-"));
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  const { root, add } = repository(`--separate-git-dir=${join(elsewhere, "git")}`);
  add(".dibs/dibs.db");
  expect(trackedOf(root, wanted)).toBe(".dibs/dibs.db");
});

test("names that some file systems do not tell apart are the same", () => {
  const { root, add } = repository();
  add(".Dibs/dibs.DB");
  expect(trackedOf(root, wanted)).toBe(".Dibs/dibs.DB");
});
