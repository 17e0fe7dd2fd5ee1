// A server over HTTP as the client's other side. Answers get lost on networks, so every call that changes something carries a key
// and may be sent again: it acts once. (What can be said twice anyway needs none: a key costs the store a row.) Everything is bounded: a try by its timeout, the tries by number and time, the end by a grace.

import { Ending, pause, within } from "../common/abort.js";
import { backoffMs } from "../common/retry.js";
import { DibsError } from "../contract/error.js";
import type { Operation } from "../contract/operation.js";
import { type OperationName, operations, registry } from "../contract/registry.js";
import type { WireEvent } from "../contract/shapes.js";
import { Batch } from "./batch.js";
import { claimWaiting } from "./claim-next.js";
import type { CallOptions, Connection, FollowOptions } from "./client.js";
import { newKey, refuseBadKey } from "./keys.js";
import { follow } from "./stream.js";
import {
  answerOf,
  bodyOf,
  closedError,
  fetchOptions,
  headersFor,
  lost,
  type Reply,
  replyOf,
  requestFor,
  type Server,
  Trouble,
  type WireRequest,
} from "./wire.js";

export interface HttpOptions extends Server {
  fetch: typeof globalThis.fetch;
  /** The longest time for an answer; waits for work have theirs on top. */
  timeoutMs: number;
  retry: { tries: number; baseMs: number };
  /** A stream of events that is silent for so long is dead. */
  silenceMs: number;
  /** Commands of one turn of the event loop share a request. */
  batch: boolean;
}

/** How one call is performed. */
export interface Effort {
  key?: string | undefined;
  /** Ends it at once. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** How long after its first failure it is still tried. */
  patienceMs?: number | undefined;
  /** It can share a request with others. */
  batch?: boolean | undefined;
}

const patienceMs = 10_000;
const backoffMsMax = 5_000;
/** What is under way when the client is closed may still be answered for so long. */
const graceMs = 5_000;

/** One try: a request of its own, or a share of one. */
type Send = (signal: AbortSignal) => Promise<Reply>;

/** A call that waits would hold back the answers of all others. */
function canJoin({ kind, alone }: Operation, { waitMs = 0 }: Record<string, unknown>): boolean {
  return kind === "command" && !alone && waitMs === 0;
}

const definitions = new Map(operations.map((operation) => [operation.name, operation]));

export class HttpConnection implements Connection {
  /** A process is watched on its own machine only: over HTTP, sessions promise heartbeats instead. */
  readonly process = {};
  readonly newKey = newKey;
  /** No more tries, waits and streams. */
  private readonly closing = new AbortController();
  private readonly closed = new AbortController();
  private readonly pending = new Set<Promise<unknown>>();
  private ownProject: string | undefined;
  private readonly batch = new Batch((body, signal) => this.exchange(this.manyRequest(body), signal));
  /** The same, batching whatever the options say. */
  readonly batching: Connection;

  constructor(private readonly options: HttpOptions) {
    this.ownProject = options.project;
    this.batching = {
      process: this.process,
      newKey,
      call: (name, input, how) => this.callAs(name, input, how, true),
      follow: (how) => this.follow(how),
      close: () => this.close(),
    };
  }

  call(name: OperationName, input: unknown, options: CallOptions): Promise<unknown> {
    return this.callAs(name, input, options, this.options.batch);
  }

  private async callAs(
    name: OperationName,
    input: unknown,
    { idempotencyKey: key, signal }: CallOptions,
    batch: boolean,
  ): Promise<unknown> {
    this.refuseClosed();
    if (key !== undefined) refuseBadKey(key);
    const fields = (input ?? {}) as Record<string, unknown>;
    return this.tracked(
      name === "tasks.claimNext" || (name === "tasks.claim" && fields.waitMs)
        ? claimWaiting(this, name, fields, { key, signal, batch, closing: this.closing.signal })
        : this.perform(name, fields, { key, signal, batch }),
    );
  }

  follow(options: FollowOptions): AsyncGenerator<WireEvent, void, undefined> {
    return follow(this.options, options, this.closing.signal);
  }

  async close(): Promise<void> {
    this.closing.abort(closedError());
    const answered = new AbortController();
    const all = Promise.allSettled(this.pending).then(() => answered.abort());
    await Promise.race([all, pause(graceMs, answered.signal)]);
    this.closed.abort(closedError());
    await Promise.allSettled(this.pending);
  }

  async perform(name: OperationName, input: Record<string, unknown>, effort: Effort): Promise<unknown> {
    const operation = definitions.get(name)!;
    const fields = await this.withProjectInPath(operation, input, effort);
    const mayKeep = operation.http.method !== "GET";
    const key = mayKeep ? (effort.key ?? (operation.repeatable ? undefined : newKey())) : undefined;
    const request = requestFor(this.options, operation, fields, key);
    const send = effort.batch && canJoin(operation, fields) ? this.joining(request, fields, key) : null;
    const ending = new Ending([effort.signal, this.closed.signal]);
    try {
      return await this.patiently(send ?? ((until) => this.exchange(request, until)), ending.signal, effort);
    } finally {
      ending.release();
    }
  }

  private async patiently(send: Send, signal: AbortSignal, effort: Effort): Promise<unknown> {
    const { tries, baseMs } = this.options.retry;
    let { timeoutMs } = effort;
    let until = Number.POSITIVE_INFINITY;
    for (let failures = 0; ; failures++) {
      try {
        return await this.once(send, signal, timeoutMs);
      } catch (error) {
        if (!(error instanceof Trouble)) throw error;
        if (failures === 0) until = performance.now() + (effort.patienceMs ?? patienceMs);
        const waitMs = Math.max(error.waitMs, backoffMs(baseMs, failures, backoffMsMax));
        const isLast = failures + 1 >= tries || performance.now() + waitMs > until;
        if (!error.mayPass || isLast || this.closing.signal.aborted) throw error.error;
        await this.pauseBetweenTries(waitMs, signal, error.error);
        if (effort.timeoutMs === undefined)
          timeoutMs = Math.min(this.options.timeoutMs, Math.max(1_000, until - performance.now()));
      }
    }
  }

  private async pauseBetweenTries(ms: number, signal: AbortSignal, error: DibsError): Promise<void> {
    const either = new Ending([signal, this.closing.signal]);
    await pause(ms, either.signal);
    either.release();
    signal.throwIfAborted();
    if (this.closing.signal.aborted) throw error;
  }

  private async once(send: Send, signal: AbortSignal, timeoutMs?: number): Promise<unknown> {
    signal.throwIfAborted();
    const limit = new Ending([signal], timeoutMs ?? this.options.timeoutMs);
    try {
      return answerOf(this.options.url, await within(limit.signal, send(limit.signal)));
    } catch (error) {
      if (error instanceof DibsError || error instanceof Trouble) throw error;
      if (signal.aborted) throw signal.reason;
      throw lost(this.options.url, limit.isLate ? limit.signal.reason : error);
    } finally {
      limit.release();
    }
  }

  private async exchange({ url, init }: WireRequest, signal: AbortSignal): Promise<Reply> {
    const response = await this.options.fetch(url, { ...init, ...fetchOptions(this.options), signal });
    return replyOf(response, await response.text());
  }

  private joining(request: WireRequest, fields: Record<string, unknown>, key: string | undefined): Send {
    const end = key === undefined ? "}" : `,"idempotencyKey":${JSON.stringify(key)}}`;
    const part = {
      text: () => `{"operation":"${request.name}","input":${bodyOf(fields)}${end}`,
      size: request.init.body?.length ?? 0,
      sendAlone: (signal: AbortSignal) => this.exchange(request, signal),
    };
    return (signal) => this.batch.add(part, signal);
  }

  private manyRequest(body: string): WireRequest {
    const { name, http } = registry.calls.many;
    const headers = { ...headersFor(this.options), "content-type": "application/json" };
    return { name, url: this.options.url + http.path, init: { method: http.method, headers, body } };
  }

  /** `projects.get` and its like are about the client's own project when none is named; an address must name it. */
  private async withProjectInPath(operation: Operation, input: Record<string, unknown>, effort: Effort) {
    if (!operation.http.path.startsWith("/api/projects/:id") || input.id !== undefined) return input;
    this.ownProject ??= await this.defaultProject(effort);
    return { ...input, id: this.ownProject };
  }

  private async defaultProject({ signal }: Effort): Promise<string> {
    let cursor: string | null = null;
    do {
      const page = (await this.perform(
        "projects.list",
        { limit: 1000, ...(cursor === null ? {} : { cursor }) },
        { signal },
      )) as { projects: { id: string; isDefault: boolean }[]; nextCursor: string | null };
      const own = page.projects.find(({ isDefault }) => isDefault);
      if (own) return own.id;
      cursor = page.nextCursor;
    } while (cursor !== null);
    throw new DibsError("PROJECT_NOT_FOUND", "The server names no default project; name one.");
  }

  private tracked<T>(call: Promise<T>): Promise<T> {
    this.pending.add(call);
    const forget = () => this.pending.delete(call);
    call.then(forget, forget);
    return call;
  }

  private refuseClosed(): void {
    if (this.closing.signal.aborted) throw closedError();
  }
}
