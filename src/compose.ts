// The only file that names concrete parts and puts them together.

import { setMaxListeners } from "node:events";
import { resolve } from "node:path";
import {
  type CallOptions,
  type Connection,
  createClient,
  type Dibs,
  type FollowOptions,
} from "./client/client.js";
import { judgeWithoutCompiling } from "./contract/brief.js";
import { DibsError } from "./contract/error.js";
import type { OperationName } from "./contract/registry.js";
import type { WireEvent } from "./contract/shapes.js";
import type { DibsEvent } from "./core/event.js";
import { idProblem } from "./core/ids.js";
import { dispatch } from "./operations/dispatch.js";
import type { Caller, Environment } from "./operations/environment.js";
import { followEvents } from "./operations/event-feed.js";
import { asDibsError, Executor } from "./operations/execute.js";
import { wireEvent } from "./operations/render.js";
import { systemClock } from "./runtime/clock.js";
import {
  digest,
  fingerprint,
  isSame,
  newCorrelationId,
  newSecret,
  newSessionId,
  newTokenId,
} from "./runtime/ids.js";
import { hostId, isAlive, processStart } from "./runtime/liveness.js";
import { existingDirectory, isFoundByCommands, makeRoomFor, removeDatabase } from "./runtime/locate.js";
import { projectNameFor } from "./runtime/project-name.js";
import { forgetStore, rememberStore } from "./runtime/trusted-stores.js";
import { userName } from "./runtime/user-name.js";
import { groupCommits } from "./store/grouped.js";
import type { Creation } from "./store/sqlite/connection.js";
import type { Clock, Store } from "./store/store.js";
import type { Counts } from "./transfer/format.js";
import type { Lines } from "./transfer/import.js";

export interface OpenOptions {
  /** The database file. */
  path?: string;
  /**
   * A database for many machines instead: `postgres://user:password@host:5432/database`, or `dynamodb://region/prefix`, whose tables
   * `dibs db create` creates.
   */
  url?: string;
  /** Keep everything in memory instead, for tests and short-lived programs. */
  memory?: boolean;
  /** A store of your own instead, with its own clock. It stays open when the client is closed. */
  store?: Store;
  /** Whether a store that does not exist is created, which is the default, or refused with STORE_NOT_FOUND. */
  create?: boolean;
  /** Called with the store's file or address if this call created it. */
  onCreate?: (store: string) => void;
  /** The tenant; default `default`. */
  org?: string;
  /** Where operations without a project happen; default: the store's own. */
  project?: string;
  /** Milliseconds since 1970; decides about expiry. Default: the system's clock. */
  clock?: Clock | (() => number);
  /** Who acts where no session does, for the event log; default `user:` and the login name. */
  actor?: string;
  /** Sessions that this client registers do not end with this process: for programs that run once per call. */
  detached?: boolean;
}

export const environment: Environment = {
  newSessionId,
  newCorrelationId,
  random: Math.random,
  fingerprint,
  newTokenId,
  newSecret,
  digest,
  isSame,
  hostId,
  processStart,
  isAlive,
};

/** Opens a store in this process. */
export async function openDibs(options: OpenOptions): Promise<Dibs> {
  try {
    refuseBadOptions(options);
    const place = placeOf(options);
    refuseClock(options);
    if (options.detached) judgeWithoutCompiling();
    const store = await openStore(place, clockOf(options), options);
    return await connect(store, options, place);
  } catch (error) {
    throw asDibsError(error);
  }
}

export function refuseBadOptions(options: OpenOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new DibsError(
      "VALIDATION_FAILED",
      "openDibs needs an object with a path, a url, memory: true or a store.",
    );
  }
  const { org, project, path } = options;
  if (typeof path === "string" && path.includes("\u0000")) {
    throw new DibsError("VALIDATION_FAILED", "openDibs: path must not contain NUL characters.");
  }
  for (const [field, name] of Object.entries({ org, project })) {
    const problem = name === undefined ? null : typeof name === "string" ? idProblem(name) : "is not a text";
    if (problem) throw new DibsError("VALIDATION_FAILED", `openDibs: ${field} '${name}' ${problem}.`);
  }
}

export type Place = { memory: true } | { path: string } | { url: string } | { store: Store };

/** Where the data is: exactly one place is named, or else DIBS_DATABASE_URL names it. */
export function placeOf({ path, url, memory, store }: OpenOptions): Place {
  const named: Place[] = [];
  if (memory === true) named.push({ memory });
  if (store !== undefined) named.push({ store });
  if (typeof path === "string" && path !== "") named.push({ path });
  if (typeof url === "string" && url !== "") named.push({ url });
  const set = process.env.DIBS_DATABASE_URL;
  if (named.length === 0 && set) named.push(isDatabaseAddress(set) ? { url: set } : { path: set });
  const [place] = named;
  if (place && named.length === 1) return place;
  throw new DibsError(
    "VALIDATION_FAILED",
    "openDibs needs a path, a url, memory: true or a store, and only one of them.",
    {
      hint: 'For example openDibs({ path: ".dibs/dibs.db" }), or set DIBS_DATABASE_URL.',
    },
  );
}

/** A store decides about expiry by its own clock. */
function refuseClock({ store, clock }: OpenOptions): void {
  if (store === undefined || clock === undefined) return;
  throw new DibsError("VALIDATION_FAILED", "openDibs: a store has its own clock. Omit clock.");
}

const isDatabaseAddress = (text: string) => /^(postgres(ql)?|dynamodb):/.test(text);
const isDynamo = (text: string) => text.startsWith("dynamodb:");

/**
 * Without a clock of the caller's, a store on a server goes by the server's. Only the store that is used is loaded: commands are
 * short.
 */
export async function openStore(
  place: Place,
  clock: Clock | null,
  { create = true, onCreate, detached: brief = false }: OpenOptions = {},
): Promise<Store> {
  if ("store" in place) return place.store;
  if ("path" in place) {
    const { openSqliteStore } = await import("./store/sqlite/store.js");
    const creation = creationOf(place.path, onCreate);
    return openSqliteStore(place.path, clock ?? systemClock, { brief, create, creation });
  }
  if ("memory" in place) {
    const { openMemoryStore } = await import("./store/memory/store.js");
    return openMemoryStore(clock ?? systemClock);
  }
  if (isDynamo(place.url)) {
    const { openDynamoStoreAt } = await import("./store/dynamodb/open.js");
    return openDynamoStoreAt(place.url, clock);
  }
  const { openPostgresStore } = await import("./store/postgres/store.js");
  return openPostgresStore(place.url, clock, { create, onCreate: (where) => onCreate?.(where) });
}

/** The user who creates a store trusts it. If the home directory cannot be written, commands that find the store refuse it. */
function creationOf(path: string, onCreate?: OpenOptions["onCreate"]): Creation {
  return {
    note: (id) => {
      // Commands refuse only stores that they find, not those that are named.
      if (!isFoundByCommands(path)) return;
      makeRoomFor(path);
      try {
        rememberStore({ id, path: resolve(path), isOwn: true, isTracked: false });
      } catch {}
    },
    forget: (id) => {
      try {
        forgetStore({ id, path, isOwn: true });
      } catch {}
    },
    done: () => onCreate?.(path),
  };
}

async function connect(store: Store, options: OpenOptions, place: Place): Promise<Dibs> {
  const org = options.org ?? "default";
  const newName = options.project ?? ("path" in place ? projectNameFor(place.path) : "default");
  const defaultProject = await store.open(org, newName);
  const caller: Caller = {
    org,
    project: options.project ?? defaultProject,
    actor: options.actor ?? `user:${userName()}`,
    role: "admin",
    ...(options.detached
      ? {}
      : { process: { pid: process.pid, host: hostId, processStartedAt: processStart(process.pid) } }),
  };
  const commits = groupCommits(store);
  const executor = new Executor(store, (to, job) => commits.submit(to, job), environment);
  return createClient(
    new InProcess(executor, caller, async () => {
      await commits.close();
      if (!("store" in place)) await store.close();
    }),
  );
}

export type TransferOptions = Pick<OpenOptions, "path" | "url" | "org" | "clock" | "onCreate">;

/**
 * Everything of one org, line by line, to be written into a file: the state at the beginning, also while a fleet is at work.
 * A file that lacks its last line is not complete, and `importDibs` will say so.
 */
export async function* exportDibs(options: TransferOptions): AsyncGenerator<string, void, undefined> {
  try {
    refuseBadOptions(options);
    const { org = "default" } = options;
    const place = placeOf(options);
    const store = await openStore(place, clockOf(options), { create: false });
    try {
      await store.open(org, "path" in place ? projectNameFor(place.path) : "default");
      const { exportOrg } = await import("./transfer/export.js");
      yield* exportOrg(store, org);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw asDibsError(error);
  }
}

/**
 * Imports what `exportDibs` wrote, with its ids, leases, event numbers and keys, into an org that has nothing yet; its name
 * may be another. The lines are asked for twice: once to judge them all, once to write them.
 */
export async function importDibs(options: TransferOptions, lines: Lines): Promise<Counts> {
  try {
    refuseBadOptions(options);
    const place = placeOf(options);
    const root = "path" in place ? existingDirectory(place.path) : "";
    let store: Store | null = null;
    let created: string | null = null;
    const open = async () => {
      store = await openStore(place, clockOf(options), {
        onCreate: (where) => {
          created = where;
        },
      });
      return store;
    };
    const { importOrg } = await import("./transfer/import.js");
    try {
      const counts = await importOrg(open, options.org ?? "default", lines);
      if (created !== null) options.onCreate?.(created);
      return counts;
    } catch (error) {
      await (store as Store | null)?.close();
      if (created !== null && "path" in place) await removeCreated(place.path, root);
      throw error;
    } finally {
      await (store as Store | null)?.close();
    }
  } catch (error) {
    throw asDibsError(error);
  }
}

/** A refused import leaves nothing behind. */
async function removeCreated(path: string, root: string): Promise<void> {
  const { storeIdOf } = await import("./store/sqlite/identity.js");
  const id = await storeIdOf(path);
  if (id !== null) creationOf(path).forget(id);
  removeDatabase(path, root);
}

/** A consistent copy of a whole store into a new file, also while a fleet is at work. */
export async function backupDibs(options: TransferOptions, file: string): Promise<void> {
  await withStore(options, (store) => store.backup(file));
}

/** What is wrong with the stored data, and which form it has. */
export async function checkDibs(options: TransferOptions): Promise<{ problems: string[]; schema: string }> {
  const problems = await withStore(options, (store) => store.check(options.org ?? "default"));
  return { problems, schema: await schemaOf(placeOf(options)) };
}

async function schemaOf(place: Place): Promise<string> {
  if ("url" in place && isDynamo(place.url)) {
    const { layoutNumber } = await import("./store/dynamodb/meta.js");
    return `layout ${layoutNumber}`;
  }
  if ("url" in place) {
    const { schemaVersion } = await import("./store/postgres/schema.js");
    return `schema ${schemaVersion}`;
  }
  const { schemaVersion } = await import("./store/sqlite/schema.js");
  // A file that opens has these: opening asserts them.
  return `schema ${schemaVersion}, write-ahead log, full sync`;
}

/** Creates the tables of a store on DynamoDB. False: all of them exist. */
export async function createTables(address: string): Promise<boolean> {
  try {
    const { createDynamoTables } = await import("./store/dynamodb/open.js");
    return await createDynamoTables(address);
  } catch (error) {
    throw asDibsError(error);
  }
}

/** Brings the log of a store on DynamoDB into restored tables again. Returns how many commits that concerns. */
export async function replayLog({
  url,
  org,
  rowsAt,
}: {
  url: string;
  org?: string;
  rowsAt: number;
}): Promise<number> {
  try {
    refuseBadOptions({ url, org } as OpenOptions);
    const { replayDynamoLog } = await import("./store/dynamodb/open.js");
    return await replayDynamoLog(url, { org: org ?? "default", rowsAt });
  } catch (error) {
    throw asDibsError(error);
  }
}

/** The tables of a store on DynamoDB as a CloudFormation template. */
export async function tableTemplate(address: string): Promise<string> {
  try {
    const { templateFor } = await import("./store/dynamodb/cloudformation.js");
    return templateFor(address);
  } catch (error) {
    throw asDibsError(error);
  }
}

/** Only of what exists. */
async function withStore<T>(options: TransferOptions, use: (store: Store) => Promise<T>): Promise<T> {
  try {
    refuseBadOptions(options);
    const store = await openStore(placeOf(options), clockOf(options), { create: false });
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw asDibsError(error);
  }
}

export function clockOf({ clock }: OpenOptions): Clock | null {
  if (clock === undefined) return null;
  const now = typeof clock === "function" ? clock : () => clock.now();
  return { now: () => wholeMs(now()) };
}

/** A clock of the caller's may be finer than ours, or no clock. */
function wholeMs(time: unknown): number {
  const ms = typeof time === "number" ? Math.floor(time) : Number.NaN;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new DibsError("VALIDATION_FAILED", `clock: must tell milliseconds since 1970, not ${String(time)}.`);
}

/** `admitted` refuses what `events.list` would refuse, such as a project that does not exist. */
async function* asWire(
  admitted: Promise<unknown>,
  events: AsyncIterable<DibsEvent>,
): AsyncGenerator<WireEvent, void, undefined> {
  await admitted;
  try {
    for await (const event of events) yield wireEvent(event);
  } catch (error) {
    throw asDibsError(error);
  }
}

class InProcess implements Connection {
  readonly process = { pid: process.pid };
  private readonly closing = new AbortController();
  private closed: Promise<void> | null = null;

  constructor(
    private readonly executor: Executor,
    private readonly caller: Caller,
    private readonly release: () => Promise<void>,
  ) {
    // Every waiting call listens for the end.
    setMaxListeners(0, this.closing.signal);
  }

  call(name: OperationName, input: unknown, options: CallOptions): Promise<unknown> {
    if (this.closing.signal.aborted) {
      return Promise.reject(new DibsError("STORE_CLOSED", "This client was closed."));
    }
    // A worker's calls share one signal, and all of them may wait.
    if (options.signal) setMaxListeners(0, options.signal);
    return dispatch(this.executor, name, input, this.caller, {
      idempotencyKey: options.idempotencyKey,
      signals: options.signal ? [this.closing.signal, options.signal] : [this.closing.signal],
    });
  }

  follow({ project, signal, ...options }: FollowOptions): AsyncGenerator<WireEvent, void, undefined> {
    const { executor, caller } = this;
    const signals = [this.closing.signal, ...(signal ? [signal] : [])];
    const events = followEvents(executor.store, caller.org, {
      ...options,
      project: project === "*" ? null : (project ?? caller.project),
      signal: AbortSignal.any(signals),
    });
    const known = dispatch(executor, "events.list", { project, ...options, limit: 1 }, caller);
    known.catch(() => undefined);
    return asWire(known, events);
  }

  close(): Promise<void> {
    // Calls that wait end now; what was submitted is settled before the store closes.
    this.closing.abort();
    this.closed ??= this.release();
    return this.closed;
  }
}
