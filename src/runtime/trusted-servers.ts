// Servers and databases on other machines that a repository's settings name, and this user trusts: one private file each in
// `~/.dibs/servers`. An address is trusted for every repository: what matters is who receives tokens, and whose tasks are run.

import { createHash } from "node:crypto";
import { chmodSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory } from "./directory.js";
import { readPrivate, removePrivate, writePrivate } from "./private-file.js";
import { trustDirectory } from "./trusted-stores.js";

const serversMax = 1024;

const directoryOf = () => join(dirname(trustDirectory()), "servers");
const fileOf = (address: string) =>
  join(directoryOf(), createHash("sha256").update(address).digest("hex").slice(0, 32));

export function isServerTrusted(address: string): boolean {
  return read(fileOf(address)) === address;
}

function read(file: string): string | null {
  try {
    const { address } = JSON.parse(readPrivate(file) ?? "null");
    return typeof address === "string" ? address : null;
  } catch {
    return null;
  }
}

export function trustedServers(): string[] {
  const directory = directoryOf();
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory).slice(0, serversMax);
  return names.flatMap((name) => read(join(directory, name)) ?? []).sort();
}

export function rememberServer(address: string): void {
  const directory = directoryOf();
  if (!existsSync(directory)) {
    makeDirectory(directory);
    chmodSync(directory, 0o700);
  }
  writePrivate(fileOf(address), `${JSON.stringify({ address })}\n`);
}

/** False: it was not trusted. */
export function forgetServer(address: string): boolean {
  const wasTrusted = isServerTrusted(address);
  if (wasTrusted) removePrivate(fileOf(address));
  return wasTrusted;
}
