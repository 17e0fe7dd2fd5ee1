// Makes a checkout ready to run: installs when the lockfile changed, builds when a source is newer than the build.
// With nothing to do it only compares a hash and some file times, so every script may call it first.
//
//   node scripts/ensure.mjs              install and build
//   node scripts/ensure.mjs --no-build   install only
//   node scripts/ensure.mjs --dir bench  install in a subpackage

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const root = resolve(import.meta.dirname, "..");
const { values: options } = parseArgs({
  options: { "no-build": { type: "boolean" }, dir: { type: "string" } },
});
const dir = resolve(root, options.dir ?? ".");
const wantsBuild = !options["no-build"] && dir === root;
const bundle = join(root, "dist", "cli", "program.cjs");
const dashboard = join(root, "dist", "web");

if (!existsSync(join(dir, "package.json"))) fail(`there is no package.json in ${dir}`);
if (!isReady()) {
  const unlock = await lock();
  try {
    // Whoever held the lock before may have done the work.
    if (!isInstalled()) install();
    if (wantsBuild && !isBuilt()) build();
    if (wantsBuild && !isDashboardBuilt()) buildDashboard();
  } finally {
    unlock();
  }
}

function isReady() {
  return isInstalled() && (!wantsBuild || (isBuilt() && isDashboardBuilt()));
}

// Install

function lockHash() {
  const file = join(dir, "package-lock.json");
  return existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : "no lockfile";
}

function isInstalled() {
  return readText(join(dir, "node_modules", ".dibs-lock-hash")) === lockHash();
}

function install() {
  if (!installedByHand()) {
    say(`installing packages in ${relative(root, dir) || "."}`);
    if (!existsSync(join(dir, "package-lock.json"))) {
      npmInstall("there is no package-lock.json");
    } else if (!npm("ci")) {
      npmInstall("npm ci failed (see above; is package-lock.json in step with package.json?)");
    }
  }
  mkdirSync(join(dir, "node_modules"), { recursive: true });
  writeFileSync(join(dir, "node_modules", ".dibs-lock-hash"), lockHash());
}

function npmInstall(reason) {
  say(`${reason}: trying npm install; if package-lock.json changes, commit it`);
  if (!npm("install")) fail("packages could not be installed: can this machine reach the npm registry?");
}

function npm(command) {
  const args = [command, "--no-audit", "--no-fund", "--loglevel=error"];
  // npm's report of what it added goes to stderr with the rest of our progress.
  const run = spawnSync("npm", args, {
    cwd: dir,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (run.error) fail(`npm could not be started: ${run.error.message}`);
  return run.status === 0;
}

// `npm install <package>` has left the right packages: npm ci would remove them under whoever is using them.
function installedByHand() {
  const wanted = readJson(join(dir, "package-lock.json"))?.packages;
  const present = readJson(join(dir, "node_modules", ".package-lock.json"))?.packages;
  if (!wanted || !present) return false;
  return Object.entries(wanted).every(
    ([path, entry]) =>
      path === "" ||
      (present[path]?.version === entry.version && present[path]?.integrity === entry.integrity) ||
      (!present[path] && (entry.optional || entry.devOptional)),
  );
}

// Build

function sources() {
  const src = join(root, "src");
  if (!existsSync(src)) return { files: [], paths: [] };
  const entries = readdirSync(src, { recursive: true, withFileTypes: true });
  // A folder's time changes when a file is removed from it.
  const paths = [src, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  return { files: paths.filter((path) => /(?<!\.test|\.d)\.tsx?$/.test(path)), paths };
}

function isBuilt() {
  const { files, paths } = sources();
  if (files.length === 0) return true;
  const stampFile = join(root, "dist", ".stamp");
  const stamp = readJson(stampFile);
  if (stamp?.lockHash !== lockHash()) return false;
  if (stamp.bundled && !existsSync(bundle)) return false;
  return isNewerThan(stampFile, [
    ...paths,
    ...inRoot(
      "tsconfig.json",
      "tsconfig.build.json",
      "scripts/bundle.mjs",
      "scripts/licenses.mjs",
      "scripts/shipped.mjs",
    ),
  ]);
}

function inRoot(...files) {
  return files.map((file) => join(root, file));
}

function isNewerThan(stampFile, inputs) {
  const builtAt = statSync(stampFile).mtimeMs;
  return inputs.every((path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) <= builtAt);
}

function build() {
  const startedAt = new Date();
  const stampFile = join(root, "dist", ".stamp");
  const before = readJson(stampFile)?.outputs ?? [];
  const { files } = sources();
  // An incremental tsc does not notice that its earlier output was removed.
  if (!before.every((output) => existsSync(join(root, "dist", `${output}.js`)))) {
    rmSync(join(root, "dist", ".tsbuildinfo"), { force: true });
  }
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  // Types are checked by `npm test`: whoever only wants to run it need not wait for that.
  const run = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--noCheck"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (run.status !== 0) fail("the build failed (see above)");

  const outputs = files.map((file) => relative(join(root, "src"), file).replace(/\.tsx?$/, ""));
  for (const gone of before.filter((output) => !outputs.includes(output))) {
    for (const extension of [".js", ".d.ts"]) {
      rmSync(join(root, "dist", gone + extension), { force: true });
    }
  }
  const bundled = spawnSync(process.execPath, [join(root, "scripts", "bundle.mjs")], {
    stdio: ["ignore", 2, 2],
  });
  if (bundled.status !== 0) {
    say("the program could not be bundled (see above): commands will start slowly");
    rmSync(bundle, { force: true });
  }
  const shipped = spawnSync(process.execPath, [join(root, "scripts", "shipped.mjs")], {
    stdio: ["ignore", 2, 2],
  });
  if (shipped.status !== 0) fail("the list of files that are shipped could not be written (see above)");
  writeFileSync(stampFile, JSON.stringify({ lockHash: lockHash(), outputs, bundled: bundled.status === 0 }));
  // A source saved while tsc ran must count as newer.
  utimesSync(stampFile, startedAt, startedAt);
}

// The dashboard, from its own sources and those of the client that it shares

function isDashboardBuilt() {
  const stampFile = join(dashboard, ".stamp");
  if (readJson(stampFile)?.lockHash !== lockHash()) return false;
  const rooms = inRoot("web/src", "web/public", "src/client", "src/contract", "src/core");
  const paths = rooms.flatMap((room) => [
    room,
    ...readdirSync(room, { recursive: true, encoding: "utf8" }).map((name) => join(room, name)),
  ]);
  return isNewerThan(stampFile, [
    ...paths,
    ...inRoot("web/index.html", "web/vite.config.ts", "web/package.json"),
  ]);
}

function buildDashboard() {
  const startedAt = new Date();
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const args = [vite, "build", "--config", "web/vite.config.ts", "--logLevel", "warn"];
  const run = spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (run.status !== 0) fail("the dashboard could not be built (see above)");
  const stampFile = join(dashboard, ".stamp");
  writeFileSync(stampFile, JSON.stringify({ lockHash: lockHash() }));
  utimesSync(stampFile, startedAt, startedAt);
}

// One at a time. The lock lives outside the checkout, because npm ci removes node_modules.

async function lock() {
  const id = createHash("sha256").update(dir).digest("hex").slice(0, 16);
  const lockFile = join(tmpdir(), `dibs-ensure-${process.getuid?.() ?? 0}-${id}`);
  const mine = `${lockFile}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    for (let announced = false; !tryLink(mine, lockFile); ) {
      const holder = Number(readText(lockFile));
      if (holder && !isAlive(holder)) {
        rmSync(lockFile, { force: true });
        continue;
      }
      if (!announced) say(`waiting for process ${holder}, which is installing or building`);
      announced = true;
      await sleep(100);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  const unlock = () => rmSync(lockFile, { force: true });
  process.once("exit", unlock);
  return unlock;
}

// A link appears together with its content, so nobody reads a lock without its holder.
function tryLink(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function say(message) {
  console.error(`ensure: ${message}`);
}

function fail(message) {
  say(message);
  process.exit(1);
}
