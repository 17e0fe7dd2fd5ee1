// The store's time. Its clock decides about leases and may be another machine's, so it is asked now and then; between two answers
// our own goes on from there. An answer took some time, and nobody knows where on the way the clock was read: as much is corrected
// as is certain, and one that is right is left alone.

import { dibs } from "./dibs.js";

let skewMs = 0;

export const storeNow = () => Date.now() + skewMs;

/** The store said `at` between the two instants of our own clock. */
function heardTime(at: number, sent: number, received: number): void {
  skewMs = Math.max(at - received, Math.min(skewMs, at - sent));
}

/** Where the log ends, and what time it is. */
export async function askStore(): Promise<{ lastSeq: number }> {
  const sent = Date.now();
  const { lastSeq, now } = await dibs.events.list({ project: "*", limit: 1 });
  heardTime(Date.parse(now), sent, Date.now());
  return { lastSeq };
}
