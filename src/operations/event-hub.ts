// Live events for many readers: one follower per org reads the log once, renders each event once and keeps the last ones in a
// ring. Readers pull from the ring at their own pace, and from the store when they are further behind: nobody is buffered for.

import { Wake } from "../common/wake.js";
import type { DibsEvent, EventType } from "../core/event.js";
import type { Store } from "../store/store.js";
import { followEvents, type LogEnds } from "./event-feed.js";

export interface ReaderOptions {
  /** Number of the last event already seen. */
  after: number;
  project: string | null;
  taskId?: string | undefined;
  types?: readonly EventType[] | undefined;
  signal: AbortSignal;
}

/** The newest events, at most so many and so long together. */
const ringMax = { events: 4_096, size: 8 * 1024 * 1024 };
/** One batch is what a reader holds in its hands: at most so many, and no more once they are so long. */
const batchMax = { events: 256, size: 64 * 1024 };
const safetyMs = 5_000;
/** How long a follower stays when the last reader has left: most of them come back. */
const lingerMs = 5_000;

interface Sized {
  readonly length: number;
}

export class EventHub<T extends Sized> {
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

  /** An endless, exact sequence of batches; it fails rather than leave something out. */
  async *read(org: string, options: ReaderOptions): AsyncGenerator<T[], void, undefined> {
    const { signal } = options;
    const tail = this.tailOf(org);
    const wake = new Wake();
    const onAbort = () => wake.ring();
    tail.join(wake);
    signal.addEventListener("abort", onAbort);
    let { after } = options;
    let limit = batchMax.events;
    try {
      while (!signal.aborted) {
        wake.arm();
        const found = tail.after(after, options) ?? (await this.page(org, after, limit, options));
        after = found.after;
        // Long events are not read in vain, to be cut off the batch again.
        limit = found.isCut ? found.batch.length : Math.min(limit * 2, batchMax.events);
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

  private async page(org: string, after: number, limit: number, filter: ReaderOptions): Promise<Found<T>> {
    const { project, taskId, types } = filter;
    const { page, end, first } = await this.store.read(org, (view) => ({
      page: view.events({ after, limit, project, taskId, types }),
      end: view.org().eventSeq,
      first: view.org().eventMin,
    }));
    // Archived while a slow reader was on its way; the reader comes back and is told.
    if (after + 1 < first) throw new Error(`events after ${after} are no longer kept`);
    const batch = new Batch<T>();
    for (const event of page) {
      if (batch.isFull) break;
      batch.add(this.render(event));
      after = event.seq;
    }
    const isCut = batch.items.length < page.length;
    const isEnd = !isCut && page.length < limit;
    return { batch: batch.items, after: isEnd ? Math.max(after, end) : after, isEnd, isCut };
  }
}

interface Found<T> {
  batch: T[];
  after: number;
  isEnd: boolean;
  /** There was more than one batch may hold. */
  isCut: boolean;
}

class Batch<T extends Sized> {
  readonly items: T[] = [];
  private size = 0;

  get isFull(): boolean {
    return this.items.length >= batchMax.events || this.size >= batchMax.size;
  }

  add(item: T): void {
    this.items.push(item);
    this.size += item.length;
  }
}

/** What filters look at, and what is sent. */
interface Kept<T> extends Pick<DibsEvent, "project" | "taskId" | "type"> {
  rendered: T;
}

class Tail<T extends Sized> {
  /** The newest events from `first` to `last`, without a gap, at `seq % ringMax.events`; none if `first` is above `last`. */
  private readonly ring: (Kept<T> | undefined)[] = [];
  private size = 0;
  private first = 0;
  /** -1: not known yet where the log ends. */
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

  /** A follower that fails starts again where it was. */
  private async follow(store: Store, org: string): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        if (this.last < 0) this.begin(await store.read(org, (view) => view.org().eventSeq));
        for await (const event of followEvents(store, org, { after: this.last, project: null, signal }))
          this.push(event);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 500).unref());
      }
    }
  }

  /** Readers that looked earlier than this, and would wait for what has come in between, look again. */
  private begin(end: number): void {
    this.last = end;
    this.first = end + 1;
    this.ringSoon();
  }

  private push(event: DibsEvent): void {
    const { seq, project, taskId, type } = event;
    if (seq !== this.last + 1) this.dropBelow(seq);
    this.last = seq;
    this.dropBelow(seq - ringMax.events + 1);
    const rendered = this.render(event);
    this.ring[seq % ringMax.events] = { project, taskId, type, rendered };
    this.size += rendered.length;
    while (this.size > ringMax.size && this.first < seq) this.dropBelow(this.first + 1);
    this.ringSoon();
  }

  private dropBelow(seq: number): void {
    for (; this.first < seq && this.first <= this.last; this.first++) {
      const at = this.first % ringMax.events;
      this.size -= this.ring[at]?.rendered.length ?? 0;
      this.ring[at] = undefined;
    }
    this.first = Math.max(this.first, seq);
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
    const batch = new Batch<T>();
    let seq = after;
    while (seq < this.last && !batch.isFull) {
      const event = this.ring[++seq % ringMax.events]!;
      if (project !== null && event.project !== project) continue;
      if (taskId !== undefined && event.taskId !== taskId) continue;
      if (types && !types.includes(event.type)) continue;
      batch.add(event.rendered);
    }
    return { batch: batch.items, after: seq, isEnd: seq === this.last, isCut: false };
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
