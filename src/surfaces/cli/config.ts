// `.dibs/config.json`: settings that a team commits. It can name the server or database of the team (configured.ts), but holds no
// secret. Unknown keys are ignored with a warning, so that one file serves different versions of Dibs; `dibs doctor` reports them as
// errors.

import { dirname, join, resolve } from "node:path";
import { parseJson } from "../../bridges/plan/json-parse.js";
import { DibsError } from "../../contract/error.js";
import { addressProblem } from "./address.js";
import type { Flags } from "./connection.js";
import { textOf } from "./files.js";
import type { Parts } from "./parts.js";
import { plain } from "./print/text.js";
import { configKeys } from "./settings.js";
import { usageError } from "./spec.js";

export interface Config {
  project?: string;
  /** A server, or a database: for everybody who works in the repository. */
  url?: string;
  db?: string;
  /** For `dibs work` and `dibs run`. */
  agent?: string;
  concurrency?: number;
}

const known: Record<keyof Config, { type: "string" | "number" }> = configKeys;

const bytesMax = 64 * 1024;

/** What the environment says (DIBS_PROJECT and so on), else the file. A flag goes before both. */
export async function settingFor<Name extends keyof Config>(
  flags: Flags,
  parts: Parts,
  name: Name,
): Promise<Config[Name]> {
  const { config } = await readConfig(flags, parts);
  const variable = `DIBS_${name.toUpperCase()}`;
  const text = parts.env[variable] || undefined;
  if (text === undefined) return config[name];
  const value = known[name].type === "number" ? Number(text) : text;
  if (Number.isNaN(value)) throw usageError(`${variable}=${text}: must be a number.`);
  return value as Config[Name];
}

export interface ReadConfig {
  path: string;
  config: Config;
  unknown: string[];
}

/** Read once for each call: a command may look several times. */
const readBefore = new WeakMap<Flags, Promise<ReadConfig>>();

export function readConfig(flags: Flags, parts: Parts): Promise<ReadConfig> {
  const before = readBefore.get(flags) ?? readFile(flags, parts);
  readBefore.set(flags, before);
  return before;
}

async function readFile(flags: Flags, parts: Parts): Promise<ReadConfig> {
  const named = flags.text("config") ?? (parts.env.DIBS_CONFIG || undefined);
  const path = named
    ? resolve(parts.cwd, named)
    : join(dirname(await parts.databaseFor(parts.cwd)), "config.json");
  let text: string;
  try {
    text = await textOf(parts, path, bytesMax);
  } catch (error) {
    if (!(error instanceof DibsError)) throw error;
    if (!named && error.code === "NOT_FOUND") return { path, config: {}, unknown: [] };
    throw new DibsError("VALIDATION_FAILED", `These settings cannot be read: ${error.message}`);
  }
  const { config, unknown } = judged(path, text);
  if (unknown.length > 0) warn(parts, path, unknown);
  return { path, config, unknown };
}

/** `:3` for a file that is broken in its third line; comments and trailing commas are not JSON either, without a line. */
function placeOf(text: string): string {
  const read = parseJson(text);
  return read.ok ? "" : `:${read.at.line}`;
}

function judged(path: string, text: string): { config: Config; unknown: string[] } {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new DibsError("VALIDATION_FAILED", `${path}${placeOf(text)} is not valid JSON.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DibsError("VALIDATION_FAILED", `${path} must hold a JSON object.`);
  }
  const entries = Object.entries(value);
  const isKnown = (name: string): name is keyof Config => Object.hasOwn(known, name);
  for (const [name, each] of entries) {
    if (isKnown(name) && typeof each !== known[name].type)
      throw new DibsError("VALIDATION_FAILED", `${path}: ${name} must be a ${known[name].type}.`);
  }
  const config: Config = Object.fromEntries(entries.filter(([name]) => isKnown(name)));
  const problem = Object.hasOwn(value, "token") ? noToken : addressProblem(config);
  if (problem !== null) throw new DibsError("VALIDATION_FAILED", `${path}: ${problem}.`);
  return {
    config,
    unknown: entries.map(([name]) => name).filter((name) => !isKnown(name)),
  };
}

const noToken = "a token does not belong into a committed file; set DIBS_TOKEN in the environment";

function warn({ err }: Parts, path: string, unknown: readonly string[]): void {
  err(`dibs: ${plain(path)}: ${unknownText(unknown)} ignored. ${knownText}\n`);
}

export const knownText = `Supported: ${Object.keys(known).join(", ")}. A project's settings are in the store: dibs project set.`;

export function unknownText(unknown: readonly string[]): string {
  const names = unknown.slice(0, 5).map((name) => `'${plain(name).slice(0, 40)}'`);
  const more = unknown.length > names.length ? ", …" : "";
  return `${names.join(", ")}${more} ${unknown.length === 1 ? "is not a setting and is" : "are not settings and are"}`;
}
