// `.dibs/config.json`: settings that a team commits. It is not trusted with where to connect or what to send there: a repository
// one has cloned must not be able to redirect a token.

import { dirname, join, resolve } from "node:path";
import { DibsError } from "../../contract/error.js";
import type { Flags } from "./connection.js";
import type { Parts } from "./parts.js";

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

export async function readConfig(flags: Flags, parts: Parts): Promise<Config> {
  const named = flags.text("config") ?? parts.env.DIBS_CONFIG;
  const path = named
    ? resolve(parts.cwd, named)
    : join(dirname(await parts.databaseFor(parts.cwd)), "config.json");
  let text: string;
  try {
    text = await parts.readFile(path);
  } catch (error) {
    if (named || (error as NodeJS.ErrnoException).code !== "ENOENT") {
      throw new DibsError("VALIDATION_FAILED", `Cannot read ${path}: ${(error as Error).message}`);
    }
    return {};
  }
  return judged(path, text);
}

function judged(path: string, text: string): Config {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DibsError("VALIDATION_FAILED", `${path} is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DibsError("VALIDATION_FAILED", `${path} must hold a JSON object.`);
  }
  for (const [name, each] of Object.entries(value)) {
    const type = known[name as keyof Config];
    if (type === undefined) {
      throw new DibsError("VALIDATION_FAILED", `${path}: '${name}' is not a setting.`, {
        hint: `Known are ${Object.keys(known).join(", ")}; a project's own settings live in the store: dibs project set.`,
      });
    }
    if (typeof each !== type) throw new DibsError("VALIDATION_FAILED", `${path}: ${name} must be a ${type}.`);
  }
  return value as Config;
}
