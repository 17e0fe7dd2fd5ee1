// What operations need from the world, injected by compose.ts: the impure edges live in runtime/.

import type { Role } from "../contract/operation.js";

export interface Environment {
  newSessionId(): string;
  newCorrelationId(): string;
  /** 0…1 */
  random(): number;
  fingerprint(text: string): string;
  newTokenId(): string;
  /** 32 random bytes in base64url: 43 characters. */
  newSecret(): string;
  /** SHA-256 in hex. */
  digest(text: string): string;
  /** Whether two digests are the same, in a time that does not tell how far. */
  isSame(a: string, b: string): boolean;
  /** Identity of this machine, boot and pid namespace. */
  hostId: string;
  /** When a process of this host started, in words that differ for another process of the same pid; null if it is gone. */
  processStart(pid: number): string | null;
  /** Whether a process of this host runs, and is the one that started then. */
  isAlive(pid: number, startedAt: string | null): boolean;
}

export interface Caller {
  org: string;
  /** Where operations without a project happen. */
  project: string;
  actor: string;
  role: Role;
  /** The id of the token it came with. Sessions belong to the token that registered them. */
  token?: string | undefined;
  /** The token whose idempotency keys it uses; absent: the keys of processes that open the store themselves. */
  keysOf?: string | undefined;
  /** It may run on another machine: a pid of which it does not say where it runs is not one of ours. */
  isElsewhere?: boolean | undefined;
  /** The process that calls, if its sessions live and die with it. */
  process?: { pid: number; host: string; processStartedAt: string | null };
}
