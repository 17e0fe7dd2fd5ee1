// What the command line needs from the world; bin.ts gives it.

import type { CreatedToken, Tokens } from "./token.js";

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

export interface Parts {
  env: Record<string, string | undefined>;
  cwd: string;
  out(text: string): void;
  err(text: string): void;
  databaseFor(directory: string): Promise<string>;
  makeRoomFor(database: string): Promise<void>;
  open(place: Place): Promise<{ tokens: Tokens; close(): Promise<void> }>;
  serve(request: ServeRequest): Promise<Running>;
  version(): Promise<string>;
  /** Resolves when the process is asked to end. */
  stopped(): Promise<string>;
}

export type { CreatedToken };
