// The library as callers see it: one method per operation of the registry, with its types. The same interface serves a store
// in this process and a server over HTTP; only the caller behind it differs.

import type { InputOf, Operation, OutputOf } from "../contract/operation.js";
import { type OperationName, type Registry, registry } from "../contract/registry.js";
import type { WireEvent } from "../contract/shapes.js";
import { startWorker } from "./work.js";
import type { Worker, WorkHandler, WorkOptions } from "./worker.js";

export interface CallOptions {
  /** Acts once: the same key and input answer the same again, for a day. */
  idempotencyKey?: string;
  /** Ends a waiting call early. */
  signal?: AbortSignal;
}

export interface FollowOptions {
  /** Number of the last event already seen; 0 for all; absent: only what comes from now on. */
  after?: number;
  /** A project, or * for all of the org; default: the client's own. */
  project?: string;
  taskId?: string;
  types?: WireEvent["type"][];
  signal?: AbortSignal;
  /**
   * Events after `after` are no longer kept, or the log ends before it (a backup was restored): what was known is to be read
   * anew. The sequence goes on with the first event that is kept, or at the end of the log.
   */
  onReset?: (log: LogEnds) => void;
  /** The stream is there, or was lost and is tried again. In process there is nothing to lose, and nobody is told. */
  onConnection?: (state: "connected" | "lost") => void;
}

/** Where the log of events begins and ends. */
export interface LogEnds {
  firstAvailable: number;
  lastSeq: number;
}

/** What stands behind a client. */
export interface Connection {
  call(name: OperationName, input: unknown, options: CallOptions): Promise<unknown>;
  follow(options: FollowOptions): AsyncGenerator<WireEvent, void, undefined>;
  /** What a worker of this process registers with, so that its death is noticed. */
  process: { pid?: number; host?: string; processStartedAt?: string };
  /** Where answers can get lost: a key under which a call may be repeated later and acts once. */
  newKey?(): string;
  /** Where requests cost: the same connection, on which commands of one turn of the event loop share a request. */
  batching?: Connection;
  close(): Promise<void>;
}

type Method<O> = O extends Operation
  ? Record<never, never> extends InputOf<O>
    ? (input?: InputOf<O>, options?: CallOptions) => Promise<OutputOf<O>>
    : (input: InputOf<O>, options?: CallOptions) => Promise<OutputOf<O>>
  : never;

type Methods = { [G in keyof Registry]: { [O in keyof Registry[G]]: Method<Registry[G][O]> } };

export interface Dibs extends Omit<Methods, "events"> {
  events: Methods["events"] & {
    /** An endless, exact sequence of events; end it with `break` or a signal. */
    follow(options?: FollowOptions): AsyncGenerator<WireEvent, void, undefined>;
  };
  /** Claims, runs and reports tasks until stopped. */
  work(handler: WorkHandler, options?: WorkOptions): Worker;
  /** Stops workers and waits, and lets go of the store. */
  close(): Promise<void>;
}

export function createClient(connection: Connection): Dibs {
  const workers = new Set<Worker>();
  const methods: Record<string, Record<string, unknown>> = {};
  for (const [group, operations] of Object.entries(registry)) {
    const entries = Object.entries(operations).map(([method, operation]) => [
      method,
      (input: unknown = {}, options: CallOptions = {}) =>
        connection.call((operation as Operation).name as OperationName, input, options),
    ]);
    methods[group] = Object.fromEntries(entries);
  }
  const dibs: Dibs = {
    ...(methods as unknown as Methods),
    events: {
      ...(methods.events as Methods["events"]),
      follow: (options = {}) => connection.follow(options),
    },
    work(handler, options = {}) {
      const { batching } = connection;
      const own = batching ? createClient(batching) : dibs;
      const worker = startWorker(own, connection, handler, options, () => workers.delete(worker));
      workers.add(worker);
      return worker;
    },
    async close() {
      await Promise.all([...workers].map((worker) => worker.stop().catch(() => undefined)));
      await connection.close();
    },
  };
  return dibs;
}
