// Recovery of what dead processes hold. Leases end by themselves (every claim sweeps what is due); a process of this host that
// is gone need not be waited for: its pid and start time tell.

import { limits } from "../core/limits.js";
import { canRead, isUnreadable } from "../core/refusal.js";
import { isLive, type Session } from "../core/session.js";
import type { Environment } from "./environment.js";
import type { Executor } from "./execute.js";

/** It is not ended, but its process on this host is. */
export function isGone(session: Session, environment: Environment): boolean {
  if (!isLive(session) || session.pid === null || session.host !== environment.hostId) return false;
  return !environment.isAlive(session.pid, session.processStartedAt);
}

/** A session of which something is unreadable must not keep the others from being ended. */
function passOver(error: unknown): null {
  if (isUnreadable(error)) return null;
  throw error;
}

async function endIfGone(executor: Executor, org: string, sessions: Session[]): Promise<Swept[]> {
  const ended = sessions
    .filter((session) => isGone(session, executor.environment))
    .map(async ({ project, id, incarnation }) => {
      const command = { project, sessionId: id, incarnation, reason: "process_gone" } as const;
      const outcome = await executor.system(org, { type: "end-session", ...command }).catch(passOver);
      if (!outcome?.ok) return [];
      const { released } = outcome.value as { released: Omit<Swept, "project">[] };
      return released.map((each) => ({ project, ...each }));
    });
  return (await Promise.all(ended)).flat();
}

export interface Swept {
  project: string;
  taskId: string;
  sessionId: string;
  reason: string;
}

/** Ends every live session of this host whose process is gone. */
export async function endDeadSessions(executor: Executor, org: string): Promise<Swept[]> {
  const filter = { project: null, live: true, limit: limits.openClaimsMax, readableOnly: true };
  return endIfGone(executor, org, await executor.store.read(org, (view) => view.sessions(filter)));
}

/** As performance.now() tells it, which takes longer to load than a look. */
export const monotonicMs = () => process.uptime() * 1000;

/** Looking is shared: however many wait, processes are looked at once in this time. */
const lookEveryMs = 500;

interface Look {
  at: number;
  found: Promise<Swept[]>;
}

/** For all who ask at about the same time. */
class Looks {
  private readonly last = new WeakMap<Executor, Map<string, Look>>();

  constructor(private readonly look: (executor: Executor, org: string) => Promise<Swept[]>) {}

  isTime(executor: Executor, org: string): boolean {
    const last = this.last.get(executor)?.get(org);
    return !last || monotonicMs() - last.at >= lookEveryMs;
  }

  take(executor: Executor, org: string): Promise<Swept[]> {
    return this.takeSince(executor, org, monotonicMs() - lookEveryMs);
  }

  /** What a look finds that began after `since`: it sees every process that was dead by then. */
  takeSince(executor: Executor, org: string, since: number): Promise<Swept[]> {
    const byOrg = this.last.get(executor) ?? new Map<string, Look>();
    this.last.set(executor, byOrg);
    const last = byOrg.get(org);
    if (last && last.at > since) return last.found;
    const look: Look = { at: Number.POSITIVE_INFINITY, found: Promise.resolve([]) };
    byOrg.set(org, look);
    look.found = this.begin(executor, org, look, last?.found);
    return look.found;
  }

  /** One after the other. Until it begins, it will have begun after whatever is asked of it. */
  private async begin(
    executor: Executor,
    org: string,
    look: Look,
    before?: Promise<Swept[]>,
  ): Promise<Swept[]> {
    await before;
    look.at = monotonicMs();
    // Looking is a help: if the store cannot be read now, the next look may find more.
    return this.look(executor, org).catch(() => []);
  }
}

const holders = new Looks(lookForDeadHolders);
const everybody = new Looks(endDeadSessions);
const overdue = new Looks(async (executor, org) => {
  await executor.look(org, () => null);
  return [];
});

export function isTimeToLook(executor: Executor, org: string): boolean {
  return holders.isTime(executor, org);
}

/** Those that hold something: what claims and lists of tasks need to know. */
export function endDeadHolders(executor: Executor, org: string): Promise<Swept[]> {
  return holders.take(executor, org);
}

/** The same, by a look that began after `since`. */
export function endDeadHoldersSince(executor: Executor, org: string, since: number): Promise<Swept[]> {
  return holders.takeSince(executor, org, since);
}

/** For those who wait: a lease can end that had not begun, or was longer, when they last looked. Its end wakes them. */
export async function endOverdueLeases(executor: Executor, org: string): Promise<void> {
  await overdue.take(executor, org);
}

/** The idle ones too, before somebody asks who is here. */
export function noticeTheDead(executor: Executor, org: string): Promise<Swept[]> {
  return everybody.take(executor, org);
}

async function lookForDeadHolders(executor: Executor, org: string): Promise<Swept[]> {
  const found = await executor.store.read(org, (view) => {
    const sessions: Session[] = [];
    const seen = new Set<string>();
    const filter = { project: null, limit: limits.openClaimsMax, readableOnly: true };
    for (const { project, sessionId } of view.openClaims(filter)) {
      const key = `${project}/${sessionId}`;
      if (seen.has(key) || !canRead(() => view.session(project, sessionId))) continue;
      seen.add(key);
      const session = view.session(project, sessionId);
      if (session) sessions.push(session);
    }
    return sessions;
  });
  return endIfGone(executor, org, found);
}

/** The holder of one task, before somebody else asks for it or answers its question. */
export async function endDeadHolder(
  executor: Executor,
  org: string,
  project: string,
  taskId: string,
): Promise<void> {
  const holder = await executor.store.read(org, (view) => {
    const claim = view.claim(project, taskId);
    return claim && view.session(project, claim.sessionId);
  });
  if (holder) await endIfGone(executor, org, [holder]);
}
