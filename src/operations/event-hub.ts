// Live events for many readers: one follower per org reads the log once, renders each event once and keeps the last ones in a
// ring. Readers pull from the ring at their own pace, and from the store when they are further behind: nobody is buffered for.

import type { DibsEvent, EventType } from "../core/event.js";
import { limits } from "../core/limits.js";
import type { Store } from "../store/store.js";
import { followEvents, Wake } from "./event-feed.js";

export interface ReaderOptions {
  /** Number of the last event already seen. */
  after: number;
  project: string | null;
  taskId?: string | undefined;
  types?: readonly EventType[] | undefined;
  signal: AbortSignal;
}

/** Where an org's log begins and ends. */
export interface LogEnds {
  firstAvailable: number;
  lastSeq: number;
}

const ringMax = 4_096;
/** One batch is what a reader holds in its hands. */
const batchMax = 256;
const safetyMs = 5_000;
/** How long a follower stays when the last reader has left: most of them come back. */
const lingerMs = 5_000;

export class EventHub<T> {
  private readonly tails = new Map<string, Tail<T>>();

  constructor(
    private readonly store: Store,
    private readonly render: (event: DibsEvent) => T,
  ) {}

  ends(org: string): Promise<LogEnds> {
    return this.store.read(org, (view) => {
      const { eventMin, eventSeq } = view.org();
      return { firstAvailable: eventMin, lastSeq: eventSeq };
    });
  }

  /** An endless, exact sequence of batches. */
  async *read(org: string, options: ReaderOptions): AsyncGenerator<T[], void, undefined> {
    const { signal } = options;
    const tail = this.tailOf(org);
    const wake = new Wake();
    const onAbort = () => wake.ring();
    tail.join(wake);
    signal.addEventListener("abort", onAbort);
    let { after } = options;
    try {
      while (!signal.aborted) {
        wake.arm();
        const found = tail.after(after, options) ?? (await this.page(org, after, options));
        after = found.after;
        if (found.batch.length > 0) yield found.batch;
        else if (found.isEnd) await wake.wait(safetyMs);
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      tail.leave(wake, () => this.tails.delete(org));
    }
  }

  close(): void {
    for (const tail of this.tails.values()) tail.stop();
    this.tails.clear();
  }

  private tailOf(org: string): Tail<T> {
    let tail = this.tails.get(org);
    if (!tail) {
      tail = new Tail(this.store, org, this.render);
      this.tails.set(org, tail);
    }
    return tail;
  }

  private async page(org: string, after: number, filter: ReaderOptions): Promise<Found<T>> {
    const { project, taskId, types } = filter;
    const limit = Math.min(batchMax, limits.pageMax);
    const { page, end } = await this.store.read(org, (view) => ({
      page: view.events({ after, limit, project, taskId, types }),
      end: view.org().eventSeq,
    }));
    const isEnd = page.length < limit;
    const last = page.at(-1)?.seq ?? after;
    return { batch: page.map(this.render), after: isEnd ? Math.max(after, end) : last, isEnd };
  }
}

interface Found<T> {
  batch: T[];
  after: number;
  isEnd: boolean;
}

class Tail<T> {
  /** The newest events, without a gap, at `seq % ringMax`. */
  private readonly ring: { event: DibsEvent; rendered: T }[] = [];
  private first = 0;
  private last = -1;
  private readonly readers = new Set<Wake>();
  private readonly stopping = new AbortController();
  private ringing = false;
  private lingering: NodeJS.Timeout | null = null;

  constructor(
    store: Store,
    org: string,
    private readonly render: (event: DibsEvent) => T,
  ) {
    void this.follow(store, org);
  }

  /** A follower that fails starts again: readers look into the store now and then anyway. */
  private async follow(store: Store, org: string): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        const after = this.last < 0 ? undefined : this.last;
        for await (const event of followEvents(store, org, { after, project: null, signal }))
          this.push(event);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 500).unref());
      }
    }
  }

  private push(event: DibsEvent): void {
    if (this.last < 0 || event.seq !== this.last + 1) this.first = event.seq;
    this.last = event.seq;
    this.first = Math.max(this.first, event.seq - ringMax + 1);
    this.ring[event.seq % ringMax] = { event, rendered: this.render(event) };
    this.ringSoon();
  }

  /** Once for all events of a commit. */
  private ringSoon(): void {
    if (this.ringing) return;
    this.ringing = true;
    setImmediate(() => {
      this.ringing = false;
      for (const reader of this.readers) reader.ring();
    });
  }

  /** What follows, if the ring reaches that far back. */
  after(after: number, { project, taskId, types }: ReaderOptions): Found<T> | null {
    if (this.last < 0 || after + 1 < this.first || after > this.last) return null;
    const batch: T[] = [];
    let seq = after;
    while (seq < this.last && batch.length < batchMax) {
      const { event, rendered } = this.ring[++seq % ringMax]!;
      if (project !== null && event.project !== project) continue;
      if (taskId !== undefined && event.taskId !== taskId) continue;
      if (types && !types.includes(event.type)) continue;
      batch.push(rendered);
    }
    return { batch, after: seq, isEnd: seq === this.last };
  }

  join(reader: Wake): void {
    if (this.lingering) clearTimeout(this.lingering);
    this.lingering = null;
    this.readers.add(reader);
  }

  leave(reader: Wake, whenEmpty: () => void): void {
    this.readers.delete(reader);
    if (this.readers.size > 0 || this.stopping.signal.aborted) return;
    this.lingering = setTimeout(() => {
      whenEmpty();
      this.stop();
    }, lingerMs).unref();
  }

  stop(): void {
    if (this.lingering) clearTimeout(this.lingering);
    this.stopping.abort();
  }
}
