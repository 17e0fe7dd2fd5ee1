// What is nobody's any more: the work in flight of the dead, and dead sessions that hold nothing. Lists end what a dead process of
// this host has left before they answer; a check-up is to show it first, so it asks only what changes nothing.

import type { Dibs } from "../../../client/client.js";
import type { Context } from "../context.js";
import { heldBackText } from "../print/breaker.js";
import type { Finding } from "../print/doctor.js";

const namesMax = 5;

export async function claimsFindings(context: Context, dibs: Dibs): Promise<Finding[]> {
  const { dead = [], ...counts } = await dibs.claims.stats({ project: "*", dead: true });
  const stats = { ...counts, dead };
  const claims = context.on("fix") ? await ended(dibs, stats) : lookedAt(stats);
  return [...claims, ...agentFindings(stats, context.parts.now())];
}

/** Agent types that fail at once, on any host. */
function agentFindings({ breakers = [] }: Stats, now: number): Finding[] {
  return breakers.map((breaker) => ({
    check: "agents",
    status: "warn",
    message: heldBackText(breaker, now),
    advice: "dibs inbox shows the last error. After a fix, run: dibs work --once -- <command>",
  }));
}

type Answer = Awaited<ReturnType<Dibs["claims"]["stats"]>>;
type Stats = Answer & { dead: NonNullable<Answer["dead"]> };

async function ended(dibs: Dibs, { dead }: Stats): Promise<Finding[]> {
  const { cleaned } = await dibs.claims.cleanup();
  const names = cleaned.map(({ taskId, sessionId }) => `${taskId} (${sessionId})`);
  const claims: Finding =
    cleaned.length === 0
      ? { check: "claims", status: "ok", message: "no claims of dead processes" }
      : {
          check: "claims",
          status: "fixed",
          message: `${cleaned.length} returned to the queue, of dead processes: ${named(names)}`,
        };
  const idle = idleOf(dead);
  if (idle.length === 0) return [claims];
  return [
    claims,
    { check: "sessions", status: "fixed", message: `ended sessions of dead processes: ${named(idle)}` },
  ];
}

function lookedAt({ active, expired, orphaned, dead }: Stats): Finding[] {
  const holders = dead.filter(({ taskIds }) => taskIds.length > 0).map(holderName);
  const troubles = [
    ...(holders.length > 0 ? [`no process runs for ${named(holders)}`] : []),
    ...(orphaned > 0 ? [`${orphaned} held by sessions that ended or are silent`] : []),
    ...(expired > 0 ? [`${expired} expired`] : []),
  ];
  const claims: Finding =
    troubles.length === 0
      ? { check: "claims", status: "ok", message: `${active} in flight` }
      : {
          check: "claims",
          status: "warn",
          message: `${active + expired} in flight; ${troubles.join("; ")}`,
          advice: "The next claim or list takes care of them; dibs doctor --fix does so now",
        };
  const idle = idleOf(dead);
  if (idle.length === 0) return [claims];
  const sessions: Finding = {
    check: "sessions",
    status: "warn",
    message: `no process runs for ${named(idle)}`,
    advice: "dibs sessions ends them, and so does dibs doctor --fix",
  };
  return [claims, sessions];
}

const holderName = ({ sessionId, taskIds }: Stats["dead"][number]) =>
  `${sessionId} (${taskIds.length === 1 ? taskIds[0] : `${taskIds.length} tasks`})`;

const idleOf = (dead: Stats["dead"]) =>
  dead.filter(({ taskIds }) => taskIds.length === 0).map(({ sessionId }) => sessionId);

export function named(names: readonly string[]): string {
  const rest = names.length - namesMax;
  return names.slice(0, namesMax).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
