// After kill -9 of a runner and its watchdog, the command may still run. A task must not run twice at once, so claims name
// their process groups, and the next claim on the same host ends what is left of earlier groups first.

import type { Dibs } from "../client/client.js";
import { DibsError } from "../contract/error.js";
import type { WireAttempt } from "../contract/shapes.js";
import type { GroupRecord } from "./group.js";
import { argumentsOf, endGroup, environmentOf, type Machine, membersOf } from "./processes.js";

/** The key of the group in the metadata of its claim. */
export const recordName = "runner";

const attemptsMax = 20;

interface ClaimedAttempt {
  project: string;
  taskId: string;
  epoch: number;
}

/** Ends what earlier attempts at this task left running on this host; answers the groups that it ended. */
export async function endSurvivors(
  dibs: Dibs,
  { project, taskId, epoch }: ClaimedAttempt,
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
 * The metadata alone is not trusted: any session that claims can write it. So the first process must be a watchdog of that
 * session; if it is gone, the remaining processes must have been started for that claim.
 */
function isStillThere(attempt: WireAttempt, record: GroupRecord, machine: Machine): boolean {
  const { pid, pgid, processStartedAt } = record;
  const members = membersOf(pgid);
  if (members.includes(pid)) {
    return machine.isAlive(pid, processStartedAt) && isWatchdogOf(pid, attempt.sessionId);
  }
  return members.some((member) => isOf(member, attempt));
}

function isWatchdogOf(pid: number, sessionId: string): boolean {
  const words = argumentsOf(pid);
  return words.some((word) => /\bwatchdog\.[jt]s$/.test(word)) && words.includes(sessionId);
}

function isOf(pid: number, { taskId, sessionId, epoch }: WireAttempt): boolean {
  const environment = environmentOf(pid);
  return [`DIBS_TASK=${taskId}`, `DIBS_SESSION=${sessionId}`, `DIBS_EPOCH=${epoch}`].every((each) =>
    environment.includes(each),
  );
}
