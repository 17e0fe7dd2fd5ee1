// One stream of events for all tabs of this browser. The tab that has the lock follows the server and tells the others; when it
// closes, the next one goes on where it was. Events are numbered without gaps, so every tab knows whether it missed one: then it is
// told to read everything anew. Where a browser has no locks (plain http from another machine), every tab follows by itself.

import { pause } from "../../../src/common/abort.js";
import { askStore, storeNow } from "./clock.js";
import type { DibsEvent as Event } from "./dibs.js";
import { dibs, isSignedOut, lastHeardAt } from "./dibs.js";

export type StreamState = "connecting" | "live" | "lost" | "signed-out";

export interface StreamStatus {
  state: StreamState;
  /** When it was lost: the last sign of life, by our own clock. */
  since: number;
  /** How many events came in late after the last reconnection; when, by the store's clock. */
  caughtUp: { count: number; at: number } | null;
}

type Message =
  | { kind: "event"; event: Event }
  | { kind: "reset" }
  | { kind: "status"; status: StreamStatus; seq: number | null }
  | { kind: "hello" }
  | { kind: "try" };

type EventListener = (event: Event) => void;

const lockName = "dibs-stream";
const againMs = 3_000;
const clockEveryMs = 60_000;

class SharedStream {
  status: StreamStatus = { state: "connecting", since: Date.now(), caughtUp: null };
  private seq: number | null = null;
  private leads = false;
  /** Ends what is tried now, and what is waited for before the next try. */
  private trying = new AbortController();
  private readonly channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(lockName) : null;
  private readonly onEvents = new Set<EventListener>();
  private readonly onResets = new Set<() => void>();
  private readonly onStatuses = new Set<() => void>();

  /** Notes where the log ends before anything is read, so that nothing is missed between reading and following. */
  async begin(): Promise<void> {
    try {
      this.seq = (await askStore()).lastSeq;
    } catch {
      // Signed out, or the server is away: the page says so when it asks for more.
    }
  }

  start(): void {
    setInterval(() => !document.hidden && askStore().catch(() => undefined), clockEveryMs);
    if (this.channel && navigator.locks) {
      this.channel.onmessage = ({ data }: MessageEvent<Message>) => this.hear(data);
      this.channel.postMessage({ kind: "hello" } satisfies Message);
      void navigator.locks.request(lockName, () => this.lead());
    } else void this.lead();
  }

  /** Not when the pause between two tries is over, but now. */
  tryNow(): void {
    if (this.leads) this.trying.abort();
    else this.channel?.postMessage({ kind: "try" } satisfies Message);
  }

  onEvent(listener: EventListener): () => void {
    return added(this.onEvents, listener);
  }

  /** What is known may be old: read it anew. */
  onReset(listener: () => void): () => void {
    return added(this.onResets, listener);
  }

  onStatus(listener: () => void): () => void {
    return added(this.onStatuses, listener);
  }

  private hear(message: Message): void {
    if (message.kind === "hello") {
      if (this.leads) this.tell({ kind: "status", status: this.status, seq: this.seq });
    } else if (message.kind === "try") {
      if (this.leads) this.tryNow();
    } else if (message.kind === "event") this.take(message.event);
    else if (message.kind === "reset") this.reset();
    else {
      if (this.seq !== null && message.seq !== null && message.seq > this.seq) this.reset();
      this.seq ??= message.seq;
      this.setStatus(message.status);
    }
  }

  private tell(message: Message): void {
    if (this.leads) this.channel?.postMessage(message);
  }

  /** Never ends: the lock is ours as long as the tab lives. */
  private async lead(): Promise<never> {
    this.leads = true;
    for (;;) {
      this.trying = new AbortController();
      const { signal } = this.trying;
      try {
        await this.follow(signal);
      } catch (error) {
        this.setStatus({
          ...this.status,
          state: isSignedOut(error) ? "signed-out" : "lost",
          since: lastHeardAt(),
        });
      }
      await pause(againMs, signal);
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const events = dibs.events.follow({
      project: "*",
      signal,
      ...(this.seq === null ? {} : { after: this.seq }),
      onConnection: (state) => void this.connection(state),
      onReset: ({ lastSeq }) => {
        this.seq = lastSeq;
        this.reset();
        this.tell({ kind: "reset" });
      },
    });
    for await (const event of events) {
      this.take(event);
      this.tell({ kind: "event", event });
    }
  }

  private async connection(state: "connected" | "lost"): Promise<void> {
    if (state === "lost") {
      const since = this.status.state === "lost" ? this.status.since : lastHeardAt();
      return this.setStatus({ ...this.status, state: "lost", since });
    }
    const before = this.seq;
    const wasLost = this.status.state === "lost";
    this.setStatus({ ...this.status, state: "live" });
    if (before === null || !wasLost) return;
    const { lastSeq } = await dibs.events.list({ project: "*", after: before, limit: 1 });
    const count = Math.max(0, lastSeq - before);
    this.setStatus({ ...this.status, caughtUp: { count, at: storeNow() } });
  }

  private take(event: Event): void {
    if (this.seq !== null && event.seq <= this.seq) return;
    const isNext = this.seq === null || event.seq === this.seq + 1;
    this.seq = event.seq;
    for (const listener of this.onEvents) listener(event);
    if (!isNext) this.reset();
  }

  private reset(): void {
    for (const listener of this.onResets) listener();
  }

  private setStatus(status: StreamStatus): void {
    this.status = status;
    this.tell({ kind: "status", status, seq: this.seq });
    for (const listener of this.onStatuses) listener();
  }
}

function added<T>(set: Set<T>, item: T): () => void {
  set.add(item);
  return () => set.delete(item);
}

export const stream = new SharedStream();
