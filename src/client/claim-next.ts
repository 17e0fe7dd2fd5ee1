// Claims over HTTP. A wait can end while the server is granting a claim: nobody may give up before knowing. The key decides,
// in the store itself: whoever uses it first wins, the claim or the one who takes the wait back.

import { Ending, pause } from "../common/abort.js";
import { DibsError } from "../contract/error.js";
import type { Effort, HttpConnection } from "./http.js";
import { isOurs, newKey } from "./keys.js";

type Input = Record<string, unknown>;
type Performer = Pick<HttpConnection, "perform">;

interface ClaimOptions {
  key?: string | undefined;
  signal?: AbortSignal | undefined;
  batch?: boolean | undefined;
  closing: AbortSignal;
}

/** A wait that the server does not end by then is ended here; harmless if it comes too early. */
const slackMs = 5_000;
/** How long it may take to learn how a wait ended. */
const settleMs = 5_000;
/** A server needs a moment to notice that nobody listens any more. */
const noticeMs = 100;

export type ClaimName = "tasks.claimNext" | "tasks.claim";

export async function claimWaiting(
  http: Performer,
  name: ClaimName,
  input: Input,
  options: ClaimOptions,
): Promise<unknown> {
  const { key = newKey(), signal, closing, batch } = options;
  const waitMs = Number(input.waitMs ?? 0) || 0;
  const settling = { key, timeoutMs: settleMs, patienceMs: settleMs };
  // As in process: it looks once, and does not wait.
  if (signal?.aborted) return askOnce(http, name, input, settling);
  const wait = new Ending([signal, closing], waitMs > 0 ? waitMs + slackMs : undefined);
  const timeoutMs = waitMs > 0 ? waitMs + 2 * slackMs : undefined;
  try {
    return await http.perform(name, input, { key, signal: wait.signal, timeoutMs, batch });
  } catch (error) {
    if (!wait.isOver) throw error;
    if (isOurs(key)) return takeBack(http, name, input, settling);
    await pause(noticeMs, new AbortController().signal);
    return askOnce(http, name, input, settling);
  } finally {
    wait.release();
  }
}

/** Uses up the key for something harmless: from then on the wait cannot be granted anything under it. */
async function takeBack(http: Performer, name: ClaimName, input: Input, effort: Effort): Promise<unknown> {
  const { sessionId, project } = input;
  try {
    await http.perform("sessions.heartbeat", { sessionId, project }, effort);
  } catch (error) {
    if (hasCode(error, "IDEMPOTENCY_MISMATCH")) return http.perform(name, input, effort);
    // Who is unknown holds nothing.
    if (!hasCode(error, "SESSION_NOT_FOUND")) throw error;
  }
  if (name === "tasks.claimNext") return { success: true, claim: null, task: null, resumed: false };
  throw new DibsError("TASK_NOT_CLAIMABLE", `The wait for task ${input.taskId} was ended.`);
}

/**
 * A key of the caller's must stay good for another try, so it is asked under it again, without waiting. What a slow server
 * grants even later is not lost either: it is the answer to the next call with that key.
 */
async function askOnce(http: Performer, name: ClaimName, input: Input, effort: Effort): Promise<unknown> {
  return http.perform(name, { ...input, waitMs: 0 }, effort);
}

function hasCode(error: unknown, code: DibsError["code"]): boolean {
  return error instanceof DibsError && error.code === code;
}
