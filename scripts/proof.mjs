// Tries to break the guarantees, for a given time, and reports what was tried.
//
//   npm run proof                              an hour; writes docs/PROOF.md if nothing was broken
//   npm run proof -- --minutes 2 --seed 7      shorter; the same seed does the same again
//   npm run proof -- --only kills,simulation   some parts
//
// Each part is some test files that are repeated, with a seed of their own, until their share of the time is used. Several parts run
// at a time (--jobs, one more than cores): many wait for leases and processes. The command that repeats a failure is printed.

import { spawnSync } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, release, tmpdir, totalmem } from "node:os";
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
    title:
      "Servers are killed and stopped, PostgreSQL is killed, connections of both break, stall and stay half open",
    files: ["test/proof/storm-servers.test.ts"],
    env: { DIBS_PROOF_WORKERS: "4", DIBS_PROOF_KILLS: "12", DIBS_PROOF_STOPS: "10", DIBS_PROOF_FAULTS: "40" },
    share: 4,
  },
  {
    name: "power",
    title: "Power cuts, writes and syncs that fail (SQLite)",
    files: ["test/proof/power.test.ts"],
    env: { DIBS_PROOF_ROUNDS: "20" },
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
    needsServers: true,
  },
  {
    name: "dynamodb",
    title: "Workers and servers are killed, answers are lost (DynamoDB Local)",
    files: ["kills", "servers", "replay", "client"].map((file) => `test/dynamodb/${file}.test.ts`),
    env: { DIBS_PROOF_WORKERS: "4", DIBS_PROOF_KILLS: "20", DIBS_PROOF_STOPS: "4" },
    share: 1,
    needsServers: true,
  },
  {
    name: "simulation",
    title: "Simulated schedules, shortened when one fails",
    files: ["test/simulation/differential.test.ts", "test/simulation/unattended.test.ts"],
    env: { DIBS_RUNS: "1000" },
    share: 2,
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
    needsServers: true,
  },
  {
    name: "roles",
    title: "Every route against every role, other orgs and other sites",
    files: ["strangers", "attacks", "bodies", "secrets", "processes"].map(
      (file) => `test/http/security-${file}.test.ts`,
    ),
    needsServers: true,
  },
  {
    name: "requests",
    title: "Random requests made from the OpenAPI document",
    files: ["test/http/fuzz.test.ts"],
    env: { DIBS_PROOF_REQUESTS: "4000" },
    share: 1,
  },
  {
    name: "repository",
    title: "A hostile repository",
    files: ["test/cli/trust.test.ts", "test/lander/landing-worktree.test.ts"],
  },
];

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
    jobs: { type: "string" },
  },
});
const minutes = Number(options.minutes ?? fullMinutes);
const jobs = Number(options.jobs ?? availableParallelism() + 1);
const seed = Number(options.seed ?? randomInt(2 ** 31));
if (!(minutes > 0)) fail(`--minutes must be a positive number, not ${options.minutes}`);
if (!(Number.isInteger(jobs) && jobs > 0))
  fail(`--jobs must be a positive whole number, not ${options.jobs}`);
if (!Number.isInteger(seed)) fail(`--seed must be a whole number, not ${options.seed}`);
const names = options.only?.split(",") ?? parts.map(({ name }) => name);
const unknown = names.find((name) => !parts.some((part) => part.name === name));
if (unknown !== undefined)
  fail(`No part is named ${unknown}. Parts: ${parts.map(({ name }) => name).join(", ")}`);
const chosen = parts.filter(({ name }) => names.includes(name));

const scratch = mkdtempSync(join(tmpdir(), "dibs-proof-"));
chmodSync(scratch, 0o755);
process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
console.log(`seed ${seed}, ${minutes} min, ${jobs} at a time`);
const startedAt = new Date();
const endsAt = performance.now() + minutes * 60_000;
const results = chosen.map((part) => ({
  part,
  started: 0,
  repetitions: 0,
  passed: 0,
  skipped: 0,
  failed: 0,
  ms: 0,
  figures: {},
}));
for (const { part } of results) if (part.skipped) console.log(`skipped ${part.name}: ${part.skipped}`);
await Promise.all(Array.from({ length: jobs }, job));

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

async function job() {
  for (let result = next(); result; result = next()) await repeat(result);
}

/** What has not run yet; then what is furthest behind its share, as long as it will be over in time. */
function next() {
  const now = performance.now();
  const usedOf = ({ ms, started, repetitions }) => (repetitions === 0 ? 0 : (ms / repetitions) * started);
  const behind = ({ part, ...result }) => usedOf(result) / part.share;
  // A broken guarantee is broken: the time is for the other parts.
  const able = results.filter(({ part, failed }) => !part.skipped && failed === 0);
  const first = able.find(({ started }) => started === 0);
  if (first) return first;
  return able
    .filter(({ part, ms, repetitions }) => part.share && repetitions > 0 && now + ms / repetitions < endsAt)
    .sort((a, b) => behind(a) - behind(b))[0];
}

async function repeat(result) {
  const { part } = result;
  const { name, files, env = {}, needsServers = false } = part;
  const own = String(seedOf(name, result.started));
  result.started++;
  const figures = join(scratch, `${name}-${result.started}.jsonl`);
  const startedAt = performance.now();
  const run = await runVitest({
    tree: root,
    scratch,
    // Several parts share the machine: only a part that hangs is over.
    args: ["--maxWorkers=1", `--testTimeout=${partMsMax}`, ...files],
    env: {
      ...env,
      DIBS_SEED: own,
      DIBS_PROOF_FIGURES: figures,
      TEST_QUICK: needsServers ? undefined : "1",
    },
    msMax: partMsMax,
  });
  const ms = performance.now() - startedAt;
  const failed = Math.max(run.failed.length, run.problem === null ? 0 : 1);
  result.ms += ms;
  result.repetitions++;
  result.passed += run.passed.length;
  result.skipped += run.skipped.length;
  result.failed += failed;
  add(result.figures, figures);
  if (failed > 0) tell(part, own, run);
  console.log(`${failed > 0 ? "FAILED" : "ok"} ${name} ${result.repetitions} (${seconds(ms)})`);
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
  const rows = results.map(({ part, passed, skipped, failed, ms, figures }) => {
    const did = Object.entries(figures).map(([what, count]) => `${grouped(count)} ${what}`);
    if (passed > 0) did.push(`${grouped(passed)} tests passed`);
    if (skipped > 0) did.push(`${grouped(skipped)} tests skipped`);
    if (part.skipped) did.push(`skipped: ${part.skipped}`);
    return `| ${part.title} | ${did.join(", ")} | ${seconds(ms)} | ${failed} |`;
  });
  return `# Proof

What \`npm run proof\` tried on ${startedAt.toISOString().slice(0, 10)}, and how often a guarantee was broken.

- Commit \`${commit.stdout.trim()}\`, seed ${seed}, ${minutes} minutes, ${jobs} parts at a time
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
