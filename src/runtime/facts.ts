// What can be seen of a store from outside: its files, who may read them, whether a server runs for it.

import { chmodSync, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { hostId, isAlive } from "./liveness.js";
import { readPrivate } from "./private-file.js";
import { findServer, serverFileOf, tokenFileOf } from "./server-file.js";

const nodeNeeded = ">=20.19";

export function factsOf(database: string | null) {
  const node = {
    version: process.version,
    isEnough: isNodeEnough(process.versions.node),
    needed: nodeNeeded,
  };
  if (database === null) return { node, files: [], server: "none" as const, freeBytes: null };
  return {
    node,
    files: [
      fileFact("directory", dirname(database)),
      fileFact("database", database),
      fileFact("token file", tokenFileOf(database)),
      fileFact("server file", serverFileOf(database)),
    ],
    server: serverOf(database),
    freeBytes: freeBytesAt(dirname(database)),
  };
}

function isNodeEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 20 || (major === 20 && minor >= 19);
}

function fileFact(what: "directory" | "database" | "token file" | "server file", path: string) {
  const found = statSync(path, { throwIfNoEntry: false });
  const mode = process.platform === "win32" ? 0 : (found?.mode ?? 0);
  const openTo =
    (mode & 0o022) !== 0
      ? ("writers" as const)
      : (mode & 0o044) !== 0
        ? ("readers" as const)
        : ("nobody" as const);
  const isOurs = process.getuid === undefined || found === undefined || found.uid === process.getuid();
  return { what, path, exists: found !== undefined, isOurs, openTo };
}

function serverOf(database: string): "none" | "runs" | "stale" | "not ours" {
  const path = serverFileOf(database);
  if (!existsSync(path)) return "none";
  if (findServer(database)) return "runs";
  try {
    const { pid, host, processStartedAt = null } = JSON.parse(readPrivate(path) ?? "null");
    if (host === hostId) return isAlive(pid, processStartedAt) ? "not ours" : "stale";
    // The same start of the machine: in another container it may well run. Else that start is over.
    return bootOf(host) === bootOf(hostId) ? "not ours" : "stale";
  } catch {
    return "not ours";
  }
}

const bootOf = (host: unknown) => String(host).split("/")[0];

function freeBytesAt(directory: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Secrets are their owner's alone; what others may read stays readable. */
export function protect(path: string, isSecret: boolean): void {
  const { mode } = statSync(path);
  chmodSync(path, isSecret ? 0o600 : mode & 0o7755);
}

/** It ran on this machine, since its last start, and does no longer. */
export function isGone({
  pid,
  host,
  processStartedAt,
}: {
  pid: number;
  host: string;
  processStartedAt?: string;
}): boolean {
  return host === hostId && !isAlive(pid, processStartedAt ?? null);
}
