// What the command line needs from the world; bin.ts gives it.

import type { Dibs } from "../../client/client.js";
import type { Machine } from "../../runner/index.js";
import type { Found } from "../../runner/own-worktree.js";

export interface Place {
  path?: string;
  url?: string;
  org?: string;
  project?: string;
}

export interface Creating {
  /** False: a store that does not exist is refused. */
  create: boolean;
  /** Called with its file or address if this call created it. */
  onCreate?: (store: string) => void;
}

export interface ServerAddress {
  url: string;
  token?: string;
  /** Sent only where the other one is refused. */
  spareToken?: string;
  project?: string;
  /** How often a call is sent again by itself, and after how long at first. */
  retry?: { tries: number; baseMs: number };
}

export interface ServeRequest extends Place {
  host: string;
  port: number;
  auth: boolean;
  allowHosts: string[];
  retainEventsMs?: number;
  retainTasksMs?: number;
  /** A tasks.json to keep in step. */
  sync?: { file: string; dialect?: "camel" | "pascal" } | undefined;
  /** Where to stand by as a lander. */
  land?: { directory: string };
  logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
}

export interface Running {
  url: string;
  tokenFile: string | null;
  link(): string;
  close(): Promise<void>;
}

export interface Terminal {
  isTerminal: boolean;
  columns: number;
}

/** A process as the store knows it: pids mean something only on their host. */
export interface ProcessName {
  pid: number;
  host: string;
  processStartedAt?: string;
}

export interface Files {
  exists(path: string): Promise<boolean>;
  /** Null if there is none. */
  read(path: string): Promise<string | null>;
  /** Refuses to write over anything. */
  create(path: string, text: string): Promise<void>;
  /** As a whole, through links, with the mode it had. */
  replace(path: string, text: string): Promise<void>;
  /** Also where it is a link. */
  isInside(path: string, directory: string): Promise<boolean>;
  /** Whatever others add meanwhile. */
  append(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** What is in a directory; nothing where there is none. Links are not followed. */
  entries(directory: string): Promise<{ name: string; isFile: boolean }[]>;
  /** A directory and those above it, below the root, as long as nothing is in them. */
  prune(directory: string, root: string): Promise<void>;
  /** Where a directory's working tree begins: where its `.git` is, else where its `.dibs` is. */
  rootOf(directory: string): Promise<string>;
}

/** The whole store, past any server: for those who have the database. */
export interface Care {
  backup(place: Place, file: string): Promise<void>;
  /** What is wrong with the stored data, and what it is. */
  check(place: Place): Promise<{ problems: string[]; schema: string }>;
  /** Of a store on DynamoDB. False: all of them exist. */
  createTables(address: string): Promise<boolean>;
  /** Brings the log of a store on DynamoDB into restored tables again. Returns how many commits that concerns. */
  replayLog(replay: { url: string; org?: string; rowsAt: number }): Promise<number>;
  /** The same tables as a CloudFormation template. */
  tableTemplate(address: string): Promise<string>;
  exportLines(place: Place): AsyncIterable<string>;
  /** How many rows of each kind. */
  importLines(
    place: Place & Pick<Creating, "onCreate">,
    lines: () => AsyncIterable<string>,
  ): Promise<Record<string, number>>;
  /** One file, line by line. */
  linesOf(file: string): AsyncIterable<string>;
  writeLines(file: string, lines: AsyncIterable<string>): Promise<number>;
}

export interface FileFact {
  what: "directory" | "database" | "token file" | "server file";
  path: string;
  exists: boolean;
  isOurs: boolean;
  /** Others may read or write it. */
  openTo: "nobody" | "readers" | "writers";
}

/** Stores that are found in a directory, and not named, may have come with a clone. */
export interface Trust {
  /** Throws STORE_NOT_TRUSTED; a server's store is known by its id. */
  refuseUntrusted(
    database: string,
    found: { storeId?: string | undefined; isTrusted: boolean },
  ): Promise<void>;
  /** Of `.dibs` and what is written in it. */
  refuseLinks(database: string): Promise<void>;
  trustStore(database: string): Promise<{ id: string; tasks: number; tokens: number }>;
  /** False: it was not trusted. */
  distrustStore(database: string): Promise<boolean>;
  isServerTrusted(address: string): Promise<boolean>;
  trustServer(address: string): Promise<void>;
  /** False: it was not trusted. */
  distrustServer(address: string): Promise<boolean>;
  trustedServers(): Promise<string[]>;
  trustedStores(): Promise<{ id: string; path: string; isOwn: boolean; isTracked: boolean }[]>;
}

/** What `doctor` looks at, besides the store. */
export interface Facts {
  node: { version: string; isEnough: boolean; needed: string };
  files: FileFact[];
  server: "none" | "runs" | "stale" | "not ours";
  freeBytes: number | null;
}

export interface Health {
  /** About a database file, or only about this program. */
  factsOf(database: string | null): Promise<Facts>;
  /** It ran on this machine and does no longer. */
  isGone(process: ProcessName): Promise<boolean>;
  /** Only its owner may write it, and, where it is secret, read it. */
  protect(path: string, isSecret: boolean): Promise<void>;
}

/** An MCP client on standard input and output, and what is known about its agents. */
export interface McpRequest {
  /** Asked again when it failed, and when what it opened could not be reached any more. */
  open(): Promise<Dibs>;
  /** The same, for a first task: creates the store if there is none, and answers which. */
  create(): Promise<{ dibs: Dibs; created: string | null }>;
  abandon(dibs: Dibs): void;
  defaultAgent: string;
  agentType?: string;
  capabilities?: string[];
  /** What a runner has claimed for the agent that uses this. */
  held?: { sessionId: string; taskId: string; epoch: number };
  /** What an agent hands in when it completes its task. Undefined: the work does not land. */
  changeOf(
    dibs: Dibs,
    holder: { taskId: string; sessionId: string; epoch?: number },
  ): Promise<Found | undefined>;
  onTrouble(error: unknown): void;
}

/** An event of Claude Code, and for whom it is. */
export interface HookRequest {
  event: {
    name: string;
    source: string | undefined;
    reason: string | undefined;
    goesOn: boolean;
  };
  /** Own: nobody else acts under its name. */
  agent: { sessionId: string; isOwn: boolean } | null;
}

/** A terminal that shows everything live. */
export interface WatchRequest {
  dibs: Dibs;
  /** A project, or * for all; default: the client's own. */
  project?: string | undefined;
  view: "fleet" | "queue" | "inbox";
  filter: string;
  /** The agent that watches; verdicts are its own. Absent: a person does. */
  sessionId?: string | undefined;
}

export interface Parts {
  env: Record<string, string | undefined>;
  cwd: string;
  out(text: string): void;
  err(text: string): void;
  stdout: Terminal;
  stdin: { isTerminal: boolean };
  /** A line from whoever sits at the terminal; null if they have nothing to say any more. */
  askUser(question: string): Promise<string | null>;
  /** Shows a text in the user's pager; false: there is none, and nothing was shown. */
  page(text: string): Promise<boolean>;
  now(): number;
  /** All of standard input. */
  readInput(): Promise<string>;
  /** Errors have the system's codes; EFBIG: it has more bytes, ENOTSUP: it is no file. */
  readFile(path: string, bytesMax: number): Promise<string>;
  files: Files;
  care: Care;
  health: Health;
  /** Who called this program. */
  parentPid: number;
  processOf(pid: number): Promise<ProcessName>;
  /** Ends with its exit code. */
  demo(): Promise<number>;
  /** Settled when somebody has seen enough. */
  watch(request: WatchRequest): Promise<void>;
  databaseFor(directory: string): Promise<string>;
  makeRoomFor(database: string): Promise<void>;
  /** The server that runs for a database file, and its token; the store's own project, if the server's is another. */
  findServer(
    database: string,
  ): Promise<{ url: string; pid: number; token: string | null; project?: string; storeId?: string } | null>;
  trust: Trust;
  open(place: Place, creating: Creating): Promise<Dibs>;
  connect(server: ServerAddress): Promise<Dibs>;
  /** What a link to the server's page ends with, good once. */
  signInCode(server: ServerAddress, role?: string): Promise<{ code: string; expiresAt: string }>;
  serve(request: ServeRequest): Promise<Running>;
  /** Settled when the client is gone; answers whether it sent a message. */
  serveMcp(request: McpRequest): Promise<boolean>;
  /** What Claude Code is told. */
  hearHook(dibs: Dibs, request: HookRequest): Promise<object | null>;
  /** Ends the program well, whatever it is doing then. */
  endWithin(ms: number): void;
  version(): Promise<string>;
  /** Aborted when the process is asked to end. */
  stopping: AbortSignal;
  /** Aborted when it is asked again. Who looks at it ends by itself; everybody else is ended. */
  killing: AbortSignal;
  /** How this program is called again. */
  program: readonly string[];
  machine(): Promise<Machine>;
}
