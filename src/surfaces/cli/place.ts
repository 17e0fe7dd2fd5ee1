// Which store a command means: --db, else DIBS_DATABASE_URL, else the one of this directory's repository.

import { resolve } from "node:path";
import type { Parts, Place } from "./parts.js";

export interface PlaceFlags {
  db?: string;
  org?: string;
  project?: string;
}

const isPostgres = (text: string) => /^postgres(ql)?:/.test(text);

export async function placeFor(flags: PlaceFlags, parts: Parts): Promise<Place> {
  const { env, cwd } = parts;
  const named = flags.db ?? env.DIBS_DATABASE_URL;
  const project = flags.project ?? env.DIBS_PROJECT;
  const scope = { ...(flags.org && { org: flags.org }), ...(project && { project }) };
  if (named && isPostgres(named)) return { url: named, ...scope };
  const path = named ? resolve(cwd, named) : await parts.databaseFor(cwd);
  await parts.makeRoomFor(path);
  return { path, ...scope };
}
