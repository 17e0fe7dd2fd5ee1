// The same inside of a server: it tells the log, which never has an id or a text of a task; conflicts are in a file of their own.

import type { Logger } from "../../runtime/log.js";
import { needsAttention } from "./report.js";
import { type SyncOptions, startSync } from "./sync.js";

export interface Served extends Omit<SyncOptions, "tell"> {
  log: Logger;
}

/** Returns how to end it, with everything written. */
export async function keepInStep({ log, ...options }: Served): Promise<() => Promise<unknown>> {
  const { file } = options;
  const tell: SyncOptions["tell"] = (news) => {
    const isOfFile = ["broken", "whole", "trouble"].includes(news.what);
    log[needsAttention(news) ? "warn" : "debug"]({ sync: file }, isOfFile ? news.message : news.what);
  };
  const sync = await startSync({ ...options, tell });
  sync.ended.catch((error: Error) => log.error({ sync: file, error: error.message }, "sync ended"));
  return () => sync.stop().catch(() => undefined);
}
