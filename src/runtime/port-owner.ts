// Which server of Dibs has a port: servers of file stores write a file next to the database, and the stores of this user
// are recorded.

import { findServer } from "./server-file.js";
import { trustedStores } from "./trusted-stores.js";

export interface PortOwner {
  pid: number;
  database: string;
}

export function serverOnPort(port: number): PortOwner | null {
  for (const { path: database } of trustedStores()) {
    const server = findServer(database);
    if (server && Number(new URL(server.url).port) === port) return { pid: server.pid, database };
  }
  return null;
}
