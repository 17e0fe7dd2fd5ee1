// Locks of dead processes. A process of this host that has ended holds nothing: its pid and start time show
// it.

import { limits } from "../core/limits.js";
import { isFromFuture, isLockOver, type Lock, lockKind, toLock } from "../core/lock.js";
import type { Reads } from "../core/view.js";
import type { Environment } from "./environment.js";
import type { Executor } from "./execute.js";

/** Its process was on this host and has ended. */
function isHolderGone(lock: Lock, environment: Environment): boolean {
  if (lock.pid === null || lock.host !== environment.hostId) return false;
  return !environment.isAlive(lock.pid, lock.processStartedAt);
}

export function isHeld(view: Reads, lock: Lock, environment: Environment, now: number): boolean {
  return !isLockOver(view, lock, environment.hostId, now) && !isHolderGone(lock, environment);
}

/**
 * Callers invent names and leave their locks behind (`…_fork_…`), so all locks are checked at this interval.
 */
const checkAllMs = 60_000;
const checkedAllAt = new WeakMap<Executor, Map<string, number>>();
const orgsMax = 10_000;

function isCheckOfAllDue(executor: Executor, org: string): boolean {
  const byOrg = checkedAllAt.get(executor) ?? new Map<string, number>();
  checkedAllAt.set(executor, byOrg);
  const now = performance.now();
  if (now - (byOrg.get(org) ?? Number.NEGATIVE_INFINITY) < checkAllMs) return false;
  if (byOrg.size >= orgsMax) byOrg.clear();
  byOrg.set(org, now);
  return true;
}

/**
 * Frees the lock of this name if its holder is dead, and shortens it if it is from the future. At an
 * interval: all locks.
 */
export async function freeDeadLocks(executor: Executor, org: string, name: string): Promise<void> {
  const { environment } = executor;
  const all = isCheckOfAllDue(executor, org);
  const found = await executor.store.read(org, (view, now) => {
    const named = view.document(lockKind, name);
    const locks = all
      ? view
          .documents({ kind: lockKind, limit: limits.pageMax, readableOnly: true })
          .map(({ value }) => toLock(value))
      : [];
    const checked = named ? [toLock(named), ...locks] : locks;
    return checked.filter((lock) => isFromFuture(lock, now) || !isHeld(view, lock, environment, now));
  });
  if (found.length === 0) return;
  const locks = found.map((lock) =>
    isHolderGone(lock, environment) ? { name: lock.name, gone: lock } : { name: lock.name },
  );
  await executor.system(org, { type: "free-locks", locks, here: environment.hostId });
}
