// Which store a command means: --url or DIBS_URL a server, --db or DIBS_DATABASE_URL a database, else the one of this directory's
// repository; and through the server that runs for it, if one does.

import { resolve } from "node:path";
import type { Dibs } from "../../client/client.js";
import { readConfig } from "./config.js";
import type { Parts, Place } from "./parts.js";

export interface Flags {
  text(name: string): string | undefined;
}

const isPostgres = (text: string) => /^postgres(ql)?:/.test(text);

export async function connectionFor(flags: Flags, parts: Parts): Promise<Dibs> {
  const { env } = parts;
  const config = await readConfig(flags, parts);
  const project = flags.text("project") ?? env.DIBS_PROJECT ?? config.project;
  const url = flags.text("url") ?? (flags.text("db") === undefined ? env.DIBS_URL : undefined);
  const token = flags.text("token") ?? env.DIBS_TOKEN;
  const scope = project ? { project } : {};
  if (url) return parts.connect({ url, ...(token ? { token } : {}), ...scope });
  const place = await placeFor(flags, parts);
  if (place.path !== undefined && place.org === undefined) {
    const server = await parts.findServer(place.path);
    const bearer = token ?? server?.token ?? undefined;
    if (server && bearer) return parts.connect({ url: server.url, token: bearer, ...scope });
  }
  return parts.open(place);
}

export async function placeFor(flags: Flags, parts: Parts): Promise<Place> {
  const { env, cwd } = parts;
  const config = await readConfig(flags, parts);
  const named = flags.text("db") ?? env.DIBS_DATABASE_URL;
  const org = flags.text("org") ?? env.DIBS_ORG;
  const project = flags.text("project") ?? env.DIBS_PROJECT ?? config.project;
  const scope = { ...(org && { org }), ...(project && { project }) };
  if (named && isPostgres(named)) return { url: named, ...scope };
  const path = named ? resolve(cwd, named) : await parts.databaseFor(cwd);
  await parts.makeRoomFor(path);
  return { path, ...scope };
}
