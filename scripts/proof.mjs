// Tries to break the guarantees, for a given time, and reports what was tried.
//
//   npm run proof                              an hour; writes docs/PROOF.md if nothing was broken
//   npm run proof -- --minutes 2 --seed 7      shorter; the same seed does the same again
//   npm run proof -- --only kills,simulation   some parts
//
// Each part is a test file that is repeated with a seed of its own until its share of the time is used. The command that repeats a
// failure is printed.

import { spawnSync } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { runVitest } from "./run-vitest.mjs";

const fullMinutes = 60;
const partMsMax = 60 * 60_000;

const root = resolve(import.meta.dirname, "..");
const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;

/** `share` of the time; without it, a part runs once. `env`: how much one repetition does. */
const parts = [
  {
    name: "kills",
    title: "Workers and readers are killed and stopped, clocks step (SQLite)",
    files: ["test/proof/storm.test.ts"],
    env: { DIBS_PROOF_WORKERS: "4", DIBS_PROOF_KILLS: "40", DIBS_PROOF_STOPS: "10" },
    share: 4,
  },
  {
    name: "servers",
    title: "Servers and PostgreSQL are killed, connections of both break",
    files: ["test/proof/storm-servers.test.ts"],
    env: { DIBS_PROOF_WORKERS: "4", DIBS_PROOF_KILLS: "12", DIBS_PROOF_FAULTS: "40" },
    share: 4,
  },
  {
    name: "power",
    title: "Power cuts (SQLite)",
    files: ["test/proof/power.test.ts"],
    env: { DIBS_PROOF_CUTS: "40" },
    share: 4,
    skipped: hasCompiler ? null : "needs Linux and a C compiler (cc)",
  },
  {
    name: "connections",
    title: "Commits whose answer is lost, restarts, many servers (PostgreSQL)",
    files: ["cut-connections", "restarts", "servers", "notices", "feed"].map(
      (file) => `test/postgres/${file}.test.ts`,
    ),
    share: 1,
    needsPostgres: true,
  },
  {
    name: "simulation",
    title: "Simulated schedules, shortened when one fails",
    files: ["test/simulation/differential.test.ts", "test/simulation/unattended.test.ts"],
    env: { DIBS_RUNS: "1000" },
    share: 3,
  },
  {
    name: "fleet",
    title: "A whole fleet on a simulated clock and network, schedules shortened when one fails",
    files: ["test/simulation/fleet.test.ts"],
    env: { DIBS_RUNS: "500" },
    share: 3,
  },
  {
    name: "landers",
    title: "Landers are killed before every effect, with agents at work",
    files: [
      "test/lander/crashes.test.ts",
      "test/lander/crashes-remote.test.ts",
      "test/lander/crashes-unchecked.test.ts",
      "test/lander/rig.test.ts",
      "test/lander/fence.test.ts",
    ],
    share: 2,
  },
  {
    name: "runners",
    title: "Runners and spools are killed",
    files: ["test/runner/survivors.test.ts", "test/spool/crash.test.ts", "test/faults/work-killed.test.ts"],
    share: 1,
  },
  {
    name: "files",
    title: "Damaged files, full disks, hostile input",
    files: ["bad-input", "bad-types", "bad-worlds", "unreadable"].map(
      (file) => `test/faults/${file}.test.ts`,
    ),
  },
  {
    name: "roles",
    title: "Every route against every role, other orgs and other sites",
    files: ["test/http/security-strangers.test.ts", "test/http/security-attacks.test.ts"],
    needsPostgres: true,
  },
];

const { values: options } = parseArgs({
  options: { minutes: { type: "string" }, seed: { type: "string" }, only: { type: "string" } },
});
const minutes = Number(options.minutes ?? fullMinutes);
const seed = Number(options.seed ?? randomInt(2 ** 31));
if (!(minutes > 0)) fail(`--minutes must be a positive number, not ${options.minutes}`);
if (!Number.isInteger(seed)) fail(`--seed must be a whole number, not ${options.seed}`);
const names = options.only?.split(",") ?? parts.map(({ name }) => name);
const unknown = names.find((name) => !parts.some((part) => part.name === name));
if (unknown !== undefined)
  fail(`No part is named ${unknown}. Parts: ${parts.map(({ name }) => name).join(", ")}`);
const chosen = parts.filter(({ name }) => names.includes(name));

const scratch = mkdtempSync(join(tmpdir(), "dibs-proof-"));
chmodSync(scratch, 0o755);
process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
console.log(`seed ${seed}, ${minutes} min`);
const startedAt = new Date();
const shares = chosen.reduce((sum, { share = 0 }) => sum + share, 0);
// What runs once comes first, and takes from the time of the rest.
const results = [];
for (const part of [...chosen].sort((a, b) => (a.share ?? 0) - (b.share ?? 0))) results.push(await run(part));

const page = pageOf(results);
console.log(`\n${page}`);
const violations = results.reduce((sum, { failed }) => sum + failed, 0);
const isFull = minutes >= fullMinutes && chosen.length === parts.length;
if (isFull && violations === 0) {
  writeFileSync(join(root, "docs", "PROOF.md"), page);
  console.log("Written to docs/PROOF.md.");
}
console.log(`${violations} violations`);
process.exitCode = violations > 0 ? 1 : 0;

async function run(part) {
  const { name, title, files, env = {}, share = 0, skipped = null, needsPostgres = false } = part;
  const result = { name, title, skipped, repetitions: 0, passed: 0, failed: 0, ms: 0, figures: {} };
  if (skipped) {
    console.log(`skipped ${name}: ${skipped}`);
    return result;
  }
  const budgetMs = shares === 0 ? 0 : (minutes * 60_000 * share) / shares;
  do {
    const own = String(seedOf(name, result.repetitions));
    const figures = join(scratch, "figures.jsonl");
    rmSync(figures, { force: true });
    const startedAt = performance.now();
    const run = await runVitest({
      tree: root,
      scratch,
      args: ["--maxWorkers=2", ...files],
      env: {
        ...env,
        DIBS_SEED: own,
        DIBS_PROOF_FIGURES: figures,
        TEST_QUICK: needsPostgres ? undefined : "1",
      },
      msMax: partMsMax,
    });
    result.ms += performance.now() - startedAt;
    result.repetitions++;
    result.passed += run.passed.length;
    add(result.figures, figures);
    const failed = Math.max(run.failed.length, run.problem === null ? 0 : 1);
    result.failed += failed;
    if (failed > 0) tell(part, own, run);
    console.log(`${failed > 0 ? "FAILED" : "ok"} ${name} ${result.repetitions} (${seconds(result.ms)})`);
    // A broken guarantee is broken: the time is for the other parts.
    if (failed > 0) break;
  } while (result.ms + result.ms / result.repetitions <= budgetMs);
  return result;
}

/** The same seed gives the same seeds to all repetitions of all parts. */
function seedOf(name, repetition) {
  const hash = createHash("sha256").update(`${seed} ${name} ${repetition}`).digest();
  return (hash.readUInt32BE() >>> 1) + 1;
}

function add(sum, file) {
  if (!existsSync(file)) return;
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    for (const [what, count] of Object.entries(JSON.parse(line).figures))
      sum[what] = (sum[what] ?? 0) + count;
  }
}

function tell({ files, env = {} }, own, { failed, problem }) {
  for (const { file, name, message } of failed) {
    console.log(`FAILED ${file}: ${name}\n${message.split("\n").slice(0, 40).join("\n")}`);
  }
  if (failed.length === 0) console.log(problem);
  const variables = Object.entries({ ...env, DIBS_SEED: own }).map(([name, value]) => `${name}=${value}`);
  console.log(`Again: ${variables.join(" ")} npx vitest run ${files.join(" ")}`);
}

function pageOf(results) {
  const commit = spawnSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root, encoding: "utf8" });
  const { model } = cpus()[0] ?? { model: "unknown" };
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const rows = results.map(({ title, skipped, repetitions, passed, failed, ms, figures }) => {
    const did = Object.entries(figures).map(([what, count]) => `${grouped(count)} ${what}`);
    if (repetitions > 0) did.push(`${grouped(passed)} tests passed`);
    return `| ${title} | ${skipped ? `skipped: ${skipped}` : did.join(", ")} | ${seconds(ms)} | ${failed} |`;
  });
  return `# Proof

What \`npm run proof\` tried on ${startedAt.toISOString().slice(0, 10)}, and how often a guarantee was broken.

- Commit \`${commit.stdout.trim()}\`, seed ${seed}, ${minutes} minutes
- ${cpus().length} × ${model.trim()}, ${memory}, ${process.platform} ${release()}, Node ${process.version}

| part | what was tried | time | violations |
|---|---|---|---|
${rows.join("\n")}

To repeat it, run \`npm run proof -- --minutes ${minutes} --seed ${seed}\`.
`;
}

function seconds(ms) {
  return `${Math.round(ms / 1000)} s`;
}

function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, " ");
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
