// What `--help` says, of the program and of every command: one golden file each, exit codes as the contract has them, and examples
// that can be typed.

import { describe, expect, test } from "vitest";
import { exitCode } from "../../src/contract/codes.js";
import { operations } from "../../src/contract/registry.js";
import type { Command, SingleCommand } from "../../src/surfaces/cli/command.js";
import { entries } from "../../src/surfaces/cli/commands.js";
import { globalFlags, parse } from "../../src/surfaces/cli/spec.js";
import { openDesk } from "./desk.js";

const loaded = new Map<string, Command>();
for (const [name, { load }] of entries) loaded.set(name, (await load())[name]!);

const callable: SingleCommand[] = [...loaded.values()].flatMap((command) =>
  "parts" in command ? Object.values(command.parts) : [command],
);
const groups = [...loaded.values()].filter((command) => "parts" in command);
const byName = (commands: readonly { name: string }[]) => commands.map(({ name }) => name);

test.each(["", ...byName(groups), ...byName(callable)])("dibs %s --help", async (name) => {
  const desk = await openDesk();
  const { code, out, err } = await desk.dibs([...name.split(" "), "--help"].filter((word) => word !== ""));
  expect([code, err]).toEqual([0, ""]);
  // An example is one line, to be taken as it is.
  const isLong = (line: string) => line.length > 80 && !line.startsWith("  dibs ");
  expect(out.split("\n").filter(isLong)).toEqual([]);
  await expect(out).toMatchFileSnapshot(`golden/help/${name.replaceAll(" ", "-") || "dibs"}.txt`);
});

test.each(byName(groups))("dibs %s --help has the exit codes of its parts", async (name) => {
  const desk = await openDesk();
  const { out } = await desk.dibs([name, "--help"]);
  const parts = callable.filter((command) => command.name.startsWith(`${name} `));
  const own = new Set(parts.flatMap(({ exits = {} }) => Object.keys(exits)));
  for (const code of own) expect(out).toMatch(new RegExp(`^Exit codes\n(.*\n)* {2}${code} `, "m"));
});

test("dibs help flags prints the global flags, to which every page refers", async () => {
  const desk = await openDesk();
  const flags = await desk.dibs(["help", "flags"]);
  expect([flags.code, flags.err]).toEqual([0, ""]);
  for (const name of Object.keys(globalFlags)) expect(flags.out).toMatch(new RegExp(`--${name}\\b`));
  for (const page of [[], ["lock"], ["list"]]) {
    const { out } = await desk.dibs([...page, "--help"]);
    expect(out).toContain("\nGlobal flags: dibs help flags\n");
    expect(out).not.toContain("--epoch");
  }
});

test("what follows -- comes last in the usage", async () => {
  const desk = await openDesk();
  const usage = async (name: string) => (await desk.dibs(["help", name])).out.split("\n")[0];
  expect(await usage("work")).toBe("dibs work [flags] -- <command>");
  expect(await usage("run")).toBe("dibs run [flags] -- <command>");
});

test("the front page begins with what a new user needs, and ends with compatibility", async () => {
  const { out } = await (await openDesk()).dibs(["--help"]);
  const names = [...out.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name);
  expect(names.slice(0, 7)).toEqual(["init", "add", "list", "work", "watch", "answer", "done"]);
  expect(out).toMatch(
    /^Compatibility\n {2}leader .*\n {2}worker .*\n {2}fence .*\n {2}hook .*\n {2}next-id /m,
  );
});

test.each([
  ["create", "add"],
  ["next", "ready"],
  ["close", "done"],
  ["ls", "list"],
  ["status", "list"],
])("dibs %s is dibs %s", async (alias, name) => {
  const desk = await openDesk();
  const page = await desk.dibs([name, "--help"]);
  expect(await desk.dibs(["help", alias])).toEqual(page);
  expect(page.out).toMatch(new RegExp(`^Aliases: .*dibs ${alias}\\b`, "m"));
  const candidates = await desk.says(["__complete", "--", alias, "--"]);
  expect(candidates).toBe(await desk.says(["__complete", "--", name, "--"]));
});

test("an alias does what its command does", async () => {
  const desk = await openDesk();
  await desk.says(["create", "Write the docs"]);
  expect(await desk.says(["ls"])).toBe(await desk.says(["list"]));
  expect(await desk.says(["next"])).toContain("Write the docs");
  expect(await desk.says(["status", "--json"])).toContain("Write the docs");
});

describe.each(callable.map((command) => [command.name, command] as const))("dibs %s", (name, command) => {
  test("names its exit codes and shows an example", async () => {
    const desk = await openDesk();
    const { out } = await desk.dibs([...name.split(" "), "--help"]);
    // One line each.
    expect(out).toMatch(/^Exit codes\n {2}0 {2}[\w-].*\n( {2}[1-6] {2}[\w-].*\n)*\n/m);
    expect(out).toMatch(new RegExp(`^Examples\n(.*\n)*.*dibs ${name}`, "m"));
  });

  test("its examples can be typed", () => {
    for (const example of command.examples ?? []) {
      expect(() => parse(command, wordsAfter(`dibs ${name}`, example)), example).not.toThrow();
    }
  });

  test("is known to change nothing if all that it calls only asks", () => {
    const called = operations.filter(({ cli }) => cli === name);
    if (called.length > 0) expect(command.reads === true).toBe(called.every(({ kind }) => kind === "query"));
  });

  test("ends with 1 where the contract refuses by state", () => {
    const refusals = operations.filter(({ cli }) => cli === name).flatMap((operation) => operation.refusals);
    if (operations.some(({ cli }) => cli === name))
      expect(command.exits?.[1] !== undefined).toBe(refusals.some((code) => exitCode[code] === 1));
  });
});

/** The words that a shell would give to the command. */
function wordsAfter(start: string, example: string): string[] {
  const words: string[] = [];
  const typed = example.slice(example.lastIndexOf(start) + start.length);
  for (const [, quoted, alsoQuoted, word, end] of typed.matchAll(
    /"([^"]*)"|'([^']*)'|([^\s"'|)#<>&]+)|([|)#<>&])/g,
  )) {
    if (end !== undefined) break;
    words.push(quoted ?? alsoQuoted ?? word!);
  }
  return words;
}
