// A named mutual exclusion for agent processes. A holder that is a process of the host that looks holds it for as long as it lives;
// any other holder (a process elsewhere or before the last boot, a session, somebody) has a lease. A session's ends with it.

import { clockStepBackMsMax, lockTtlMs } from "./limits.js";
import { isLive } from "./session.js";
import type { DocumentValue, View } from "./view.js";

export const lockKind = "lock";

/** Who asks, or holds. */
export interface LockHolder {
  pid: number | null;
  /** Identity of the machine, boot and pid namespace in which `pid` means something. */
  host: string | null;
  processStartedAt: string | null;
  /** Where the session is known. */
  project: string;
  sessionId: string | null;
  /** The token it came with. */
  owner: string | null;
}

export interface Lock extends LockHolder {
  name: string;
  acquiredAt: number;
  renewedAt: number;
  /** As asked for; null: the default where a lease is needed. */
  ttlMs: number | null;
  metadata: Record<string, unknown> | null;
}

export const toLock = (value: DocumentValue) => value as unknown as Lock;

/** When it is over by time, as seen from a host; null: it ends with its process. */
export function lockExpiry(lock: Lock, here: string): number | null {
  if (lock.ttlMs !== null) return lock.renewedAt + lock.ttlMs;
  return lock.pid !== null && lock.host === here ? null : lock.renewedAt + lockTtlMs;
}

/** Whether it is over by what the store knows; whether its process lives only its host can tell. */
export function isLockOver(view: Pick<View, "session">, lock: Lock, here: string, now: number): boolean {
  const expiresAt = lockExpiry(lock, here);
  if (expiresAt !== null && now >= expiresAt) return true;
  if (lock.pid !== null || lock.sessionId === null) return false;
  const session = view.session(lock.project, lock.sessionId);
  return session !== undefined && !isLive(session);
}

/** It was renewed under a clock that has been set back since. */
export function isFromFuture(lock: Lock, now: number): boolean {
  return lock.renewedAt > now + clockStepBackMsMax;
}

/** The same process; or, where none is named, the same session. Nobody is the same as somebody unnamed. */
export function isSameHolder(lock: Lock, by: LockHolder): boolean {
  if (!isSameOwner(lock, by)) return false;
  if (lock.pid === null && by.pid === null) return isSameSession(lock, by);
  return isSameProcess(lock, by) && lock.processStartedAt === by.processStartedAt;
}

/** To release it, the process need not be told by its start, and the session is enough. What nobody holds, anybody gives back. */
export function mayRelease(lock: Lock, by: LockHolder): boolean {
  if (!isSameOwner(lock, by)) return false;
  if (lock.pid === null && lock.sessionId === null) return true;
  if (by.pid === null) return isSameSession(lock, by);
  const { processStartedAt } = by;
  return isSameProcess(lock, by) && (processStartedAt ?? lock.processStartedAt) === lock.processStartedAt;
}

function isSameProcess(lock: Lock, by: LockHolder): boolean {
  return lock.pid === by.pid && lock.host === by.host;
}

function isSameSession(lock: Lock, by: LockHolder): boolean {
  return lock.sessionId !== null && lock.sessionId === by.sessionId && lock.project === by.project;
}

function isSameOwner(lock: Lock, by: LockHolder): boolean {
  return lock.owner === null || by.owner === null || lock.owner === by.owner;
}
