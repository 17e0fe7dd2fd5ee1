// Which store a command means: --url or DIBS_URL a server, --db or DIBS_DATABASE_URL a database, else what .dibs/config.json names,
// else the one of this directory's repository; what was found and not named is used if this user trusts it (ADR 21). A store is used
// through the server that runs for it, if one does.

import { resolve } from "node:path";
import type { Dibs } from "../../client/client.js";
import { shellWord } from "../../client/view/shell.js";
import { DibsError } from "../../contract/error.js";
import { isDatabaseAddress, parsed } from "./address.js";
import { settingFor } from "./config.js";
import { configuredStore, refuseUntrustedAddress } from "./configured.js";
import type { Parts, Place, ServerAddress } from "./parts.js";
import { plain } from "./print/text.js";
import { usageError } from "./spec.js";

export interface Flags {
  text(name: string): string | undefined;
  /** The command creates a store that does not exist. All others refuse: in the wrong directory they would find nothing. */
  readonly createsStore?: boolean;
  /** The command's own answer lists what it created. */
  readonly listsCreated?: boolean;
  readonly isJson?: boolean;
}

/** The server that is named, if one is: a database that is named goes before one from the environment. */
export async function serverNamed(flags: Flags, parts: Parts): Promise<string | undefined> {
  const { env } = parts;
  const named = flags.text("url") ?? (flags.text("db") === undefined ? env.DIBS_URL || undefined : undefined);
  return named ?? (await configuredStore(flags, parts)).url;
}

/** Here and not by the client, whose advice is for programs. */
function refuseBadUrl(flags: Flags, url: string): void {
  const [name, assigned] = flags.text("url") === undefined ? ["DIBS_URL", "DIBS_URL="] : ["--url", "--url "];
  const found = parsed(url);
  if (found === null || !/^https?:$/.test(found.protocol)) {
    const example = /^[\w.-]+(:\d+)?$/.test(url) ? `http://${url}` : "http://127.0.0.1:3427";
    throw usageError(`${name} must begin with http:// or https://.`, `For example: ${assigned}${example}`);
  }
  if (found.username !== "" || found.password !== "")
    throw usageError(`${name} must not contain a password.`, "Set DIBS_TOKEN, or add --token.");
}

/** Where calls go. */
export type Target = { server: ServerAddress; isNamed: boolean } | { place: Place };

export async function connectionFor(flags: Flags, parts: Parts, opening: Opening = {}): Promise<Dibs> {
  return openTarget(await targetFor(flags, parts, opening.creates), flags, parts, opening);
}

export async function targetFor(flags: Flags, parts: Parts, creates = flags.createsStore): Promise<Target> {
  const place = await locationFor(flags, parts);
  const url = await serverNamed(flags, parts);
  const named = flags.text("token");
  const environment = parts.env.DIBS_TOKEN || undefined;
  const token = named ?? environment;
  const scope = place.project ? { project: place.project } : {};
  if (url && flags.text("org") !== undefined) {
    throw usageError(
      "--org cannot change the organization of a server: the token determines it.",
      "Use a token of that organization.",
    );
  }
  if (url) {
    if ((await configuredStore(flags, parts)).url) await refuseUntrustedAddress(flags, parts, url);
    else refuseBadUrl(flags, url);
    return { server: { url, ...(token ? { token } : {}), ...scope }, isNamed: true };
  }
  if (place.path !== undefined && place.org === undefined) {
    const server = await parts.findServer(place.path);
    const tokens = tokensFor(server?.token ?? null, { named, environment });
    const own = server?.project ? { project: server.project } : {};
    if (server && tokens) {
      await refuseUntrusted(flags, parts, place, server.storeId);
      return { server: { url: server.url, ...tokens, ...own, ...scope }, isNamed: false };
    }
  }
  await refuseUntrusted(flags, parts, place);
  if (!creates) await refuseMissing(flags, parts, place);
  return { place };
}

/** Without the file there is its log at most: opening says what is wrong then. */
async function refuseMissing(flags: Flags, parts: Parts, { path }: Place): Promise<void> {
  if (path === undefined || (await parts.files.exists(path)) || (await parts.files.exists(`${path}-wal`)))
    return;
  const file = flags.text("db");
  const source = await sourceOfPath(flags, parts);
  if (source === null)
    throw new DibsError("STORE_NOT_FOUND", `No Dibs store in ${parts.cwd} or above.`, {
      hint: "Run: dibs init",
    });
  const init = file === undefined ? "dibs init" : `dibs init --db ${shellWord(file)}`;
  throw new DibsError("STORE_NOT_FOUND", `No Dibs store at ${path}.`, {
    hint: `Check ${source}, or run: ${init}`,
  });
}

/** What names the database; null: it is the one of this directory. */
async function sourceOfPath(flags: Flags, parts: Parts): Promise<string | null> {
  if (flags.text("db") !== undefined) return "--db";
  if (databaseNamed(flags, parts) !== undefined) return "DIBS_DATABASE_URL";
  return (await configuredStore(flags, parts)).db === undefined ? null : "db in .dibs/config.json";
}

export interface Opening {
  /** Whether a store that does not exist is created; default: what the command says. */
  creates?: boolean;
  /** Instead of a line on standard error. */
  onCreate?: (store: string) => void;
  retry?: ServerAddress["retry"];
}

export async function openTarget(
  target: Target,
  flags: Flags,
  parts: Parts,
  { creates = flags.createsStore, onCreate, retry }: Opening = {},
): Promise<Dibs> {
  if ("server" in target) return parts.connect({ ...target.server, ...(retry ? { retry } : {}) });
  if (!creates) return parts.open(target.place, { create: false });
  if (target.place.path !== undefined) await makeRoom(target.place.path, parts);
  const report = (store: string) => reportCreated(flags, parts, store);
  return parts.open(target.place, { create: true, onCreate: onCreate ?? report });
}

/** On standard error: standard output is the command's answer. */
export function reportCreated(flags: Flags, parts: Parts, store: string): void {
  if (!flags.isJson && !flags.listsCreated) parts.err(`Created store ${plain(store)}\n`);
}

/**
 * For a server that was found and not named. DIBS_TOKEN may well be another server's, and is none of this one's business unless
 * it refuses its own, or the lack of one. A token that is named goes alone. Null: there is none to go with.
 */
function tokensFor(
  own: string | null,
  { named, environment }: { named: string | undefined; environment: string | undefined },
): { token?: string; spareToken?: string } | null {
  if (named !== undefined) return { token: named };
  if (own === null && environment === undefined) return null;
  const spare = environment === undefined || environment === own ? {} : { spareToken: environment };
  return { ...(own === null ? {} : { token: own }), ...spare };
}

export async function makeRoom(path: string, parts: Parts): Promise<void> {
  try {
    await parts.makeRoomFor(path);
  } catch (error) {
    throw new DibsError(
      "STORE_UNAVAILABLE",
      `There can be no database ${path}: ${(error as Error).message}`,
      {
        hint: "Name another place with --db.",
      },
    );
  }
}

/** The database, which will be opened whatever server is named. */
export async function placeFor(flags: Flags, parts: Parts): Promise<Place> {
  const place = await locationFor(flags, parts);
  await refuseUntrusted(flags, parts, place);
  if (!flags.createsStore) await refuseMissing(flags, parts, place);
  return place;
}

const databaseNamed = (flags: Flags, { env }: Parts) =>
  flags.text("db") ?? (env.DIBS_DATABASE_URL || undefined);

/** The database; nothing is made. A store that was found and is not trusted is refused. */
export async function whereFor(flags: Flags, parts: Parts): Promise<Place> {
  const place = await locationFor(flags, parts);
  if ((await serverNamed(flags, parts)) === undefined) await refuseUntrusted(flags, parts, place);
  return place;
}

/** Taken for a path, it would be a directory `foo:` here. */
function refuseUnknownScheme(flags: Flags, parts: Parts): void {
  const named = databaseNamed(flags, parts)!;
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(named) ?? [];
  if (scheme === undefined || isDatabaseAddress(named)) return;
  const source = flags.text("db") === undefined ? "DIBS_DATABASE_URL" : "--db";
  throw usageError(
    `${source} has the unknown scheme ${scheme}://.`,
    /^https?$/i.test(scheme)
      ? `A server is named by ${flags.text("db") === undefined ? "DIBS_URL" : "--url"}.`
      : "Supported: the path of a file, postgres:// and dynamodb://.",
  );
}

/** A store that was named is meant. */
async function refuseUntrusted(
  flags: Flags,
  parts: Parts,
  { path, url }: Place,
  storeId?: string,
): Promise<void> {
  if (databaseNamed(flags, parts) !== undefined) return refuseUnknownScheme(flags, parts);
  if (url !== undefined) return refuseUntrustedAddress(flags, parts, url);
  if (path === undefined) return;
  await parts.trust.refuseUntrusted(path, { storeId, isTrusted: parts.env.DIBS_TRUST === "1" });
}

/** The database, trusted or not: to be told about, not to be opened. */
export async function locationFor(flags: Flags, parts: Parts): Promise<Place> {
  const { env, cwd } = parts;
  const project = flags.text("project") ?? (await settingFor(flags, parts, "project"));
  const named = databaseNamed(flags, parts) ?? (await configuredStore(flags, parts)).db;
  const org = flags.text("org") ?? env.DIBS_ORG;
  const scope = { ...(org && { org }), ...(project && { project }) };
  if (named && isDatabaseAddress(named)) return { url: named, ...scope };
  return { path: named ? resolve(cwd, named) : await parts.databaseFor(cwd), ...scope };
}
