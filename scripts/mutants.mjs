// Plants the bugs of test/mutants/ one at a time in a copy of the tree, and runs the suite that must catch each.
//
//   npm run mutants                        all of them
//   npm run mutants -- core sqlite-cache   those whose names begin so
//   npm run mutants -- --list              what there is
//
// Each suite runs without a bug, too. The last line is `n of n`.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readCatalogue } from "./catalogue.mjs";
import { runVitest } from "./run-vitest.mjs";

/** A bug can stop everything; a suite takes seconds. */
const suiteMsMax = 15 * 60_000;
const testMsMax = 120_000;

const sound = new Map();

const root = resolve(import.meta.dirname, "..");
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: "boolean" } },
});
const catalogue = readCatalogue(root);
const chosen = catalogue.filter(
  ({ name }) => positionals.length === 0 || positionals.some((start) => name.startsWith(start)),
);
const unknown = positionals.find((start) => !catalogue.some(({ name }) => name.startsWith(start)));
if (unknown !== undefined)
  fail(`No planted bug has a name that begins with ${unknown}. Run: npm run mutants -- --list`);

if (options.list) {
  for (const { name, bug } of chosen) console.log(`${name}\n    ${bug}`);
} else {
  process.exitCode = (await runAll()) ? 0 : 1;
}

async function runAll() {
  const scratch = mkdtempSync(join(tmpdir(), "dibs-mutants-"));
  // PostgreSQL runs as another user if this one is root.
  chmodSync(scratch, 0o755);
  process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
  const tree = join(scratch, "tree");
  copyTree(tree);
  if (chosen.some(({ needsBuild }) => needsBuild)) build(tree);
  let caught = 0;
  for (const mutant of chosen) {
    const startedAt = performance.now();
    const verdict = await judge(mutant, tree, scratch);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (verdict.isCaught) caught++;
    console.log(`${verdict.isCaught ? "caught " : "ESCAPED"} ${mutant.name} (${seconds} s): ${verdict.why}`);
  }
  console.log(`${caught} of ${chosen.length}`);
  return caught === chosen.length;
}

/** What git would commit, as it is in the working tree, and the packages by a link. */
function copyTree(tree) {
  const listed = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (listed.status !== 0) fail(`git ls-files failed: ${listed.stderr}`);
  for (const file of listed.stdout
    .split("\0")
    .filter((each) => each !== "" && existsSync(join(root, each)))) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    copyFileSync(join(root, file), join(tree, file));
  }
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  if (existsSync(join(root, "dist"))) cpSync(join(root, "dist"), join(tree, "dist"), { recursive: true });
}

/** The parts that tests start; the dashboard stays as it is. */
function build(tree) {
  const tsc = join(tree, "node_modules/typescript/bin/tsc");
  for (const args of [[tsc, "-p", "tsconfig.build.json", "--noCheck"], ["scripts/bundle.mjs"]]) {
    const run = spawnSync(process.execPath, args, { cwd: tree, encoding: "utf8" });
    if (run.status !== 0) return `${run.stdout}${run.stderr}`.trim();
  }
  return null;
}

/** A suite that fails anyway catches nothing. Each runs once without a bug, with the tests of all its mutants. */
async function withoutBug(mutant, tree, scratch) {
  const key = mutant.suite.join(" ");
  if (!sound.has(key)) {
    const group = chosen.filter(({ suite }) => suite.join(" ") === key);
    const isNarrow = group.every(({ test }) => test !== null);
    const test = isNarrow ? group.map((each) => literal(each.test)).join("|") : null;
    const needsPostgres = group.some((each) => each.needsPostgres);
    sound.set(key, await vitest(tree, scratch, { files: mutant.suite, test, needsPostgres }));
  }
  const run = sound.get(key);
  const own = run.passed.filter((each) => isOf(mutant, each));
  const failed = run.failed.find((each) => isOf(mutant, each));
  if (failed) return `its suite fails without the bug: ${failed.name}`;
  if (own.length === 0) return run.problem ?? `no test of ${key} is named so: ${mutant.test}`;
  return null;
}

function isOf({ suite, test }, { file, name }) {
  return suite.some((each) => file.endsWith(each)) && (test === null || name.includes(test));
}

function literal(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

async function judge(mutant, tree, scratch) {
  const { file, touches, suite, test, needsPostgres, needsBuild } = mutant;
  const unsound = await withoutBug(mutant, tree, scratch);
  if (unsound) return { isCaught: false, why: unsound };
  const applied = spawnSync("git", ["apply", join(root, file)], {
    cwd: tree,
    encoding: "utf8",
    env: alone(),
  });
  if (applied.status !== 0) {
    return { isCaught: false, why: `the patch no longer applies: ${applied.stderr.trim().split("\n")[0]}` };
  }
  try {
    const broken = needsBuild ? build(tree) : null;
    if (broken) return { isCaught: false, why: `does not build: ${broken.split("\n")[0]}` };
    const run = await vitest(tree, scratch, {
      files: suite,
      test: test && literal(test),
      needsPostgres,
      bail: true,
    });
    if (run.failed.length > 0) return { isCaught: true, why: run.failed[0].name };
    if (run.isLate) return { isCaught: true, why: `nothing ended within ${suiteMsMax / 60_000} minutes` };
    return { isCaught: false, why: run.problem ?? `${run.passed.length} tests passed` };
  } finally {
    for (const path of touches) copyFileSync(join(root, path), join(tree, path));
    if (needsBuild) build(tree);
  }
}

/** The copy is no repository: git must not find one around it. */
function alone() {
  return { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() };
}

function vitest(tree, scratch, { files, test, needsPostgres, bail = false }) {
  const args = [
    ...files,
    ...(test ? ["-t", test] : []),
    ...(bail ? ["--bail=1", `--testTimeout=${testMsMax}`] : []),
  ];
  const env = { TEST_QUICK: needsPostgres ? undefined : "1" };
  return runVitest({ tree, scratch, args, env, msMax: suiteMsMax });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
