// A file beside an embedded database tells local programs where its server is. It is believed only if it is ours, names loopback
// and a live process: what lies in a repository is not trusted.

import { hostId, isAlive, processStart } from "./liveness.js";
import { readPrivate, removePrivate, writePrivate } from "./private-file.js";

export interface ServerFile {
  url: string;
  pid: number;
  host: string;
  processStartedAt: string | null;
  startedAt: string;
  version: string;
  /** Of the store that the server has open. */
  storeId?: string | undefined;
  /** The store's own project, where the server was started for another: what commands mean that name none. */
  project?: string | undefined;
}

export const serverFileOf = (database: string) => `${database}.server.json`;
export const tokenFileOf = (database: string) => `${database}.token`;

export function announceServer(
  database: string,
  { url, version, storeId, project }: Pick<ServerFile, "url" | "version" | "storeId" | "project">,
): () => void {
  const path = serverFileOf(database);
  const startedAt = new Date().toISOString();
  const file: ServerFile = {
    url,
    pid: process.pid,
    host: hostId,
    processStartedAt: processStart(process.pid),
    startedAt,
    version,
    storeId,
    project,
  };
  writePrivate(path, `${JSON.stringify(file, null, 2)}\n`);
  return () => {
    // Another server may have announced itself since.
    if (readServerFile(path)?.pid === process.pid) removePrivate(path);
  };
}

/** The server that runs for this database, if one does. */
export function findServer(database: string): ServerFile | null {
  const found = readServerFile(serverFileOf(database));
  if (!found || found.host !== hostId || !isAlive(found.pid, found.processStartedAt)) return null;
  const loopback = /^http:\/\/(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|localhost|\[::1\]):\d+$/;
  return loopback.test(found.url) ? found : null;
}

function readServerFile(path: string): ServerFile | null {
  try {
    const found = JSON.parse(readPrivate(path) ?? "null");
    return typeof found?.url === "string" && Number.isInteger(found.pid) ? found : null;
  } catch {
    return null;
  }
}
