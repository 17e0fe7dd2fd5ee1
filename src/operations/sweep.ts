// Recovery of what dead processes hold. Leases expire by themselves (every claim sweeps what is due). A
// process of this host need not be waited for: its pid and start time show whether it still runs.

import { limits } from "../core/limits.js";
import { canRead, isUnreadable } from "../core/refusal.js";
import { isLive, type Session } from "../core/session.js";
import type { Environment } from "./environment.js";
import type { Executor } from "./execute.js";

/** A live session whose process was on this host and has ended. */
export function isGone(session: Session, environment: Environment): boolean {
  if (!isLive(session) || session.pid === null || session.host !== environment.hostId) return false;
  return !environment.isAlive(session.pid, session.processStartedAt);
}

/** A session with an unreadable row must not prevent that the others are ended. */
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

/** Ends every live session of this host whose process has ended. */
export async function endDeadSessions(executor: Executor, org: string): Promise<Swept[]> {
  const filter = { project: null, live: true, limit: limits.openClaimsMax, readableOnly: true };
  return endIfGone(executor, org, await executor.store.read(org, (view) => view.sessions(filter)));
}

/** Like performance.now(), which takes longer to load than a scan takes. */
export const monotonicMs = () => process.uptime() * 1000;

/** Calls share scans: however many wait, processes are checked once in this time. */
const scanEveryMs = 500;

interface Scan {
  startedAt: number;
  found: Promise<Swept[]>;
}

/** One scan per org for all calls of about the same time. */
class SharedScan {
  private readonly last = new WeakMap<Executor, Map<string, Scan>>();

  constructor(private readonly scan: (executor: Executor, org: string) => Promise<Swept[]>) {}

  isDue(executor: Executor, org: string): boolean {
    const last = this.last.get(executor)?.get(org);
    return !last || monotonicMs() - last.startedAt >= scanEveryMs;
  }

  recent(executor: Executor, org: string): Promise<Swept[]> {
    return this.startedAfter(executor, org, monotonicMs() - scanEveryMs);
  }

  /** The result of a scan that started after `since`: it finds every process that had ended by then. */
  startedAfter(executor: Executor, org: string, since: number): Promise<Swept[]> {
    const byOrg = this.last.get(executor) ?? new Map<string, Scan>();
    this.last.set(executor, byOrg);
    const last = byOrg.get(org);
    if (last && last.startedAt > since) return last.found;
    const scan: Scan = { startedAt: Number.POSITIVE_INFINITY, found: Promise.resolve([]) };
    byOrg.set(org, scan);
    scan.found = this.start(executor, org, scan, last?.found);
    return scan.found;
  }

  /** One after the other. A scan that has not started yet will start after any time that a call asks for. */
  private async start(
    executor: Executor,
    org: string,
    scan: Scan,
    before?: Promise<Swept[]>,
  ): Promise<Swept[]> {
    await before;
    scan.startedAt = monotonicMs();
    // Best effort: if the store cannot be read now, the next scan might succeed.
    return this.scan(executor, org).catch(() => []);
  }
}

const holders = new SharedScan(scanHolders);
const sessions = new SharedScan(endDeadSessions);
const overdue = new SharedScan(async (executor, org) => {
  await executor.readSwept(org, () => null);
  return [];
});

export function isHolderScanDue(executor: Executor, org: string): boolean {
  return holders.isDue(executor, org);
}

/** Ends dead sessions that hold a task, by a shared scan. Claims and lists of tasks need no more. */
export function endDeadHolders(executor: Executor, org: string): Promise<Swept[]> {
  return holders.recent(executor, org);
}

/** The same, by a scan that started after `since`. */
export function endDeadHoldersSince(executor: Executor, org: string, since: number): Promise<Swept[]> {
  return holders.startedAfter(executor, org, since);
}

/**
 * For waiting claims: a lease can expire that had not begun, or was longer, when they last tried. Its end
 * wakes them.
 */
export async function endOverdueLeases(executor: Executor, org: string): Promise<void> {
  await overdue.recent(executor, org);
}

/** Ends all dead sessions, idle ones too, by a shared scan. */
export function endDeadSessionsShared(executor: Executor, org: string): Promise<Swept[]> {
  return sessions.recent(executor, org);
}

async function scanHolders(executor: Executor, org: string): Promise<Swept[]> {
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

/** Ends the session that holds this task, if its process has ended. */
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
