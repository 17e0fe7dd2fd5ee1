#!/usr/bin/env node
// The entry. It loads the program, program.ts, which is also built in few files (scripts/bundle.mjs). Together with the bytecode of
// what earlier runs used, those load in a fraction of the time that the modules take; where they are missing, the modules are loaded.
//
// Bytecode is code. It is kept in our own directory only, and believed if it is whole and was made from these very files by this
// version of Node. The first run of a command adds what it used; where we may not write, nothing is made.

import type { Script } from "node:vm";

// Not imported: that would list all that they export.
const { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } =
  process.getBuiltinModule("node:fs");
const vm = process.getBuiltinModule("node:vm");

interface Program {
  /** In the bundle nobody answers an `import()`: what is not in it and must be imported is loaded from here. */
  run(argv: readonly string[], load: (address: string) => Promise<unknown>): Promise<number>;
}

interface Kept {
  commands: string[];
  parts: Map<string, Buffer>;
}

const directory = `${import.meta.dirname}/cli`;
const keptFile = `${directory}/${process.version}-${process.arch}${otherFlags()}.cache`;
/** V8 forgets what has not run for a while. */
const keepWithinSeconds = 10;

class Bundle {
  private readonly modules = new Map<string, { exports: unknown }>();
  private readonly scripts = new Map<string, Script>();
  /** Of all files: the others are named after what is in them, and named in the first. */
  private readonly fingerprint: string;
  private readonly kept: Kept;

  constructor(private readonly first: string) {
    this.fingerprint = first.slice(2, first.indexOf("\n"));
    this.kept = readKept(this.fingerprint);
  }

  get program(): Program {
    return this.load("program.cjs", this.first) as Program;
  }

  private readonly require = Object.assign(
    (id: string) =>
      id.startsWith("./") ? this.load(id.slice(2)) : (process.getBuiltinModule(id) ?? requireOther()(id)),
    { resolve: (id: string) => requireOther().resolve(id) },
  );

  /** The files hold functions such as Node wraps around modules, in ASCII. */
  private load(name: string, source?: string): unknown {
    const known = this.modules.get(name);
    if (known) return known.exports;
    const filename = `${directory}/${name}`;
    const cachedData = this.kept.parts.get(name);
    const script = new vm.Script(source ?? readFileSync(filename, "latin1"), { filename, cachedData });
    const module = { exports: {} };
    this.scripts.set(name, script);
    this.modules.set(name, module);
    script.runInThisContext()(module.exports, this.require, module, filename, directory);
    return module.exports;
  }

  keep(command: string): void {
    const { commands, parts } = this.kept;
    if (commands.includes(command) || !/^[a-z-]+$/.test(command) || process.uptime() > keepWithinSeconds)
      return;
    // This Node made it, and yet V8 refuses it here: whoever made it shall have it.
    if ([...this.scripts.values()].some((script) => script.cachedDataRejected)) return;
    if (!mayKeep()) return;
    const fresh = [...this.scripts].map(([name, script]) => [name, script.createCachedData()] as const);
    writeKept(this.fingerprint, { commands: [...commands, command], parts: new Map([...parts, ...fresh]) });
  }
}

/** V8 takes bytecode only under the flags it was made under: whoever sets some has a file of their own. */
function otherFlags(): string {
  const hasFlags = process.execArgv.length > 0 || process.env.NODE_OPTIONS;
  return hasFlags ? `-${process.getBuiltinModule("node:v8").cachedDataVersionTag()}` : "";
}

/** Asked before any is made: a package that was installed for all belongs to somebody else, and to make it takes a while. */
function mayKeep(): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** For what is not in the bundle. */
function requireOther(): NodeJS.Require {
  return process.getBuiltinModule("node:module").createRequire(`${directory}/`);
}

/** The first line tells what it was made from, its size, its commands, and the lengths of its parts. */
function readKept(fingerprint: string): Kept {
  const parts: Kept["parts"] = new Map();
  const bytes = read(keptFile);
  // Of anybody else's nothing is understood.
  if (!bytes?.toString("latin1", 0, 64).startsWith(`["${fingerprint}",`)) return { commands: [], parts };
  const end = bytes.indexOf("\n");
  if (end < 0) return { commands: [], parts };
  const body = bytes.subarray(end + 1);
  const [, size, commands, lengths] = JSON.parse(bytes.toString("latin1", 0, end));
  if (size !== body.length) return { commands: [], parts };
  let at = 0;
  for (const [name, length] of lengths) {
    parts.set(name, body.subarray(at, at + length));
    at += length;
  }
  return { commands, parts };
}

function writeKept(fingerprint: string, { commands, parts }: Kept): void {
  const body = Buffer.concat([...parts.values()]);
  const lengths = [...parts].map(([name, { length }]) => [name, length]);
  const head = JSON.stringify([fingerprint, body.length, commands, lengths]);
  // V8 copies what does not begin at a multiple of its words.
  const padded = head.padEnd(Math.ceil((head.length + 1) / 16) * 16 - 1);
  const draft = `${keptFile}.${process.pid}`;
  try {
    // On the disk before it has its name: V8 does not survive half of it.
    writeFileSync(draft, Buffer.concat([Buffer.from(`${padded}\n`), body]), {
      mode: 0o644,
      flag: "wx",
      flush: true,
    });
    renameSync(draft, keptFile);
  } catch {
    rmSync(draft, { force: true });
  }
}

function read(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}

const argv = process.argv.slice(2);
const first = read(`${directory}/program.cjs`)?.toString("latin1");
const bundle = first === undefined ? null : new Bundle(first);
const { run } = bundle?.program ?? (await import("./program.js"));
process.exitCode = await run(argv, (address) => import(address));
if (process.exitCode === 0) bundle?.keep(argv[0] ?? "");
