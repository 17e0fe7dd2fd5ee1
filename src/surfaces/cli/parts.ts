// What the command line needs from the world; bin.ts gives it.

import type { Dibs } from "../../client/client.js";

export interface Place {
  path?: string;
  url?: string;
  org?: string;
  project?: string;
}

export interface ServeRequest extends Place {
  host: string;
  port: number;
  auth: boolean;
  allowHosts: string[];
  retainEventsMs?: number;
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

export interface Parts {
  env: Record<string, string | undefined>;
  cwd: string;
  out(text: string): void;
  err(text: string): void;
  stdout: Terminal;
  now(): number;
  /** All of standard input. */
  readInput(): Promise<string>;
  readFile(path: string): Promise<string>;
  databaseFor(directory: string): Promise<string>;
  makeRoomFor(database: string): Promise<void>;
  /** The server that runs for a database file, and its token. */
  findServer(database: string): Promise<{ url: string; token: string | null } | null>;
  open(place: Place): Promise<Dibs>;
  connect(server: { url: string; token?: string; project?: string }): Promise<Dibs>;
  serve(request: ServeRequest): Promise<Running>;
  version(): Promise<string>;
  /** Aborted when the process is asked to end. */
  stopping: AbortSignal;
}
