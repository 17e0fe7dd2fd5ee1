// `.dibs/config.json`: settings that a team commits. It is not trusted with where to connect or what to send there: a repository
// one has cloned must not be able to redirect a token. What it cannot say is passed over with a warning, so that one file serves
// programs of different age.

import { dirname, join, resolve } from "node:path";
import { DibsError } from "../../contract/error.js";
import type { Flags } from "./connection.js";
import { textOf } from "./files.js";
import type { Parts } from "./parts.js";
import { plain } from "./print/text.js";
import { usageError } from "./spec.js";

export interface Config {
  project?: string;
  /** For `dibs work` and `dibs run`. */
  agent?: string;
  concurrency?: number;
}

const known: Record<keyof Config, "string" | "number"> = {
  project: "string",
  agent: "string",
  concurrency: "number",
};

const bytesMax = 64 * 1024;

/** What the environment says (DIBS_PROJECT and so on), else the file. A flag goes before both. */
export async function settingFor<Name extends keyof Config>(
  flags: Flags,
  parts: Parts,
  name: Name,
): Promise<Config[Name]> {
  const config = await readConfig(flags, parts);
  const variable = `DIBS_${name.toUpperCase()}`;
  const text = parts.env[variable] || undefined;
  if (text === undefined) return config[name];
  const value = known[name] === "number" ? Number(text) : text;
  if (Number.isNaN(value)) throw usageError(`${variable}=${text}: must be a number.`);
  return value as Config[Name];
}

async function readConfig(flags: Flags, parts: Parts): Promise<Config> {
  const named = flags.text("config") ?? (parts.env.DIBS_CONFIG || undefined);
  const path = named
    ? resolve(parts.cwd, named)
    : join(dirname(await parts.databaseFor(parts.cwd)), "config.json");
  let text: string;
  try {
    text = await textOf(parts, path, bytesMax);
  } catch (error) {
    if (!(error instanceof DibsError)) throw error;
    if (!named && error.code === "NOT_FOUND") return {};
    throw new DibsError("VALIDATION_FAILED", `These settings cannot be read: ${error.message}`);
  }
  const { config, unknown } = judged(path, text);
  if (unknown.length > 0) warnOnce(flags, parts, path, unknown);
  return config;
}

function judged(path: string, text: string): { config: Config; unknown: string[] } {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new DibsError("VALIDATION_FAILED", `${path} is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DibsError("VALIDATION_FAILED", `${path} must hold a JSON object.`);
  }
  const entries = Object.entries(value);
  const isKnown = (name: string): name is keyof Config => Object.hasOwn(known, name);
  for (const [name, each] of entries) {
    if (isKnown(name) && typeof each !== known[name])
      throw new DibsError("VALIDATION_FAILED", `${path}: ${name} must be a ${known[name]}.`);
  }
  return {
    config: Object.fromEntries(entries.filter(([name]) => isKnown(name))),
    unknown: entries.map(([name]) => name).filter((name) => !isKnown(name)),
  };
}

/** Calls that have heard it already: a command may look several times. */
const warned = new WeakSet<Flags>();

function warnOnce(flags: Flags, { err }: Parts, path: string, unknown: readonly string[]): void {
  if (warned.has(flags)) return;
  warned.add(flags);
  const names = unknown.slice(0, 5).map((name) => `'${plain(name).slice(0, 40)}'`);
  const more = unknown.length > names.length ? ", …" : "";
  const what = unknown.length === 1 ? "is not a setting and is" : "are not settings and are";
  err(
    `dibs: ${plain(path)}: ${names.join(", ")}${more} ${what} passed over. Known are ${Object.keys(known).join(", ")}; a project's own settings live in the store: dibs project set.\n`,
  );
}
