// The server or database that `.dibs/config.json` names for everybody in a repository. One on another machine is used after this user
// has trusted its address: it would receive tokens, and agents would run its tasks.

import { dirname, resolve } from "node:path";
import { DibsError } from "../../contract/error.js";
import { addressOf, isDatabaseAddress, isHere } from "./address.js";
import { readConfig } from "./config.js";
import type { Flags } from "./connection.js";
import type { Parts } from "./parts.js";
import { plain } from "./print/text.js";

export interface Configured {
  /** A server. */
  url?: string;
  /** A database on a server, or an absolute path. */
  db?: string;
}

/** Nothing where a flag or the environment says which store is meant. */
export async function configuredStore(flags: Flags, parts: Parts): Promise<Configured> {
  const { env } = parts;
  if (flags.text("url") ?? flags.text("db") ?? (env.DIBS_URL || env.DIBS_DATABASE_URL)) return {};
  const { config, path } = await readConfig(flags, parts);
  if (config.url !== undefined) return { url: config.url };
  if (config.db === undefined) return {};
  return { db: isDatabaseAddress(config.db) ? config.db : resolve(dirname(dirname(path)), config.db) };
}

/** Throws STORE_NOT_TRUSTED, or asks the person at the terminal. A settings file that was named is meant. */
export async function refuseUntrustedAddress(flags: Flags, parts: Parts, url: string): Promise<void> {
  if (flags.text("config") ?? parts.env.DIBS_CONFIG) return;
  if (isHere(url) || parts.env.DIBS_TRUST === "1") return;
  const address = addressOf(url);
  if (await parts.trust.isServerTrusted(address)) return;
  if (await wants(flags, parts, address)) return parts.trust.trustServer(address);
  throw new DibsError(
    "STORE_NOT_TRUSTED",
    `${plain(address)} is not trusted: .dibs/config.json names it, and you have not used it before.`,
    {
      hint: "Run: dibs trust (only if you know this server; tokens are sent to it, and agents run its tasks)",
    },
  );
}

async function wants(flags: Flags, parts: Parts, address: string): Promise<boolean> {
  if (flags.isJson || !parts.stdin.isTerminal || !parts.stdout.isTerminal) return false;
  parts.err(`.dibs/config.json sends the commands of this repository to ${plain(address)}.\n`);
  const answer = await parts.askUser("Trust it? [y/N] ");
  return /^y/i.test(answer?.trim() ?? "");
}
