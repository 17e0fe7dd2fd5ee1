// An agent that does what it is told: it writes down what it was given, then follows its plan, which is given as an argument or
// comes later as a file.
//
//   node agent.mjs <directory> [plan as JSON] [more arguments]

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [directory, given, ...more] = process.argv.slice(2);
const { DIBS_TASK, DIBS_EPOCH, DIBS_RESULT_FILE } = process.env;
const name = `${DIBS_TASK}.${DIBS_EPOCH}`;

function put(file, value) {
  const path = join(directory, file);
  writeFileSync(`${path}.${process.pid}`, typeof value === "string" ? value : JSON.stringify(value));
  renameSync(`${path}.${process.pid}`, path);
}

async function until(isSo) {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Nobody else may be at work on the same task meanwhile. */
async function workAlone() {
  const mark = join(directory, `${DIBS_TASK}.alone`);
  const other = existsSync(mark) ? readFileSync(mark, "utf8") : "";
  if (other !== "" && isAlive(other)) put(`${name}.overlap`, `${other} is at work too`);
  put(`${DIBS_TASK}.alone`, String(process.pid));
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
  put(`${DIBS_TASK}.alone`, "");
}

function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

let stdin = Buffer.alloc(0);
for await (const chunk of process.stdin) stdin = Buffer.concat([stdin, chunk]);
const dibs = Object.entries(process.env).filter(([key]) => key.startsWith("DIBS_") || key === "MARK");

if (given?.includes('"stubborn"')) process.on("SIGTERM", () => undefined);
let grandchild = null;
if (given?.includes('"grandchild"')) {
  const code = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  grandchild = spawn(process.execPath, ["-e", code], { stdio: "ignore" }).pid;
}
put(`${name}.json`, {
  pid: process.pid,
  ppid: process.ppid,
  cwd: process.cwd(),
  stdin: stdin.toString("base64"),
  more,
  grandchild,
  env: Object.fromEntries(dibs),
});

let plan = JSON.parse(given || "{}");
if (plan.wait) {
  const go = join(directory, `${DIBS_TASK}.go`);
  await until(() => existsSync(go));
  plan = JSON.parse(readFileSync(go, "utf8"));
}
if (plan.exclusive) await workAlone();
if (plan.write) for (const [file, text] of Object.entries(plan.write)) writeFileSync(file, text);
if (plan.git) {
  const ran = plan.git.map((args) => {
    const { status, stdout, stderr } = spawnSync("git", args, { encoding: "utf8" });
    return { args, status, stdout, stderr };
  });
  put(`${name}.git`, ran);
}
if (plan.append) writeFileSync(join(directory, "done.txt"), `${name}\n`, { flag: "a" });
if (plan.result !== undefined) {
  const text = typeof plan.result === "string" ? plan.result : JSON.stringify(plan.result);
  writeFileSync(DIBS_RESULT_FILE, text);
}
if (plan.flood) {
  for (let n = 0; n < plan.flood; n++) {
    const line = `${n} ${"x".repeat(1000)}\n`;
    if (!process.stdout.write(line)) await new Promise((resolve) => process.stdout.once("drain", resolve));
  }
}
if (plan.out) await new Promise((resolve) => process.stdout.write(plan.out, resolve));
if (plan.err) await new Promise((resolve) => process.stderr.write(plan.err, resolve));
if (plan.kill) process.kill(process.pid, plan.kill);
process.exit(plan.exit ?? 0);
