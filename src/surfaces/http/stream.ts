// Events over server-sent events. A reader pulls batches at the pace of its socket; one that does not read for a while is cut off
// and comes back with the number of the last event it saw. Nothing is buffered beyond one batch and the socket's own buffer.

import type { ServerResponse } from "node:http";
import { DibsError } from "../../contract/error.js";
import type { WireEvent } from "../../contract/shapes.js";
import type { Caller } from "../../operations/environment.js";
import { type LogEnds, resumeFrom } from "../../operations/event-feed.js";
import type { EventHub, ReaderOptions } from "../../operations/event-hub.js";
import { type NodeExchange, onDisconnect } from "./disconnects.js";

export interface StreamLimits {
  commentMs: number;
  /** A reader whose socket takes nothing for this long is cut off. */
  stallMs: number;
  /** What readers are told to wait before they come back. */
  retryMs: number;
}

export const streamLimits: StreamLimits = { commentMs: 15_000, stallMs: 30_000, retryMs: 1_000 };

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

export function frame(event: WireEvent): string {
  return `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
}

export interface StreamRequest {
  caller: Caller;
  /** Absent: from now on. */
  after: number | undefined;
  filter: Pick<ReaderOptions, "project" | "taskId" | "types">;
  headers: Readonly<Record<string, string>>;
  onEnd: () => void;
}

export class Streams {
  private readonly open = new Set<Stream>();
  private readonly ticking: NodeJS.Timeout;
  private closed = false;

  constructor(
    private readonly hub: EventHub<string>,
    /** Whether a caller is still welcome: tokens can be revoked while a stream is open. */
    private readonly isWelcome: (caller: Caller) => Promise<boolean>,
    private readonly limits: StreamLimits,
  ) {
    this.ticking = setInterval(() => void this.look(), limits.commentMs).unref();
  }

  count(org: string): number {
    let count = 0;
    for (const stream of this.open) if (stream.caller.org === org) count++;
    return count;
  }

  async start(exchange: NodeExchange, request: StreamRequest): Promise<void> {
    const { outgoing } = exchange;
    const ends = await this.hub.ends(request.caller.org).catch((error: unknown) => {
      request.onEnd();
      throw error;
    });
    if (this.closed || outgoing.destroyed) {
      request.onEnd();
      outgoing.destroy();
      return;
    }
    const stream = new Stream(outgoing, request.caller, this.limits);
    this.open.add(stream);
    stream.closed.then(() => {
      this.open.delete(stream);
      request.onEnd();
    });
    outgoing.writeHead(200, { ...request.headers, ...headers });
    const begin = beginning(request.after, ends);
    stream.write(`retry: ${this.limits.retryMs}\n: ready ${ends.lastSeq}\n\n${begin.text}`);
    const { signal } = stream;
    void this.pump(
      stream,
      this.hub.read(request.caller.org, { ...request.filter, after: begin.after, signal }),
    );
    onDisconnect(exchange, () => stream.end());
  }

  private async pump(stream: Stream, batches: AsyncIterable<string[]>): Promise<void> {
    try {
      for await (const batch of batches) {
        if (!stream.write(batch.join(""))) await stream.drained();
      }
    } catch {
      // The log cannot be read now; the reader comes back and resumes.
    }
    stream.end();
  }

  /** Says that we are here; and ends the streams of those who may no longer read. */
  async look(): Promise<void> {
    const welcome = new Map<string, Promise<boolean>>();
    for (const stream of [...this.open]) {
      const { caller } = stream;
      const key = `${caller.org}/${caller.token}`;
      if (!welcome.has(key))
        welcome.set(
          key,
          this.isWelcome(caller).catch(() => true),
        );
      if (await welcome.get(key)) stream.comment();
      else stream.end();
    }
  }

  /** Readers are told to come back: by then another server, or this one again, is there. */
  close(): void {
    this.closed = true;
    clearInterval(this.ticking);
    for (const stream of this.open) stream.end();
    this.hub.close();
  }
}

function beginning(after: number | undefined, ends: LogEnds): { after: number; text: string } {
  if (after === undefined) return { after: ends.lastSeq, text: "" };
  const from = resumeFrom(after, ends);
  if (from === after) return { after, text: "" };
  return { after: from, text: `id: ${from}\ndata: ${JSON.stringify({ type: "reset", data: ends })}\n\n` };
}

class Stream {
  private readonly ending = new AbortController();
  readonly signal = this.ending.signal;
  readonly closed: Promise<void>;

  constructor(
    private readonly outgoing: ServerResponse,
    readonly caller: Caller,
    private readonly limits: StreamLimits,
  ) {
    this.closed = new Promise((resolve) => {
      outgoing.once("close", () => {
        this.ending.abort();
        resolve();
      });
    });
    outgoing.on("error", () => outgoing.destroy());
  }

  write(text: string): boolean {
    return this.outgoing.write(text);
  }

  comment(): void {
    if (!this.outgoing.writableNeedDrain) this.outgoing.write(":\n\n");
  }

  async drained(): Promise<void> {
    if (!this.outgoing.writableNeedDrain || this.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.outgoing.off("drain", done);
        this.signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(() => this.outgoing.destroy(), this.limits.stallMs);
      this.outgoing.on("drain", done);
      this.signal.addEventListener("abort", done);
    });
  }

  end(): void {
    this.ending.abort();
    if (this.outgoing.writableNeedDrain) this.outgoing.destroy();
    else this.outgoing.end();
  }
}

/** The number after which a stream goes on: a reader that comes back says so in a header, whatever its address says. */
export function resumeAfter(lastEventId: string | undefined, after: string | undefined): number | undefined {
  const text = lastEventId !== undefined && lastEventId !== "" ? lastEventId : after;
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new DibsError("VALIDATION_FAILED", "after and Last-Event-ID must be the number of an event.", {
    details: { issues: [{ path: "after", message: "must be a whole number" }] },
  });
}
