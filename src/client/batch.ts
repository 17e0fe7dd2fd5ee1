// Calls of one turn of the event loop as one request (calls.many). A call that is alone in its turn, too large, or that the server
// does not take from a batch is sent as itself, so nothing but the number of requests depends on batching.

import { onAbort } from "../common/abort.js";
import { manyMax } from "../contract/calls/many.js";
import type { Reply } from "./wire.js";

/** In characters of JSON: larger calls gain nothing, and a request must stay below what a server reads. */
const largeCall = 64 * 1024;
const requestMax = 512 * 1024;
/** Refusals of the whole request that say nothing about each call. */
const aboutAll = [401, 403, 408, 429];

export interface Part {
  /** Its JSON as one of many calls. */
  text: () => string;
  /** About how long that is. */
  size: number;
  sendAlone: (signal: AbortSignal) => Promise<Reply>;
}

interface Waiting extends Part {
  signal: AbortSignal;
  resolve: (reply: Reply | Promise<Reply>) => void;
  reject: (error: unknown) => void;
}

type Later = (run: () => void) => void;
const { setImmediate: atEndOfTurn = (run) => setTimeout(run, 0) } = globalThis as { setImmediate?: Later };

export class Batch {
  private waiting: Waiting[] = [];
  /** A server of an earlier version. */
  private isUnknown = false;

  constructor(private readonly sendMany: (body: string, signal: AbortSignal) => Promise<Reply>) {}

  add(part: Part, signal: AbortSignal): Promise<Reply> {
    if (this.isUnknown || part.size > largeCall) return part.sendAlone(signal);
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) atEndOfTurn(() => this.flush());
      this.waiting.push({ ...part, signal, resolve, reject });
    });
  }

  private flush(): void {
    // Who has aborted is not listening any more.
    const parts = this.waiting.filter(({ signal }) => !signal.aborted);
    this.waiting = [];
    while (parts.length > 0) {
      let size = 0;
      let count = 0;
      while (count < parts.length && count < manyMax && size + parts[count]!.size <= requestMax)
        size += parts[count++]!.size;
      const some = parts.splice(0, count);
      if (some.length === 1) sendAlone(some[0]!);
      else void this.send(some);
    }
  }

  private async send(parts: Waiting[]): Promise<void> {
    const leaving = new AbortController();
    let left = parts.length;
    const releases = parts.map(({ signal }) =>
      onAbort(signal, () => {
        left--;
        if (left === 0) leaving.abort(signal.reason);
      }),
    );
    try {
      const body = `{"calls":[${parts.map(({ text }) => text()).join(",")}]}`;
      const reply = await this.sendMany(body, leaving.signal);
      const answers = answersIn(reply, parts.length);
      const isRefused = reply.status >= 400 && reply.status < 500 && !aboutAll.includes(reply.status);
      this.isUnknown ||= reply.status === 404;
      for (const [index, part] of parts.entries()) {
        if (answers) part.resolve(replyOf(answers[index]!));
        // One of the calls spoilt the request: the others must not suffer for it.
        else if (isRefused) sendAlone(part);
        else part.resolve(reply.status < 300 ? { ...reply, value: undefined } : reply);
      }
    } catch (error) {
      for (const { reject } of parts) reject(error);
    } finally {
      for (const release of releases) release();
    }
  }
}

function sendAlone({ sendAlone: send, signal, resolve }: Waiting): void {
  resolve(send(signal));
}

type Answer = { success?: unknown; status?: unknown };

function answersIn({ status, value }: Reply, count: number): Answer[] | null {
  const { answers } = (value ?? {}) as { answers?: unknown };
  return status === 200 && Array.isArray(answers) && answers.length === count ? answers : null;
}

/** What a server asks for in a header when the call is alone. */
const retryAfterMs = 1_000;

function replyOf(answer: Answer): Reply {
  if (answer.success !== false) return { status: 200, value: answer, retryAfterMs: null };
  const status = typeof answer.status === "number" ? answer.status : 500;
  return { status, value: answer, retryAfterMs: status === 429 || status === 503 ? retryAfterMs : null };
}
