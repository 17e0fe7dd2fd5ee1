// What of the work in flight is nobody's any more. Lists free what a dead process of this host holds before they answer; a check-up
// is to show it first, so it asks only what changes nothing.

import type { Dibs } from "../../../client/client.js";
import { DibsError } from "../../../contract/error.js";
import { type Context, given } from "../context.js";
import type { Finding } from "../print/check-up.js";

const check = "claims";
const namesMax = 5;

export async function claimsFinding(context: Context, dibs: Dibs): Promise<Finding> {
  return context.on("fix") ? freed(dibs) : lookedAt(context, dibs);
}

async function freed(dibs: Dibs): Promise<Finding> {
  const { cleaned } = await dibs.claims.cleanup();
  if (cleaned.length === 0) return { check, status: "ok", message: "nothing is held by the dead" };
  const names = cleaned.map(({ taskId, sessionId }) => `${taskId} (${sessionId})`);
  return { check, status: "fixed", message: `${cleaned.length} taken from the dead: ${named(names)}` };
}

async function lookedAt(context: Context, dibs: Dibs): Promise<Finding> {
  const { active, expired, orphaned } = await dibs.claims.stats({ project: "*" });
  const dead = await deadHolders(context, dibs);
  const troubles = [
    ...(dead.length > 0 ? [`the process is gone of ${named(dead)}`] : []),
    ...(orphaned > 0 ? [`${orphaned} held by sessions that are over or silent`] : []),
    ...(expired > 0 ? [`${expired} out of time`] : []),
  ];
  if (troubles.length === 0) return { check, status: "ok", message: `${active} in flight` };
  return {
    check,
    status: "warn",
    message: `${active + expired} in flight; ${troubles.join("; ")}`,
    advice: "The next claim or list takes care of them; dibs doctor --fix does so now",
  };
}

/** Sessions that hold something and whose process on this machine is gone, as people call them. */
async function deadHolders(context: Context, dibs: Dibs): Promise<string[]> {
  const { projects } = await dibs.projects.list({ limit: 1000 });
  const found: string[] = [];
  for (const { id: project } of projects) {
    const { bySession } = await dibs.claims.stats({ project });
    for (const [sessionId, count] of Object.entries(bySession)) {
      const session = await sessionOf(dibs, { project, sessionId });
      if (!session || !(await isGone(context, session))) continue;
      found.push(`${sessionId} (${count === 1 ? (session.currentTaskId ?? "1 task") : `${count} tasks`})`);
    }
  }
  return found;
}

type Session = Awaited<ReturnType<Dibs["sessions"]["get"]>>["session"];

async function isGone({ parts }: Context, { pid, host, processStartedAt }: Session): Promise<boolean> {
  if (pid === null || host === null) return false;
  return parts.health.isGone({ pid, host, ...given({ processStartedAt: processStartedAt ?? undefined }) });
}

/** Null: it has ended in between. */
async function sessionOf(dibs: Dibs, input: { project: string; sessionId: string }): Promise<Session | null> {
  try {
    return (await dibs.sessions.get(input)).session;
  } catch (error) {
    if (error instanceof DibsError && error.code === "SESSION_NOT_FOUND") return null;
    throw error;
  }
}

export function named(names: readonly string[]): string {
  const rest = names.length - namesMax;
  return names.slice(0, namesMax).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
