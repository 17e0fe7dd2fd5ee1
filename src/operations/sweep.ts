// Recovery of what dead processes hold. Leases end by themselves (every claim sweeps what is due); a process of this host that
// is gone need not be waited for: its pid and start time tell.

import { limits } from "../core/limits.js";
import { isLive, type Session } from "../core/session.js";
import type { Executor } from "./execute.js";

interface Dead {
  project: string;
  sessionId: string;
  incarnation: number;
}

function isGone(session: Session | undefined, { environment }: Executor): session is Session {
  if (!isLive(session) || session.pid === null || session.host !== environment.hostId) return false;
  return !environment.isAlive(session.pid, session.processStartedAt);
}

const named = ({ project, id, incarnation }: Session): Dead => ({ project, sessionId: id, incarnation });

async function endSessions(executor: Executor, org: string, dead: Dead[]): Promise<Swept[]> {
  const swept: Swept[] = [];
  for (const session of dead) {
    const outcome = await executor.system(org, { type: "end-session", reason: "process_gone", ...session });
    if (!outcome.ok) continue;
    const { released } = outcome.value as { released: Omit<Swept, "project">[] };
    for (const each of released) swept.push({ project: session.project, ...each });
  }
  return swept;
}

export interface Swept {
  project: string;
  taskId: string;
  sessionId: string;
  reason: string;
}

/** Ends every live session of this host whose process is gone. */
export async function endDeadSessions(executor: Executor, org: string): Promise<Swept[]> {
  const dead = await executor.store.read(org, (view) =>
    view
      .sessions({ project: null, live: true, limit: limits.openClaimsMax })
      .filter((session) => isGone(session, executor))
      .map(named),
  );
  return endSessions(executor, org, dead);
}

/** Looking is shared: however many wait, processes are looked at once in this time. */
const lookEveryMs = 500;
const looks = new WeakMap<Executor, Map<string, { at: number; found: Promise<Swept[]> }>>();

export function isTimeToLook(executor: Executor, org: string): boolean {
  const last = looks.get(executor)?.get(org);
  return !last || performance.now() - last.at >= lookEveryMs;
}

/** The same for those that hold something, for all who ask at about the same time. */
export function endDeadHolders(executor: Executor, org: string): Promise<Swept[]> {
  const byOrg = looks.get(executor) ?? new Map();
  looks.set(executor, byOrg);
  const last = byOrg.get(org);
  if (last && !isTimeToLook(executor, org)) return last.found;
  const found = lookForDeadHolders(executor, org);
  byOrg.set(org, { at: performance.now(), found });
  return found;
}

async function lookForDeadHolders(executor: Executor, org: string): Promise<Swept[]> {
  const dead = await executor.store.read(org, (view) => {
    const holders = new Set<string>();
    const found: Dead[] = [];
    for (const { project, sessionId } of view.openClaims({ project: null, limit: limits.openClaimsMax })) {
      if (holders.has(`${project}/${sessionId}`)) continue;
      holders.add(`${project}/${sessionId}`);
      const session = view.session(project, sessionId);
      if (isGone(session, executor)) found.push(named(session));
    }
    return found;
  });
  return endSessions(executor, org, dead);
}

/** The same for the holder of one task, before somebody else asks for it or answers its question. */
export async function endDeadHolder(
  executor: Executor,
  org: string,
  project: string,
  taskId: string,
): Promise<void> {
  const dead = await executor.store.read(org, (view) => {
    const claim = view.claim(project, taskId);
    const session = claim && view.session(project, claim.sessionId);
    return isGone(session, executor) ? [named(session)] : [];
  });
  if (dead.length > 0) await endSessions(executor, org, dead);
}
