// Follows a server's event stream: reconnects after a loss and continues after the last event seen, without gaps or
// duplicates. Nothing is buffered: an event is read from the socket when the caller asks for it.

import { Ending, onAbort, pause, within } from "../common/abort.js";
import { backoffMs } from "../common/retry.js";
import { DibsError } from "../contract/error.js";
import type { WireEvent } from "../contract/shapes.js";
import type { FollowOptions, LogEnds } from "./client.js";
import type { HttpOptions } from "./http.js";
import { type SseItem, SseParser } from "./sse.js";
import { closedError, fetchOptions, headersFor, lost, queryOf, refusalIn, Trouble } from "./wire.js";

const pauseMsMax = 30_000;

export function follow(
  options: HttpOptions,
  filter: FollowOptions,
  closing: AbortSignal,
): AsyncGenerator<WireEvent, void, undefined> {
  const isClosed = closing.aborted;
  const following = new Following(options, filter, new Ending([filter.signal, closing]));
  const events = eventsOf(following, isClosed);
  return Object.assign(Object.create(events) as typeof events, {
    next: () => {
      following.isWanted = true;
      return events.next();
    },
    // Also while an event is awaited, and before the first was asked for.
    return: (value: undefined) => {
      following.end();
      return events.return(value);
    },
    throw: (error: unknown) => {
      following.end();
      return events.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  });
}

async function* eventsOf(
  following: Following,
  isClosed: boolean,
): AsyncGenerator<WireEvent, void, undefined> {
  if (isClosed) throw closedError();
  try {
    for (;;) {
      const event = await following.next();
      if (event === null) return;
      yield event;
    }
  } finally {
    following.end();
  }
}

type Message = WireEvent | { type: "reset"; data: LogEnds };

class Following {
  /** The caller has asked for an event. */
  isWanted = false;
  /** Number of the last event seen; undefined until the server has named the start position. */
  private after: number | undefined;
  private opening: Promise<StreamConnection | null> | null = null;
  private connection: StreamConnection | null = null;
  private hasBeenConnected = false;
  private failures = 0;
  private baseMs: number;

  constructor(
    private readonly options: HttpOptions,
    private readonly filter: FollowOptions,
    private readonly ending: Ending,
  ) {
    this.baseMs = options.retry.baseMs;
    this.after = filter.after;
    // The call itself fixes the start position, not the first `next`.
    if (this.after === undefined && !ending.isOver) {
      this.opening = this.connect().then((connection) => this.keptIfWanted(connection));
      this.opening.catch(() => undefined);
    }
  }

  end(): void {
    this.ending.end();
    this.connection?.close();
  }

  async next(): Promise<WireEvent | null> {
    for (;;) {
      const message = await this.nextMessage();
      if (message === null) return null;
      if (message.type === "reset") this.filter.onReset?.(message.data);
      else return message;
    }
  }

  private async nextMessage(): Promise<Message | null> {
    while (!this.ending.isOver) {
      try {
        this.connection ??= await this.take();
        const item = await this.connection.read();
        const message = item === null ? null : this.understood(item);
        if (message) return message;
        if (item !== null) continue;
        await this.pauseAfter(null);
      } catch (error) {
        if (this.ending.isOver) return null;
        if (!(error instanceof Trouble)) throw error;
        await this.pauseAfter(error);
      }
    }
    return null;
  }

  private async take(): Promise<StreamConnection> {
    const opened = this.opening;
    this.opening = null;
    return (await opened) ?? this.connect();
  }

  private async connect(): Promise<StreamConnection> {
    const { project, taskId, types } = this.filter;
    const { url } = this.options;
    const address = `${url}/api/events/stream${queryOf({ after: this.after, project, taskId, types })}`;
    const resumed = this.hasBeenConnected && this.after !== undefined;
    const connection = await StreamConnection.open(this.options, address, this.ending.signal, {
      ...headersFor(this.options),
      accept: "text/event-stream",
      ...(resumed ? { "last-event-id": String(this.after) } : {}),
    });
    try {
      while (this.after === undefined) {
        const item = await connection.read();
        if (item === null) throw lost(url, new Error("the stream ended at once"));
        if (item.kind === "message") throw lost(url, new Error("the stream does not say where it begins"));
        this.understood(item);
      }
    } catch (error) {
      connection.close();
      throw error;
    }
    this.hasBeenConnected = true;
    this.filter.onConnection?.("connected");
    return connection;
  }

  /** An unread stream would fill its buffers; its start position is enough. */
  private keptIfWanted(connection: StreamConnection): StreamConnection | null {
    if (this.isWanted) return connection;
    connection.close();
    return null;
  }

  private understood(item: SseItem): Message | null {
    this.failures = 0;
    switch (item.kind) {
      case "retry":
        this.baseMs = Math.min(item.ms, pauseMsMax);
        return null;
      case "comment":
        if (item.text.startsWith("ready ")) this.after ??= Number(item.text.slice(6));
        return null;
      case "message":
        return this.fresh(item.id, item.data);
    }
  }

  /** Null if it was seen before. */
  private fresh(id: string | null, data: string): Message | null {
    const number = id !== null && /^\d+$/.test(id) ? Number(id) : null;
    const message = data === "" ? null : parsed(data, this.options.url);
    if (message === null) this.after = Math.max(this.after ?? 0, number ?? 0);
    else if (message.type === "reset") this.after = number ?? message.data.lastSeq;
    else if (message.seq <= (this.after ?? 0)) return null;
    else this.after = message.seq;
    return message;
  }

  private async pauseAfter(trouble: Trouble | null): Promise<void> {
    this.connection?.close();
    this.connection = null;
    this.filter.onConnection?.("lost");
    const ms = backoffMs(this.baseMs, this.failures++, pauseMsMax);
    await pause(Math.max(ms, Math.min(trouble?.waitMs ?? 0, pauseMsMax)), this.ending.signal);
  }
}

function parsed(data: string, url: string): Message {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw lost(url, error);
  }
}

/** One connection. */
class StreamConnection {
  private readonly parser = new SseParser();
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private items: Iterator<SseItem> | null = null;

  private constructor(
    private readonly options: HttpOptions,
    response: Response,
    private readonly ending: Ending,
  ) {
    this.reader = response.body!.getReader();
    // Node follows the signal of a fetch through a weak reference: once that is collected, only this ends the connection.
    onAbort(ending.signal, () => void this.reader.cancel().catch(() => undefined));
  }

  static async open(
    options: HttpOptions,
    address: string,
    signal: AbortSignal,
    headers: Record<string, string>,
  ): Promise<StreamConnection> {
    const ending = new Ending([signal]);
    const limit = new Ending([ending.signal], options.timeoutMs);
    limit.signal.addEventListener("abort", () => ending.end());
    try {
      const init = { headers, ...fetchOptions(options), signal: ending.signal };
      const response = await within(ending.signal, options.fetch(address, init));
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
      if (!response.ok || !isStream || !response.body) throw await refusalIn(options.url, response);
      return new StreamConnection(options, response, ending);
    } catch (error) {
      ending.end();
      if (error instanceof DibsError || error instanceof Trouble) throw error;
      throw lost(options.url, limit.isLate ? limit.signal.reason : error);
    } finally {
      limit.release();
    }
  }

  /** Null at its end. */
  async read(): Promise<SseItem | null> {
    for (;;) {
      const item = this.items?.next();
      if (item && !item.done) return item.value;
      const bytes = await this.chunk();
      if (bytes === null) return null;
      this.items = this.parser.feed(bytes);
    }
  }

  private async chunk(): Promise<Uint8Array | null> {
    const { silenceMs, url } = this.options;
    const silence = setTimeout(() => this.ending.end(), silenceMs);
    try {
      const { done, value } = await this.reader.read();
      return done ? null : value;
    } catch (error) {
      throw lost(url, error);
    } finally {
      clearTimeout(silence);
    }
  }

  close(): void {
    this.ending.end();
  }
}
