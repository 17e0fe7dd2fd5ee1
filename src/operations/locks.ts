// Locks of dead processes. A process of this host that is gone holds nothing: its pid and start time tell.

import { limits } from "../core/limits.js";
import { isFromFuture, isLockOver, type Lock, lockKind, toLock } from "../core/lock.js";
import type { Reads } from "../core/view.js";
import type { Environment } from "./environment.js";
import type { Executor } from "./execute.js";

/** Its process was one of this host and is gone. */
export function isHolderGone(lock: Lock, environment: Environment): boolean {
  if (lock.pid === null || lock.host !== environment.hostId) return false;
  return !environment.isAlive(lock.pid, lock.processStartedAt);
}

export function isHeld(view: Reads, lock: Lock, environment: Environment, now: number): boolean {
  return !isLockOver(view, lock, environment.hostId, now) && !isHolderGone(lock, environment);
}

/** Names are made up and left behind (`…_fork_…`), so now and then all locks are looked at. */
const lookAtAllMs = 60_000;
const lookedAt = new WeakMap<Executor, Map<string, number>>();
const orgsMax = 10_000;

function isTimeToLookAtAll(executor: Executor, org: string): boolean {
  const byOrg = lookedAt.get(executor) ?? new Map<string, number>();
  lookedAt.set(executor, byOrg);
  const now = performance.now();
  if (now - (byOrg.get(org) ?? Number.NEGATIVE_INFINITY) < lookAtAllMs) return false;
  if (byOrg.size >= orgsMax) byOrg.clear();
  byOrg.set(org, now);
  return true;
}

/** Frees the lock of this name if its holder is dead, cuts it if it is from the future, and now and then all such. */
export async function freeDeadLocks(executor: Executor, org: string, name: string): Promise<void> {
  const { environment } = executor;
  const all = isTimeToLookAtAll(executor, org);
  const found = await executor.store.read(org, (view, now) => {
    const named = view.document(lockKind, name);
    const locks = all
      ? view
          .documents({ kind: lockKind, limit: limits.pageMax, readableOnly: true })
          .map(({ value }) => toLock(value))
      : [];
    const looked = named ? [toLock(named), ...locks] : locks;
    return looked.filter((lock) => isFromFuture(lock, now) || !isHeld(view, lock, environment, now));
  });
  if (found.length === 0) return;
  const locks = found.map((lock) =>
    isHolderGone(lock, environment) ? { name: lock.name, gone: lock } : { name: lock.name },
  );
  await executor.system(org, { type: "free-locks", locks, here: environment.hostId });
}
