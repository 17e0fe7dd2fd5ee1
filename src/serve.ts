// Puts the server together: a store, the pipeline over it, the HTTP surface, and what a server does by itself.

import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Connection, createClient, type Dibs } from "./client/client.js";
import {
  clockOf,
  environment,
  type OpenOptions,
  openStore,
  type Place,
  placeOf,
  refuseBadOptions,
} from "./compose.js";
import { DibsError } from "./contract/error.js";
import { callerOf } from "./operations/caller.js";
import { dispatch } from "./operations/dispatch.js";
import type { Caller } from "./operations/environment.js";
import { followEvents } from "./operations/event-feed.js";
import { EventHub } from "./operations/event-hub.js";
import { asDibsError, Executor } from "./operations/execute.js";
import { Housekeeping } from "./operations/housekeeping.js";
import { wireEvent } from "./operations/render.js";
import { isTokenLive, tokenIdOf, verifyToken } from "./operations/tokens.js";
import { systemClock } from "./runtime/clock.js";
import { hostId, isAlive, processStart } from "./runtime/liveness.js";
import { makeRoomFor } from "./runtime/locate.js";
import { createLogger, type Logger, type LogLevel } from "./runtime/log.js";
import { serverOnPort } from "./runtime/port-owner.js";
import { readPrivate, writePrivate } from "./runtime/private-file.js";
import { projectNameFor, slug } from "./runtime/project-name.js";
import { announceServer, tokenFileOf } from "./runtime/server-file.js";
import { dashboardDirectory, version } from "./runtime/version.js";
import { groupCommits } from "./store/grouped.js";
import { timed } from "./store/timed.js";
import { createApp } from "./surfaces/http/app.js";
import { allowedHosts, isAnyAddress, isLoopback } from "./surfaces/http/guard.js";
import { isChange, logRequest } from "./surfaces/http/request-log.js";
import { listen } from "./surfaces/http/server.js";
import { cookieName } from "./surfaces/http/sign-in.js";
import { frame, type StreamLimits, streamLimits } from "./surfaces/http/stream.js";
import type { McpHttp, McpHttpOptions } from "./surfaces/mcp/http.js";

export interface ServerLimits {
  bodyBytesMax: number;
  batchBytesMax: number;
  /** A body must have arrived after this time. */
  bodyMs: number;
  headersMs: number;
  requestMs: number;
  connectionsMax: number;
  /** Per token. */
  requestsMax: number;
  streamsMax: number;
  /** How long a stop waits for what is under way. */
  graceMs: number;
}

const usualLimits: ServerLimits = {
  bodyBytesMax: 2 * 1024 * 1024,
  batchBytesMax: 16 * 1024 * 1024,
  bodyMs: 20_000,
  headersMs: 10_000,
  requestMs: 30_000,
  connectionsMax: 20_000,
  requestsMax: 5_000,
  streamsMax: 2_000,
  graceMs: 10_000,
};

export interface ServeOptions extends Omit<OpenOptions, "actor" | "create" | "onCreate" | "store"> {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 3427; 0: a free one. */
  port?: number;
  /** false: no token is asked for; on loopback only. */
  auth?: boolean;
  /** Further values of the Host header under which this server is reached, such as `dibs.example.com`. */
  allowHosts?: readonly string[];
  /** Archive events that are older. Default: keep all. */
  retainEventsMs?: number;
  /** Archive tasks that were completed or cancelled longer ago. Default: keep all. */
  retainTasksMs?: number;
  /** A tasks.json that is kept in step with the server's project. */
  sync?: { file: string; dialect?: "camel" | "pascal" };
  /** Lands what is submitted, if the project lands in the repository of this directory. */
  land?: { directory: string };
  logLevel?: LogLevel;
  /** Instead of stderr. */
  log?: (line: string) => void;
  limits?: Partial<ServerLimits & StreamLimits>;
  mcp?: Partial<McpHttpOptions>;
}

export interface DibsServer {
  url: string;
  port: number;
  /** The admin's token; null without auth. */
  token: string | null;
  tokenFile: string | null;
  /** A link that signs a browser in, once. */
  link(): string;
  close(): Promise<void>;
}

export async function serveDibs(options: ServeOptions): Promise<DibsServer> {
  try {
    refuseBadOptions(options);
    const { host = "127.0.0.1", auth = true } = options;
    if (host.trim() === "") {
      throw new DibsError("VALIDATION_FAILED", "The address to listen on is empty.", {
        hint: "Use 127.0.0.1, or 0.0.0.0 for all addresses of this machine.",
      });
    }
    if (!auth && !isLoopback(host)) {
      throw new DibsError("FORBIDDEN", `Without auth the server listens on loopback only, not on ${host}.`, {
        hint: "Remove --no-auth, or bind to 127.0.0.1.",
      });
    }
    const place = placeOf(options);
    if ("path" in place) makeRoomFor(place.path);
    return await start(place, options);
  } catch (error) {
    throw asDibsError(fileTrouble(error));
  }
}

/** A directory or file beside the store that cannot be made is told like the store's own troubles. */
function fileTrouble(error: unknown): unknown {
  if (!(error instanceof Error) || !("syscall" in error) || error instanceof DibsError) return error;
  return new DibsError("STORE_UNAVAILABLE", `A file of the server cannot be used: ${error.message}`, {
    cause: error,
  });
}

async function start(place: Place, options: ServeOptions): Promise<DibsServer> {
  const undo: (() => unknown)[] = [];
  try {
    return await startWith(place, options, undo);
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

/** `undo` collects, in order, what a stop takes back. */
async function startWith(place: Place, options: ServeOptions, undo: (() => unknown)[]): Promise<DibsServer> {
  const { host = "127.0.0.1", port = 3427, auth = true, org = "default" } = options;
  const limits = { ...usualLimits, ...streamLimits, ...options.limits };
  const log = createLogger(options.logLevel ?? "info", options.log);
  const clock = clockOf(options) ?? systemClock;

  let observeStore: (operation: string, ms: number) => void = () => undefined;
  const opened = await openStore(place, clockOf(options), {
    onCreate: (where) => log.info({ store: where }, "created store"),
  });
  const store = timed(opened, (operation, ms) => observeStore(operation, ms));
  undo.push(() => store.close());
  await store.open(org, options.project ?? ("path" in place ? projectNameFor(place.path) : "default"));
  const commits = groupCommits(store);
  undo.push(() => commits.close());
  const executor = new Executor(store, (to, job) => commits.submit(to, job), environment);
  const system = await callerOf(executor, { org, role: "admin", actor: "system" });
  // Else every call that names no project would be refused, one by one.
  if (options.project) await dispatch(executor, "projects.get", { id: options.project }, system, {});
  if ("path" in place) undo.push(await holdServerLock(executor, system, place.path, log));

  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const seenOrgs = new Set([org]);
  let hosts: ReadonlySet<string> = new Set();
  let cookie = "";
  let ownToken: string | null = null;
  let draining = false;
  const mcp = mcpOver(executor, closing.signal, {
    bodyBytesMax: limits.bodyBytesMax,
    onTrouble: (error) => log.warn({ error: (error as Error).message }, "mcp"),
    onChange: (operation, { org, token }) => log.info({ operation, org, token, route: "/mcp" }, "change"),
    ...options.mcp,
  });
  const app = createApp({
    executor,
    mcp: mcp.handle,
    closing: closing.signal,
    limits,
    hub: new EventHub(store, (event) => frame(wireEvent(event))),
    authentication: {
      openTo: auth ? null : org,
      org,
      project: options.project,
      ownToken: () => ownToken,
      cookie: () => cookie,
      ...limits,
    },
    hosts: () => hosts,
    streams: limits,
    version,
    dashboard: dashboardDirectory,
    now: () => clock.now(),
    newRequestId: () => randomUUID(),
    notReady: async () => (draining ? "stopping" : cannotRead(executor, org)),
    observe: (seen) => {
      if (seen.call.caller) seenOrgs.add(seen.call.caller.org);
      logRequest(log, seen);
    },
  });
  observeStore = (operation, ms) => app.metrics.storeTook(operation, ms);

  if (options.sync) {
    const project = options.project ?? system.project;
    // Ended after the last answer, not by the stop: what was committed last is written out, too.
    const dibs = clientFor(executor, { ...system, project }, new AbortController().signal);
    const { keepInStep } = await import("./bridges/tasks-json/index.js");
    const machine = { hostId, isAlive, processStart };
    undo.push(await keepInStep({ ...options.sync, dibs, project, machine, log }));
  }
  const listening = await listen(app, { host, port, ownerOf: serverOnPort, ...limits });
  undo.push(() => listening.stop(limits.graceMs));
  hosts = allowedHosts(host, listening.port, options.allowHosts ?? []);
  cookie = cookieName(listening.port);
  // After the port is had: a start that fails leaves no token behind.
  const token = auth ? await adminToken(executor, system, tokenFileFor(place)) : null;
  // A database elsewhere has several servers, each with a token of its own.
  if (token !== null && "path" in place) ownToken = tokenIdOf(token);
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${listening.port}`;
  // Nobody can call a server by an address that means all of them.
  const local = isAnyAddress(host) ? `http://127.0.0.1:${listening.port}` : url;
  const keeping = new Housekeeping(executor, {
    orgs: () => seenOrgs,
    retainEventsMs: options.retainEventsMs,
    retainTasksMs: options.retainTasksMs,
    onTrouble: (error) => log.warn({ error: (error as Error).message }, "housekeeping will try again"),
  });
  undo.push(() => keeping.stop());
  if (options.land) {
    const dibs = clientFor(executor, system, new AbortController().signal);
    const { standBy } = await import("./lander/index.js");
    const lander = standBy({
      dibs,
      directory: options.land.directory,
      machine: { hostId, isAlive, processStart },
      onStep: (step) => log.info(step, "lander"),
      onTrouble: (error) => log.warn({ error: (error as Error).message }, "lander will try again"),
      ...(options.project === undefined ? {} : { project: options.project }),
    });
    undo.push(() => lander.stop());
  }
  // Commands that name no org mean the default one: they are not sent to a server of another.
  if ("path" in place && org === "default" && (isLoopback(host) || isAnyAddress(host))) {
    const isOwn = (options.project ?? system.project) === system.project;
    const { storeIdOf } = await import("./store/sqlite/identity.js");
    const storeId = (await storeIdOf(place.path)) ?? undefined;
    const project = isOwn ? undefined : system.project;
    undo.push(announceServer(place.path, { url: local, version, storeId, project }));
  }
  log.info({ url, store: store.location, auth }, "listening");

  let closed: Promise<void> | null = null;
  const close = async () => {
    draining = true;
    log.info("stopping");
    closing.abort();
    await mcp.close();
    // In the order of a stop: not to be found any more, no more work of its own, nobody to answer, and then the store.
    for (const step of undo.reverse()) await step();
    log.info("stopped");
    log.flush();
  };
  return {
    url,
    port: listening.port,
    token,
    tokenFile: auth ? tokenFileFor(place) : null,
    link: () => (auth ? `${local}/#code=${app.codes.make({ org, role: "admin" }).code}` : `${local}/`),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** After a power cut nobody can tell whether the process of another boot lives: its lease is short, and renewed. */
const serverLockMs = { ttl: 90_000, renew: 30_000 };

type OnChange = (operation: string, caller: Caller) => void;
type McpOptions = Partial<McpHttpOptions> &
  Pick<McpHttpOptions, "bodyBytesMax" | "onTrouble"> & { onChange: OnChange };

/** Loaded with the first client. */
function mcpOver(executor: Executor, closing: AbortSignal, options: McpOptions) {
  let loaded: Promise<McpHttp> | null = null;
  const load = async () => {
    const { McpHttp, mcpLimits } = await import("./surfaces/mcp/http.js");
    return new McpHttp({ ...mcpLimits, version, ...options });
  };
  const handle: Parameters<typeof createApp>[0]["mcp"] = async (request, caller, onEnd) => {
    loaded ??= load();
    const { org, project, role, token } = caller;
    const whom = {
      key: JSON.stringify([org, project, role, token]),
      dibs: clientFor(executor, caller, closing, options.onChange),
      mayAnswer: role === "leader" || role === "admin",
      isLive: () => isTokenLive(executor, org, token),
    };
    return (await loaded).handle(request, whom, onEnd);
  };
  return { handle, close: async () => (await loaded)?.close() };
}

/** The library, for a caller of this server. */
function clientFor(executor: Executor, caller: Caller, closing: AbortSignal, onChange?: OnChange): Dibs {
  const connection: Connection = {
    process: {},
    async call(name, input, { idempotencyKey, signal }) {
      const signals = signal ? [closing, signal] : [closing];
      const answer = await dispatch(executor, name, input, caller, { idempotencyKey, signals });
      if (onChange && isChange(name, answer)) onChange(name, caller);
      return answer;
    },
    async *follow({ project = caller.project, signal, ...options }) {
      await dispatch(executor, "events.list", { project, ...options, limit: 1 }, caller);
      const events = followEvents(executor.store, caller.org, {
        ...options,
        project: project === "*" ? null : project,
        signal: signal ? AbortSignal.any([closing, signal]) : closing,
      });
      for await (const event of events) yield wireEvent(event);
    },
    close: async () => undefined,
  };
  return createClient(connection);
}

/** Two servers on one file would both be right, but only one of them could be found. */
async function holdServerLock(
  executor: Executor,
  system: Caller,
  path: string,
  log: Logger,
): Promise<() => Promise<unknown>> {
  const holder = {
    name: "dibs.server",
    pid: process.pid,
    host: hostId,
    processStartedAt: processStart(process.pid),
    ttlMs: serverLockMs.ttl,
  };
  try {
    await dispatch(executor, "locks.acquire", holder, system, {});
  } catch (error) {
    if (!(error instanceof DibsError) || error.code !== "SESSION_BUSY") throw error;
    const { pid } = (error.details.lock ?? {}) as { pid?: number };
    throw new DibsError("SESSION_BUSY", `A server already runs on ${path} (process ${pid}).`, {
      hint: "Use that one, or stop it first; for several servers on one store use PostgreSQL or DynamoDB.",
      details: error.details,
    });
  }
  const renewing = setInterval(() => {
    dispatch(executor, "locks.acquire", holder, system, {}).catch((error: Error) =>
      log.warn({ error: error.message }, "the server's lock was not renewed"),
    );
  }, serverLockMs.renew).unref();
  return () => {
    clearInterval(renewing);
    const { ttlMs: _, ...by } = holder;
    return dispatch(executor, "locks.release", by, system, {}).catch(() => undefined);
  };
}

async function cannotRead(executor: Executor, org: string): Promise<string | null> {
  try {
    await executor.store.read(org, (view) => view.org().eventSeq);
    return null;
  } catch {
    return "the store cannot be read"; // Asked without a token: the log has the details of those who have one.
  }
}

/** Beside the file, or, for a database elsewhere, in the home directory. */
function tokenFileFor(place: Place): string | null {
  if ("path" in place) return tokenFileOf(place.path);
  if (!("url" in place)) return null;
  const { host, pathname } = new URL(place.url);
  return tokenFileOf(join(homedir(), ".dibs", slug(`${host}${pathname}`)));
}

/** The one in DIBS_TOKEN or in the file if it is still good, else a new one. */
async function adminToken(executor: Executor, system: Caller, file: string | null): Promise<string> {
  const inFile = file === null ? null : readPrivate(file)?.trim();
  for (const known of [process.env.DIBS_TOKEN, inFile]) {
    const bearer = known ? await verifyToken(executor, known) : null;
    if (known && bearer?.org === system.org && bearer.role === "admin") return known;
  }
  const made = (await dispatch(executor, "tokens.create", { name: "local", role: "admin" }, system, {})) as {
    token: string;
  };
  if (file !== null) {
    makeRoomFor(file);
    writePrivate(file, `${made.token}\n`);
  }
  return made.token;
}
