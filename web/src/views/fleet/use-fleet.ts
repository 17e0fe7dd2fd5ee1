// What the fleet view knows: sessions with all that they hold, how each fares, and how many fare so, shown or not.

import { useMemo } from "react";
import {
  isWeak,
  type SessionEntry,
  type SessionHealth,
  sessionHealth,
} from "../../../../src/client/view/health.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { dibs, type OperationNamed, type OutputOf } from "../../data/dibs.js";
import { useLive, useNow } from "../../data/live.js";
import { useProjects } from "../../data/projects.js";
import { useTaskIndex } from "../../data/tasks.js";

/** In the order of who needs somebody most. */
export const healths: readonly SessionHealth[] = ["waiting", "stalled", "lost", "working", "idle"];
const shownMax = 1000;

export interface Member {
  session: SessionEntry;
  health: SessionHealth;
  /** What it holds besides its current task. */
  others: readonly WireTaskRow[];
}

export const keyOf = ({ session: { project, id } }: Member) => `${project} ${id}`;

export function useFleet(project: string) {
  const now = useNow();
  const live = useLive(`fleet ${project}`, () => dibs.sessions.summary({ project, limit: shownMax }), {
    everyMs: 10_000,
    calmMs: 200,
  });
  const held = useHeld();
  const projects = useProjects();
  const members = (live.data?.sessions ?? []).map((session): Member => {
    const current = session.currentTask?.taskId;
    const others = (held.get(`${session.project} ${session.id}`) ?? []).filter(({ id }) => id !== current);
    const patience = projects?.find(({ id }) => id === session.project)?.settings.claim;
    const health = neediest(sessionHealth(session, now, patience), others, now);
    return { session, health, others };
  });
  members.sort((a, b) => rank(a) - rank(b) || byStart(a.session, b.session));
  return { live, now, members, counts: countsOf(members, live.data?.totals) };
}

/** What is in flight, by who holds it. */
function useHeld(): ReadonlyMap<string, WireTaskRow[]> {
  const index = useTaskIndex();
  const rows = index.rows();
  return useMemo(() => {
    const held = new Map<string, WireTaskRow[]>();
    for (const row of rows) {
      if (!row.claim) continue;
      const key = `${row.project} ${row.claim.sessionId}`;
      const those = held.get(key);
      if (those) those.push(row);
      else held.set(key, [row]);
    }
    return held;
  }, [rows]);
}

/** A session fares as badly as the task for which it needs somebody most. */
function neediest(health: SessionHealth, others: readonly WireTaskRow[], now: number): SessionHealth {
  if (health !== "working" && health !== "stalled") return health;
  if (others.some(({ state }) => state === "awaiting_response")) return "waiting";
  return others.some(({ claim }) => claim && isWeak(claim, now)) ? "stalled" : health;
}

const rank = ({ health }: Member) => healths.indexOf(health);
const byStart = (a: SessionEntry, b: SessionEntry) =>
  a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : a.id < b.id ? -1 : 1;

type Totals = OutputOf<OperationNamed<"sessions.summary">>["totals"];

/** If not all are there, the store has left out those that need nobody: they work, or hold nothing. */
function countsOf(members: readonly Member[], totals: Totals | undefined): Record<SessionHealth, number> {
  const counts = { waiting: 0, stalled: 0, lost: 0, working: 0, idle: 0 };
  for (const { health } of members) counts[health]++;
  const alive = members.filter(({ session }) => session.endedAt === null);
  const holding = alive.filter(({ session }) => session.currentTask !== null).length;
  if (!totals || totals.sessions <= alive.length) return counts;
  counts.working += Math.max(0, totals.working - holding);
  counts.idle += Math.max(0, totals.idle - (alive.length - holding));
  return counts;
}
