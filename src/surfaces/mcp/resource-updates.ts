// Reports changed resources to MCP clients. The start position is known before a subscription is acknowledged, and the
// last event seen is remembered, so no change is missed when the stream breaks or the store moves to another server.

import type { Dibs } from "../../client/client.js";
import { Ending, pause } from "../../common/abort.js";
import { asDibsError } from "./refusals.js";
import { changedBy, inboxUri, readyUri } from "./resources.js";

/** Opens the store, and opens it again when a connection failed. */
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

export class ResourceUpdates {
  private begun: Promise<void> | null = null;
  private after: number | undefined;
  private readonly changed = new Set<string>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly source: Source,
    private readonly signal: AbortSignal,
    private readonly listener: Listener,
  ) {}

  /** Resolves when the start position is known. The first call starts following. */
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
      // A store that is created later is followed from its first event.
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
    // After a broken stream this call also fails if the server is gone.
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

  /** Debounced: each resource at most once per interval. */
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
