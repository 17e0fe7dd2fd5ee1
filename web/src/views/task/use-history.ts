// The events of one task as they are known so far: pages from one end, and what the stream tells at the other.

import { useEffect, useState } from "react";
import { type DibsEvent, dibs } from "../../data/dibs.js";
import { stream } from "../../data/stream.js";
import { pageAfter, pageBefore, type ReadEvents } from "./history.js";

export type Order = "newest" | "oldest";

interface Known {
  /** Without gaps, in the order in which they happened. */
  events: readonly DibsEvent[];
  hasOlder: boolean;
  hasNewer: boolean;
  isBusy: boolean;
  error: unknown;
}

const pageSize = 60;

const nothing: Known = { events: [], hasOlder: false, hasNewer: false, isBusy: true, error: undefined };

class TaskHistory {
  known = nothing;
  private order: Order;
  private isClosed = false;
  /** Of several jobs the last one counts. */
  private jobs = 0;
  private heard: DibsEvent[] = [];

  constructor(
    private readonly read: ReadEvents,
    private readonly lastSeq: () => Promise<number>,
    private readonly tell: (known: Known) => void,
    order: Order,
  ) {
    this.order = order;
  }

  close(): void {
    this.isClosed = true;
  }

  /** From the end that comes first. What is known stays until there is an answer. */
  begin(): Promise<void> {
    const { order } = this;
    return this.work(async () => {
      const first = await pageAfter(this.read, 0, pageSize);
      if (first.isLast || order === "oldest") {
        return { events: first.events, hasOlder: false, hasNewer: !first.isLast };
      }
      const newest = await pageBefore(this.read, (await this.lastSeq()) + 1, pageSize);
      return { events: newest.events, hasOlder: !newest.isLast, hasNewer: false };
    });
  }

  setOrder(order: Order): void {
    if (order === this.order) return;
    this.order = order;
    const { hasOlder, hasNewer, isBusy } = this.known;
    if (hasOlder || hasNewer || isBusy) void this.begin();
  }

  /** The next page away from the end where reading began. */
  more(): Promise<void> {
    const { events, hasOlder, hasNewer } = this.known;
    return this.work(async () => {
      if (hasOlder) {
        const page = await pageBefore(this.read, events[0]!.seq, pageSize);
        return { events: [...page.events, ...this.known.events], hasOlder: !page.isLast, hasNewer };
      }
      const page = await pageAfter(this.read, this.lastKnown, pageSize);
      return { events: [...this.known.events, ...page.events], hasOlder, hasNewer: !page.isLast };
    });
  }

  hear(event: DibsEvent): void {
    this.heard.push(event);
    if (!this.known.isBusy) this.takeHeard();
  }

  private get lastKnown(): number {
    return this.known.events.at(-1)?.seq ?? 0;
  }

  private takeHeard(): void {
    const { lastKnown } = this;
    const fresh = this.known.hasNewer ? [] : this.heard.filter(({ seq }) => seq > lastKnown);
    this.heard = [];
    if (fresh.length > 0) this.set({ events: [...this.known.events, ...fresh] });
  }

  private async work(job: () => Promise<Pick<Known, "events" | "hasOlder" | "hasNewer">>): Promise<void> {
    const number = ++this.jobs;
    this.set({ isBusy: true });
    const change = await job().then(
      (found) => ({ ...found, error: undefined }),
      (error: unknown) => ({ error }),
    );
    if (number !== this.jobs) return;
    this.set({ ...change, isBusy: false });
    this.takeHeard();
  }

  private set(change: Partial<Known>): void {
    if (this.isClosed) return;
    this.known = { ...this.known, ...change };
    this.tell(this.known);
  }
}

export interface History extends Known {
  more: () => void;
  reload: () => void;
}

export function useHistory(project: string, taskId: string, order: Order): History {
  const [known, setKnown] = useState(nothing);
  const [history, setHistory] = useState<TaskHistory | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another order is told below, to the same history.
  useEffect(() => {
    const read: ReadEvents = async (after, limit) =>
      (await dibs.tasks.events({ project, taskId, after, limit })).events;
    const lastSeq = async () => (await dibs.events.list({ project, limit: 1 })).lastSeq;
    const own = new TaskHistory(read, lastSeq, setKnown, order);
    setHistory(own);
    void own.begin();
    const offs = [
      stream.onEvent((event) => {
        // That two tasks change the same files is one event for both.
        const isNamed = event.type === "task:overlap" && event.data.with === taskId;
        if (event.project === project && (event.taskId === taskId || isNamed)) own.hear(event);
      }),
      stream.onReset(() => void own.begin()),
    ];
    return () => {
      own.close();
      for (const off of offs) off();
    };
  }, [project, taskId]);

  useEffect(() => history?.setOrder(order), [history, order]);
  return { ...known, more: () => void history?.more(), reload: () => void history?.begin() };
}
