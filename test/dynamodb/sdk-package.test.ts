// The AWS SDK is installed by those who use DynamoDB: without it, an error says so.

import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { Program, run } from "../http/program.js";
import { tempDir, until } from "../support.js";
import { hasNoLocal, newTables } from "./local.js";

const root = resolve(import.meta.dirname, "../..");

/** The built program next to all packages but the SDK. */
function withoutSdk(): string {
  const copy = join(tempDir(), "package");
  const isNeeded = (path: string) => !/[\\/]dist[\\/]web$|\.map$|\.cache$/.test(path);
  cpSync(join(root, "dist"), join(copy, "dist"), { recursive: true, filter: isNeeded });
  cpSync(join(root, "package.json"), join(copy, "package.json"));
  const packages = join(copy, "node_modules");
  mkdirSync(packages);
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name === "@aws-sdk" || name.startsWith(".")) continue;
    symlinkSync(join(root, "node_modules", name), join(packages, name), "junction");
  }
  return join(copy, "dist", "bin.js");
}

test("a store on DynamoDB without the SDK is refused with the command that installs it", async () => {
  const program = new Program(["list", "--db", "dynamodb://eu-west-1/dibs"], { bin: withoutSdk() });
  await until("the command has ended", () => program.isOver);
  expect((await program.exited).code).toBe(6);
  expect(program.stderr).toContain("needs the package @aws-sdk/client-dynamodb, which is not installed");
  expect(program.stderr).toContain("npm install @aws-sdk/client-dynamodb");
});

describe.skipIf(hasNoLocal)("with the SDK", () => {
  test("a command prints no warning of the SDK about the version of Node", async () => {
    const { code, stderr } = await run(["list", "--db", await newTables()]);
    expect([code, stderr]).toEqual([0, ""]);
  });
});
