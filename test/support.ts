// What tests with real files and processes share.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { onAbort } from "../src/common/abort.js";

/** A process that waits for a core, a disk or a debugger can stand still for long. */
export const patienceMs = 90_000;
const cleanups: (() => unknown)[] = [];
const evidence: { name: string; content: Content }[] = [];

type Content = () => string | Buffer | Promise<string | Buffer>;

/** A log or a picture that helps to understand a failure: saved only if the test fails, before its cleanups run. */
export function onFailure(name: string, content: Content): void {
  evidence.push({ name, content });
}

export async function saveEvidence(directory: string): Promise<void> {
  for (const [at, { name, content }] of evidence.entries()) {
    try {
      writeFileSync(join(directory, `${at + 1}-${name}`), await content());
    } catch (error) {
      writeFileSync(join(directory, `${at + 1}-${name}.missing`), String(error));
    }
  }
}

/** All of its standard input. A process that ends before it has read everything is no failure of the test. */
export function sendInput(child: { stdin: Writable }, text: string): void {
  child.stdin.on("error", () => undefined).end(text);
}

/** Resolves with the reason when the signal fires, also if it has fired before: a busy machine comes late. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => onAbort(signal, () => resolve(signal.reason)));
}

/** Runs after the test, the latest first. */
export function afterwards(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** All of them, also after one that fails: what they leave would be there for the next file. */
export async function cleanUp(): Promise<void> {
  evidence.length = 0;
  const troubles: unknown[] = [];
  for (const cleanup of cleanups.splice(0).reverse()) {
    try {
      await cleanup();
    } catch (trouble) {
      troubles.push(trouble);
    }
  }
  if (troubles.length > 0) throw troubles[0];
}

/** The directories of `tempDir` have a name of their own. */
export const tempPrefix = "test-";

/** It is removed after the test, or after the file if a hook of the file asked for it (test/setup.ts). */
export function tempDir(): string {
  return mkdtempSync(join(tmpdir(), tempPrefix));
}

/** Looks until it is so, or until there is what it looks for, and returns that. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found) return found as Exclude<T, false | null | undefined>;
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(10);
  }
}
