// report-usage: what an attempt has cost. Agents report it as they go, or after the end.

import type { Attempt, Claim } from "../claim.js";
import type { ReportUsageCommand } from "../command.js";
import { addedUsage, isCostKnown, mergedUsage, sumOfUsage, type Usage, usageFields } from "../cost.js";
import type { Draft } from "../draft.js";
import { lateUsageMs, limits } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { resourceOf, shownUses } from "../resource.js";
import { stateOf, type Task } from "../task.js";
import { taskNotFound } from "./holder.js";
import { heldByOther, notClaimed, otherEpoch } from "./not-holder.js";
import { charge, stillUnreported } from "./take.js";

export interface Reported {
  epoch: number;
}

export function reportUsage(draft: Draft, command: ReportUsageCommand): Outcome<Reported> {
  const { project, taskId } = command;
  const task = draft.task(project, taskId);
  if (!task) return taskNotFound(draft, project, taskId);
  const found = leaseOf(draft, command);
  if (!found.ok) return found;
  const lease = found.value;
  const usage = mergedUsage(lease.usage, reported(command));
  if (JSON.stringify(usage) === JSON.stringify(lease.usage)) return accept({ epoch: lease.epoch });
  const added = addedUsage(lease.usage, usage);
  if ("end" in lease) {
    const attempt = { ...lease, usage };
    draft.putAttempt({ ...attempt, unreported: stillUnreported(draft, attempt) });
  } else draft.putClaim({ ...lease, usage });
  const isMore = usageFields.some((field) => added[field] !== null);
  if (isMore) draft.putTask({ ...draft.task(project, taskId)!, usage: sumOfUsage(task.usage, added) });
  const tokens = (added.inputTokens ?? 0) + (added.outputTokens ?? 0);
  for (const id in lease.uses) {
    if (resourceOf(draft, id)) charge(draft, id, { usd: added.usd ?? 0, tokens }, project);
  }
  const after = draft.task(project, taskId)!;
  const isNewlyKnown = after.state === "completed" && isCostKnown(after) && !isCostKnown(task);
  draft.emit("task:usage", {
    project,
    taskId,
    sessionId: lease.sessionId,
    epoch: lease.epoch,
    actor: `agent:${lease.sessionId}`,
    data: {
      ...usage,
      added,
      agentType: lease.agentType,
      labels: task.labels,
      ...(isNewlyKnown ? { costKnown: true, landed: after.landed !== null } : {}),
      resources: Object.keys(shownUses(lease.uses)),
    },
  });
  return accept({ epoch: lease.epoch });
}

function reported({ usd, inputTokens, outputTokens, model }: ReportUsageCommand): Partial<Usage> {
  return {
    ...(usd === undefined ? {} : { usd }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(model === undefined ? {} : { model }),
  };
}

/** The open claim of the session, or its attempt that ended not too long ago. */
function leaseOf(draft: Draft, command: ReportUsageCommand): Outcome<Claim | Attempt> {
  const { project, taskId, sessionId, epoch } = command;
  const task = draft.task(project, taskId)!;
  const claim = draft.claim(project, taskId);
  if (claim?.sessionId === sessionId && (epoch === undefined || epoch === claim.epoch)) return accept(claim);
  const ofEpoch =
    epoch ??
    draft.view.attempts(project, taskId, limits.historyMax).find((each) => each.sessionId === sessionId)
      ?.epoch;
  const attempt = ofEpoch === undefined ? undefined : draft.attempt(project, taskId, ofEpoch);
  if (!attempt) return noSuchAttempt(task, claim, command);
  if (attempt.sessionId !== sessionId) {
    const message = `Attempt ${attempt.epoch} of task ${taskId} was by session ${attempt.sessionId}, not by ${sessionId}.`;
    return refuse("NOT_CLAIM_OWNER", message, {
      hint: `Run: dibs usage ${taskId} --session ${attempt.sessionId} --epoch ${attempt.epoch}`,
      details: { taskId, epoch: attempt.epoch, state: stateOf(task, claim) },
    });
  }
  // Another worker has the id since then: it is not the holder.
  const session = draft.session(project, sessionId);
  if (session && session.startedAt > attempt.claimedAt) {
    const message = `Attempt ${attempt.epoch} of task ${taskId} was by an earlier session ${sessionId}, which has ended.`;
    return refuse("NOT_CLAIM_OWNER", message, {
      hint: `Its usage can no longer be reported. Run: dibs show ${taskId}`,
      details: { taskId, epoch: attempt.epoch, state: stateOf(task, claim) },
    });
  }
  return Math.abs(draft.now - attempt.releasedAt) <= lateUsageMs ? accept(attempt) : tooLate(attempt);
}

function noSuchAttempt(task: Task, claim: Claim | undefined, command: ReportUsageCommand): Refusal {
  const { taskId, sessionId, epoch } = command;
  if (claim?.sessionId === sessionId && epoch !== undefined) return otherEpoch(claim, epoch);
  if (claim) return heldByOther(claim, command);
  if (epoch === undefined || task.epoch === 0) return notClaimed(task, sessionId);
  return refuse("STALE_EPOCH", `Task ${taskId} has no attempt ${epoch}; the last one is ${task.epoch}.`, {
    hint: `Run: dibs show ${taskId}`,
    details: { taskId, sessionId, epoch: task.epoch },
  });
}

function tooLate({ taskId, epoch, releasedAt }: Attempt): Refusal {
  return refuse("CLAIM_EXPIRED", `Attempt ${epoch} of task ${taskId} ended more than 24 hours ago.`, {
    hint: "Usage is accepted for 24 hours after the end of an attempt.",
    details: { taskId, epoch, releasedAt },
  });
}
