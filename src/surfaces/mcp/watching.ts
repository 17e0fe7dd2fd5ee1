// Tells of changes of resources. Where it begins is settled before a subscription is acknowledged, and what was seen last is
// remembered: nothing is missed when the stream breaks, or when the server is gone and the store is found anew.

import type { Dibs } from "../../client/client.js";
import { Ending, pause } from "../../common/abort.js";
import { asDibsError } from "./refusals.js";
import { changedBy, inboxUri, readyUri } from "./resources.js";

/** Where the store is found, and told that it is there no longer. */
export interface Source {
  dibs(): Promise<Dibs>;
  reconnect(used: Promise<Dibs>): void;
}

export interface Listener {
  tell(uri: string): void;
  isWanted?(uri: string): boolean;
  onTrouble(error: unknown): void;
}

const gatherMs = 100;
const againMs = 500;

export class Watching {
  private begun: Promise<void> | null = null;
  private after: number | undefined;
  private readonly changed = new Set<string>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly source: Source,
    private readonly signal: AbortSignal,
    private readonly listener: Listener,
  ) {}

  /** Settled when nothing that happens from now on is missed; until the first call nothing is followed. */
  begin(): Promise<void> {
    this.begun ??= this.settle();
    return this.begun;
  }

  private async settle(): Promise<void> {
    await this.trying(async (dibs) => this.position(dibs));
    void this.keepOn();
  }

  private async keepOn(): Promise<void> {
    while (!this.signal.aborted) {
      await this.trying((dibs) => this.follow(dibs));
      await pause(againMs, this.signal);
    }
  }

  private async trying(act: (dibs: Dibs) => Promise<void>): Promise<void> {
    const opening = this.source.dibs();
    try {
      await act(await opening);
    } catch (error) {
      if (this.signal.aborted) return;
      const { code } = asDibsError(error);
      // A store that is created later has nothing in it before what happens then.
      if (code === "STORE_NOT_FOUND") {
        this.after ??= 0;
        return;
      }
      if (code === "STORE_UNAVAILABLE") this.source.reconnect(opening);
      this.listener.onTrouble(error);
    }
  }

  private async position(dibs: Dibs): Promise<void> {
    const { lastSeq } = await dibs.events.list({ limit: 1 });
    this.after ??= lastSeq;
  }

  private async follow(dibs: Dibs): Promise<void> {
    // After a stream that broke this also finds out whether the server is gone.
    await this.position(dibs);
    const stream = new Ending([this.signal]);
    try {
      const events = dibs.events.follow({
        after: this.after!,
        signal: stream.signal,
        onConnection: (state) => state === "lost" && stream.end(),
        onReset: () => this.note([inboxUri, readyUri]),
      });
      for await (const event of events) {
        this.note(changedBy(event));
        this.after = event.seq;
      }
    } finally {
      stream.end();
    }
  }

  /** Each resource once in a while, however much happens. */
  private note(uris: readonly string[]): void {
    const { isWanted = () => true } = this.listener;
    for (const uri of uris) if (isWanted(uri)) this.changed.add(uri);
    if (this.changed.size > 0) this.timer ??= setTimeout(() => this.flush(), gatherMs);
  }

  private flush(): void {
    this.timer = null;
    const uris = [...this.changed];
    this.changed.clear();
    for (const uri of uris) if (!this.signal.aborted) this.listener.tell(uri);
  }
}
