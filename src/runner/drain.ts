// The last output of processes that have ended.

import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** A process that left the group can keep the pipes open and write to them: after so many pauses with output it is left alone. */
const pausesMax = 10;

/** Waits until the streams are closed, or nothing more comes for a while. Somebody else reads them. */
export async function drain(
  streams: readonly NodeJS.ReadableStream[],
  closed: Promise<void>,
  quietMs: number,
): Promise<void> {
  let isClosed = false;
  const over = new AbortController();
  void closed.then(() => {
    isClosed = true;
    over.abort();
  });
  let chunks = 0;
  const count = () => {
    chunks++;
  };
  for (const stream of streams) stream.on("data", count);
  for (let pauses = 0; pauses < pausesMax && !isClosed; pauses++) {
    const before = chunks;
    await sleep(quietMs, undefined, { signal: over.signal }).catch(() => undefined);
    // This process may have been busy, so that the time is up and there was no chance to read: here is one.
    await nextTurn();
    await nextTurn();
    if (chunks === before) break;
  }
  over.abort();
  for (const stream of streams) stream.off("data", count);
}
