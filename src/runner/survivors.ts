// After kill -9 of a runner its command may live on, and a task must not be worked on twice at once. Claims name their groups;
// whoever claims next on the same host ends what is left of the earlier ones first.

import type { Dibs } from "../client/client.js";
import { DibsError } from "../contract/error.js";
import type { WireAttempt } from "../contract/shapes.js";
import type { GroupRecord } from "./group.js";
import { argumentsOf, endGroup, environmentOf, type Machine, membersOf } from "./processes.js";

/** The name under which a group stands in the metadata of its claim. */
export const recordName = "runner";

const attemptsMax = 20;

interface Claimed {
  project: string;
  taskId: string;
  epoch: number;
}

/** Ends what earlier attempts at this task left running on this host; answers the groups that it ended. */
export async function endSurvivors(
  dibs: Dibs,
  { project, taskId, epoch }: Claimed,
  machine: Machine,
  graceMs: number,
): Promise<number[]> {
  const { attempts } = await dibs.tasks.attempts({ project, taskId, limit: attemptsMax });
  const ended: number[] = [];
  for (const attempt of attempts) {
    const record = recordOf(attempt);
    if (attempt.epoch >= epoch || record?.host !== machine.hostId) continue;
    if (!isStillThere(attempt, record, machine)) continue;
    if (!(await endGroup(record.pgid, graceMs))) {
      throw new DibsError("INTERNAL", `Process group ${record.pgid} of epoch ${attempt.epoch} does not end.`);
    }
    ended.push(record.pgid);
  }
  return ended;
}

function recordOf({ metadata }: WireAttempt): GroupRecord | null {
  const record = metadata?.[recordName] as Partial<GroupRecord> | null | undefined;
  if (typeof record !== "object" || record === null) return null;
  const { host, pid, pgid, processStartedAt } = record;
  const isWhole = typeof host === "string" && isPid(pid) && pid === pgid;
  if (!isWhole || typeof processStartedAt !== "string") return null;
  return { host, pid, pgid, processStartedAt };
}

const isPid = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 1;

/**
 * What a store says is not enough to kill for: anybody who may claim can write metadata. So the first process must be a warden of
 * that session; if it is gone, those that are left must have been started for that claim.
 */
function isStillThere(attempt: WireAttempt, record: GroupRecord, machine: Machine): boolean {
  const { pid, pgid, processStartedAt } = record;
  const members = membersOf(pgid);
  if (members.includes(pid)) {
    return machine.isAlive(pid, processStartedAt) && isWardenOf(pid, attempt.sessionId);
  }
  return members.some((member) => isOf(member, attempt));
}

function isWardenOf(pid: number, sessionId: string): boolean {
  const words = argumentsOf(pid);
  return words.some((word) => /\bwarden\.[jt]s$/.test(word)) && words.includes(sessionId);
}

function isOf(pid: number, { taskId, sessionId, epoch }: WireAttempt): boolean {
  const environment = environmentOf(pid);
  return [`DIBS_TASK=${taskId}`, `DIBS_SESSION=${sessionId}`, `DIBS_EPOCH=${epoch}`].every((each) =>
    environment.includes(each),
  );
}
