// A connection for long-running commands. If a discovered server stops, discovery runs again, as at the start of a command,
// and finds another server or the store itself. Calls are repeated there with the same idempotency key, so that they take
// effect once; events continue after the last one seen.

import {
  type CallOptions,
  type Connection,
  createClient,
  type Dibs,
  type FollowOptions,
  type LogEnds,
} from "../../client/client.js";
import { newKey } from "../../client/keys.js";
import { Ending, pause } from "../../common/abort.js";
import { backoffMs } from "../../common/retry.js";
import { DibsError } from "../../contract/error.js";
import { type OperationName, operations } from "../../contract/registry.js";
import type { WireEvent } from "../../contract/shapes.js";
import { type Flags, openTarget, type Target, targetFor } from "./connection.js";
import type { Parts } from "./parts.js";

/** How long a call waits for a server that is still announced but does not answer. */
const patienceMs = 10_000;
const waitMs = { base: 250, max: 2_000 };
/** Few retries: discovery is faster. */
const retry = { tries: 2, baseMs: 100 };

/** Only a discovered server can be replaced: a named server is meant as such, and a store does not go away. */
export async function reconnectingConnection(flags: Flags, parts: Parts): Promise<Dibs> {
  const target = await targetFor(flags, parts);
  if (!isFound(target)) return openTarget(target, flags, parts);
  const way = { target, dibs: await openTarget(target, flags, parts, { retry }) };
  return createClient(new ReconnectingConnection(flags, parts, way));
}

const isFound = (target: Target) => "server" in target && !target.isNamed;

interface Way {
  target: Target;
  dibs: Dibs;
}

class ReconnectingConnection implements Connection {
  readonly process = {};
  readonly newKey = newKey;
  private readonly closing = new AbortController();
  private readonly left = new Set<Promise<void>>();
  private discovery: Promise<void> | null = null;

  constructor(
    private readonly flags: Flags,
    private readonly parts: Parts,
    private way: Way,
  ) {}

  async call(name: OperationName, input: unknown, options: CallOptions): Promise<unknown> {
    const once = isFound(this.way.target) ? { ...options, ...keyFor(name, options) } : options;
    let until = Number.POSITIVE_INFINITY;
    for (let failures = 0; ; failures++) {
      const { way } = this;
      try {
        return await perform(way.dibs, name, input, once);
      } catch (error) {
        if (options.signal?.aborted) throw error;
        if (await this.isElsewhere(way, error)) continue;
        const ms = backoffMs(waitMs.base, failures, waitMs.max);
        until = Math.min(until, performance.now() + patienceMs);
        if (!isUnanswered(way, error) || performance.now() + ms > until) throw error;
        await this.pause(ms, options.signal, error);
      }
    }
  }

  follow(options: FollowOptions): AsyncGenerator<WireEvent, void, undefined> {
    const ending = new Ending([options.signal, this.closing.signal]);
    // The call itself fixes the start position, also for a later server.
    const begin = options.after === undefined ? this.lastSeq(options) : Promise.resolve(options.after);
    begin.catch(() => undefined);
    const events = this.events(options, begin, ending);
    const end = events.return.bind(events);
    // Also while an event is awaited.
    events.return = (value) => {
      ending.end();
      return end(value);
    };
    return events;
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.discovery;
    await Promise.all([this.way.dibs.close(), ...this.left]);
  }

  private async lastSeq({ project, signal }: FollowOptions): Promise<number> {
    const input = { limit: 1, ...(project === undefined ? {} : { project }) };
    const page = await this.call("events.list", input, signal ? { signal } : {});
    return (page as LogEnds).lastSeq;
  }

  private async *events(options: FollowOptions, begin: Promise<number>, ending: Ending) {
    try {
      let after = await begin;
      while (!ending.isOver) {
        const { way } = this;
        // A local store reports no connection state: it is always connected.
        if ("place" in way.target) options.onConnection?.("connected");
        const events = way.dibs.events.follow({
          ...options,
          after,
          signal: ending.signal,
          onReset: (log) => {
            after = log.lastSeq < after ? log.lastSeq : log.firstAvailable - 1;
            options.onReset?.(log);
          },
          onConnection: (state) => {
            options.onConnection?.(state);
            if (state === "lost") void this.leave(way);
          },
        });
        try {
          for await (const event of events) {
            after = event.seq;
            yield event;
          }
        } catch (error) {
          if (!(await this.isElsewhere(way, error))) throw error;
        }
        if (this.way === way) return;
      }
    } finally {
      ending.end();
    }
  }

  /** Whether a failed call can be repeated at another server or store. */
  private async isElsewhere(way: Way, error: unknown): Promise<boolean> {
    if (this.closing.signal.aborted || !isFound(way.target) || !isLeft(error)) return false;
    await this.leave(way);
    return this.way !== way;
  }

  private async leave(way: Way): Promise<void> {
    if (this.way !== way) return;
    this.discovery ??= this.discover(way).finally(() => {
      this.discovery = null;
    });
    await this.discovery;
  }

  /** If nothing can be opened now, the next call tries again. */
  private async discover(way: Way): Promise<void> {
    try {
      const target = await targetFor(this.flags, this.parts);
      if (this.closing.signal.aborted || JSON.stringify(target) === JSON.stringify(way.target)) return;
      this.way = { target, dibs: await openTarget(target, this.flags, this.parts, { retry }) };
    } catch {
      return;
    }
    const closed = way.dibs.close().catch(() => undefined);
    this.left.add(closed);
    void closed.then(() => this.left.delete(closed));
  }

  private async pause(ms: number, signal: AbortSignal | undefined, error: unknown): Promise<void> {
    const either = new Ending([signal, this.closing.signal]);
    await pause(ms, either.signal);
    const { isOver } = either;
    either.release();
    if (isOver) throw error;
  }
}

const codeOf = (error: unknown) => (error instanceof DibsError ? error.code : null);

/** Nobody answers, somebody else does, or others have left this way while the call was under way. */
const leaving: readonly unknown[] = ["STORE_UNAVAILABLE", "UNAUTHENTICATED", "STORE_CLOSED"];
const isLeft = (error: unknown) => leaving.includes(codeOf(error));

const isUnanswered = ({ target }: Way, error: unknown) =>
  isFound(target) && codeOf(error) === "STORE_UNAVAILABLE";

const definitions = new Map(operations.map((operation) => [operation.name, operation]));

/** Where a call may have acted before its answer was lost. */
function keyFor(name: OperationName, { idempotencyKey }: CallOptions): CallOptions {
  const { kind, repeatable } = definitions.get(name)!;
  if (idempotencyKey !== undefined || repeatable || kind === "query") return {};
  return { idempotencyKey: newKey() };
}

type Methods = Record<string, (input: unknown, options: CallOptions) => Promise<unknown>>;

function perform(dibs: Dibs, name: OperationName, input: unknown, options: CallOptions): Promise<unknown> {
  const [group, method] = name.split(".") as [keyof Dibs, string];
  return (dibs[group] as unknown as Methods)[method]!(input, options);
}
