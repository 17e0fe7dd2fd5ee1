// The package as a user gets it: installed by npm from a tarball, run in an empty directory.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { tempDir } from "../support.js";
import { pack } from "./packed.js";
import { root, startRegistry } from "./registry.js";

const run = promisify(execFile);
let tarball: string;

beforeAll(() => {
  if (!existsSync(join(root, "dist/.npmignore"))) throw new Error("Run `npm run build` first.");
  ({ tarball } = pack());
});

/** The test's own variables must not reach the program or npm. */
function environment(more: Record<string, string>) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(DIBS_|npm_|NODE_|VITEST)/i.test(name));
  return { ...Object.fromEntries(inherited), NO_COLOR: "1", DIBS_DEMO_SPEED: "0.1", ...more };
}

const verified = /Verified +every task was completed exactly once/;

describe("npm install --global", () => {
  test("gives a dibs that keeps tasks and runs the demo in an empty directory", async () => {
    const prefix = tempDir();
    const env = environment({ ...(await startRegistry()), npm_config_prefix: prefix });
    await run("npm", ["install", "--global", tarball], { env, cwd: tempDir() });
    const cwd = tempDir();
    const dibs = async (...args: string[]) =>
      (await run(join(prefix, "bin", "dibs"), args, { env, cwd })).stdout;

    expect(await dibs("--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await dibs("demo")).toMatch(verified);
    expect(readdirSync(cwd)).toEqual([]);

    await dibs("init");
    await dibs("add", "Write the schema");
    expect(await dibs("list")).toContain("Write the schema");
    const finished = await dibs("work", "--until-idle", "--", "true");
    expect(finished + (await dibs("list", "--json"))).toContain('"completed"');
  });
});

describe("npx", () => {
  test("runs the demo from the tarball in an empty directory", async () => {
    const cwd = tempDir();
    const env = environment(await startRegistry());
    const { stdout } = await run("npx", ["--yes", "--package", tarball, "dibs", "demo"], { env, cwd });
    expect(stdout).toMatch(verified);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("npm install in a project", () => {
  test("gives the library, its types, and the conformance suite for a project that has vitest", async () => {
    const cwd = tempDir();
    const env = environment(await startRegistry());
    writeFileSync(join(cwd, "package.json"), JSON.stringify({ name: "shop", type: "module" }));
    await run("npm", ["install", tarball], { env, cwd });
    expect(existsSync(join(cwd, "node_modules/vitest"))).toBe(false);

    const library = `import { openDibs } from "dibs";
import { connectDibs } from "dibs/client";
const dibs = await openDibs({ path: "dibs.db" });
const { task } = await dibs.tasks.create({ prompt: "Write the schema" });
console.log(task.id, typeof connectDibs);
await dibs.close();
`;
    writeFileSync(join(cwd, "library.mjs"), library);
    expect((await run(process.execPath, ["library.mjs"], { env, cwd })).stdout).toBe("0001 function\n");

    for (const name of ["vitest", "@types", "typescript"]) linkInstalled(cwd, name);
    const suite = `import { conformance, type Driver } from "dibs/conformance";
export const run: (driver: Driver) => void = conformance;
`;
    writeFileSync(join(cwd, "library.ts"), library);
    writeFileSync(join(cwd, "suite.ts"), suite);
    const flags = "--noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node";
    const tsc = join(cwd, "node_modules/typescript/bin/tsc");
    await run(process.execPath, [tsc, ...flags.split(" "), "library.ts", "suite.ts"], { env, cwd });
    const own = `import { test } from "vitest";
import { conformance } from "dibs/conformance";
test("the suite is a function", () => { if (typeof conformance !== "function") throw new Error(); });
`;
    writeFileSync(join(cwd, "suite.test.mjs"), own);
    const vitest = join(cwd, "node_modules/vitest/vitest.mjs");
    await run(process.execPath, [vitest, "run", "suite.test.mjs"], { env, cwd });
  });
});

function linkInstalled(project: string, name: string): void {
  mkdirSync(join(project, "node_modules"), { recursive: true });
  if (!existsSync(join(project, "node_modules", name))) {
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  }
}
