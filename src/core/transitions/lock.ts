import type { AcquireLockCommand, FreeLocksCommand, ReleaseLockCommand } from "../command.js";
import type { Draft } from "../draft.js";
import {
  isFromFuture,
  isLockOver,
  isSameHolder,
  type Lock,
  lockExpiry,
  lockKind,
  mayRelease,
  toLock,
} from "../lock.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";

function heldLock(draft: Draft, name: string, here: string): Lock | null {
  const value = draft.document(lockKind, name);
  return value && !isLockOver(draft.view, toLock(value), here, draft.now) ? toLock(value) : null;
}

/** Names of the program's own, such as the server's. */
function reserved(draft: Draft, name: string): Refusal | null {
  if (!name.startsWith("dibs.") || draft.context.actor === "system") return null;
  return refuse("FORBIDDEN", `Lock ${name} is the program's own.`, {
    hint: "Use a name that does not begin with dibs.",
  });
}

export function acquireLock(draft: Draft, command: AcquireLockCommand): Outcome<Lock> {
  const { name, holder, here } = command;
  const no = reserved(draft, name);
  if (no) return no;
  const held = heldLock(draft, name, here);
  if (held && !isSameHolder(held, holder)) return lockHeld(held, here);
  const lock: Lock = {
    name,
    ...holder,
    sessionId: holder.sessionId ?? held?.sessionId ?? null,
    owner: holder.owner ?? held?.owner ?? null,
    acquiredAt: held?.acquiredAt ?? draft.now,
    renewedAt: draft.now,
    ttlMs: command.ttlMs ?? held?.ttlMs ?? null,
    metadata: command.metadata ?? held?.metadata ?? null,
  };
  draft.putDocument(lockKind, name, { ...lock });
  return accept(lock);
}

export function releaseLock(draft: Draft, command: ReleaseLockCommand): Outcome<{ released: boolean }> {
  const { name, holder, here, force } = command;
  const no = reserved(draft, name);
  if (no) return no;
  const held = heldLock(draft, name, here);
  if (held && !force && !mayRelease(held, holder)) return lockHeld(held, here);
  if (draft.document(lockKind, name)) draft.putDocument(lockKind, name, null);
  return accept({ released: held !== null });
}

/**
 * Removes those whose process was seen to be gone, if nobody has taken them since, and those that are over. One from the future
 * is kept for its own length from now: its holder may be at work.
 */
export function freeLocks(draft: Draft, { locks, here }: FreeLocksCommand): Outcome<null> {
  for (const { name, gone } of locks) {
    const value = draft.document(lockKind, name);
    if (!value) continue;
    const lock = toLock(value);
    const isGone = gone !== undefined && lock.pid !== null && isSameHolder(lock, gone);
    if (isGone || isLockOver(draft.view, lock, here, draft.now)) draft.putDocument(lockKind, name, null);
    else if (isFromFuture(lock, draft.now)) {
      const acquiredAt = Math.min(lock.acquiredAt, draft.now);
      draft.putDocument(lockKind, name, { ...lock, acquiredAt, renewedAt: draft.now });
    }
  }
  return accept(null);
}

function lockHeld(lock: Lock, here: string): Refusal {
  const { name, pid, host, processStartedAt, sessionId, acquiredAt } = lock;
  const who = pid === null ? (sessionId ?? "somebody") : `process ${pid}`;
  return refuse("SESSION_BUSY", `Lock ${name} is held by ${who}.`, {
    hint: "Try again when it is free, or use another name; a leader can release it by force.",
    details: {
      lock: {
        name,
        pid,
        host,
        processStartedAt,
        sessionId,
        acquiredAt,
        expiresAt: lockExpiry(lock, here),
        holderAlive: true,
      },
      holderAlive: true,
    },
  });
}
