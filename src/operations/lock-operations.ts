import type { WireLock } from "../contract/shapes.js";
import type { AcquireLockCommand, ReleaseLockCommand } from "../core/command.js";
import { type Lock, type LockHolder, lockExpiry, lockKind, toLock } from "../core/lock.js";
import { accept } from "../core/refusal.js";
import { type CallContext, forCommand, forQuery } from "./handler.js";
import { isHeld } from "./locks.js";
import { recoverLock } from "./preparations.js";
import { iso } from "./render.js";

interface HolderInput {
  project?: string | undefined;
  pid?: number | undefined;
  host?: string | undefined;
  processStartedAt?: string | undefined;
  sessionId?: string | undefined;
}

/** A pid without a host is one of this host, unless the caller might be on another. */
function holderOf(input: HolderInput, { caller, environment }: CallContext): LockHolder {
  const { pid = null, processStartedAt = null, sessionId = null } = input;
  return {
    pid,
    host: pid === null ? null : (input.host ?? (caller.isElsewhere ? null : environment.hostId)),
    processStartedAt: pid === null ? null : processStartedAt,
    project: input.project ?? caller.project,
    sessionId,
    owner: caller.token ?? null,
  };
}

function wireLock(lock: Lock, here: string, holderAlive: boolean): WireLock {
  const { name, pid, host, processStartedAt, sessionId, owner } = lock;
  const expiresAt = lockExpiry(lock, here);
  return {
    name,
    pid,
    host,
    processStartedAt,
    sessionId,
    owner,
    acquiredAt: iso(lock.acquiredAt),
    expiresAt: expiresAt === null ? null : iso(expiresAt),
    holderAlive,
    metadata: lock.metadata as WireLock["metadata"],
  };
}

export const lockOperations = {
  "locks.acquire": forCommand("locks.acquire", {
    prepare: recoverLock,
    command: (input, context): AcquireLockCommand => {
      const { environment } = context;
      const holder = holderOf(input, context);
      const { name, ttlMs, metadata, sessionId } = input;
      const isHere = holder.pid !== null && holder.host === environment.hostId;
      if (isHere) holder.processStartedAt ??= environment.processStart(holder.pid!);
      const { project } = holder;
      const here = environment.hostId;
      return { type: "acquire-lock", project, name, holder, sessionId, ttlMs, metadata, here };
    },
    answer: (_view, lock, { here }) => {
      // A process of this host that had no start was not there.
      const isThere = lock.pid === null || lock.host !== here || lock.processStartedAt !== null;
      return { success: true, lock: wireLock(lock, here, isThere) };
    },
  }),
  "locks.release": forCommand("locks.release", {
    prepare: recoverLock,
    command: (input, context): ReleaseLockCommand => {
      const holder = holderOf(input, context);
      const { name, sessionId, force } = input;
      const { project } = holder;
      const here = context.environment.hostId;
      return { type: "release-lock", project, name, holder, sessionId, force, here };
    },
    answer: (_view, { released }) => ({ success: true, released }),
  }),
  "locks.get": forQuery("locks.get", {
    // Reads no task.
    sweeps: false,
    query: (view, { name }, { environment }, now) => {
      const value = view.document(lockKind, name);
      const held = value !== undefined && isHeld(view, toLock(value), environment, now);
      return accept({ lock: held ? wireLock(toLock(value), environment.hostId, true) : null });
    },
  }),
  "locks.list": forQuery("locks.list", {
    // Reads no task.
    sweeps: false,
    query: (view, { limit, cursor }, { environment }, now) => {
      const found = view.documents({ kind: lockKind, afterKey: cursor, limit: limit + 1 });
      const page = found.slice(0, limit);
      const held = page
        .map(({ value }) => toLock(value))
        .filter((lock) => isHeld(view, lock, environment, now));
      return accept({
        locks: held.map((lock) => wireLock(lock, environment.hostId, true)),
        nextCursor: found.length > page.length ? page.at(-1)!.key : null,
      });
    },
  }),
};
