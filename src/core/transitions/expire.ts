// expire, orphan, time out: a lease that is over is over at that instant, whoever notices first. So every command on a task settles
// that task first, and every claim sweeps what is due: no answer depends on whether a sweeper has run.

import { isOver, overReason } from "../claim.js";
import type { SettleCommand, SweepCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, canRead, type Outcome } from "../refusal.js";
import { cutForgottenLeases } from "./clock.js";
import { lose } from "./close.js";
import { timeOut } from "./fail.js";

export interface Swept {
  project: string;
  taskId: string;
  sessionId: string;
  reason: string;
}

function settleTask(draft: Draft, project: string, taskId: string): Swept | null {
  const claim = draft.claim(project, taskId);
  const task = claim && isOver(claim, draft.now) ? draft.task(project, taskId) : undefined;
  if (!claim || !task) return null;
  const reason = overReason(claim);
  if (reason === "timeout") timeOut(draft, task, claim);
  else lose(draft, task, claim, { end: reason === "session_silent" ? "orphan" : "expire", reason });
  return { project, taskId, sessionId: claim.sessionId, reason };
}

export function settle(draft: Draft, command: SettleCommand): Outcome<null> {
  for (const taskId of command.taskIds) settleTask(draft, command.project, taskId);
  return accept(null);
}

export function sweep(draft: Draft, { limit, also, thorough }: SweepCommand): Outcome<Swept[]> {
  if (thorough) cutForgottenLeases(draft);
  const swept: Swept[] = [];
  for (const { project, taskId } of [...(also ? [also] : []), ...draft.view.due(draft.now, limit)]) {
    // A row that is damaged must not keep all others from being claimed.
    const one = isReadable(draft, project, taskId) ? settleTask(draft, project, taskId) : null;
    if (one) swept.push(one);
  }
  return accept(swept);
}

/** All that settling looks at, before it changes anything. */
function isReadable(draft: Draft, project: string, taskId: string): boolean {
  return canRead(() => {
    draft.view.project(project);
    draft.task(project, taskId);
    const claim = draft.claim(project, taskId);
    if (claim) draft.record(project, claim.sessionId);
  });
}
