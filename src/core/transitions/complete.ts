import { type Claim, workedMs } from "../claim.js";
import type { CompleteCommand } from "../command.js";
import { isCostKnown } from "../cost.js";
import type { Draft } from "../draft.js";
import { isObjectId } from "../landing.js";
import { limits } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import type { Task, TaskResult } from "../task.js";
import { closeBreaker } from "./breaker.js";
import { closeClaim, rememberAnswer } from "./close.js";
import { childrenOpen, resultProblem } from "./completable.js";
import { setFree } from "./finish.js";
import { type Holding, holderOf, keepLate, repeated } from "./holder.js";
import { notifyCompleted } from "./notification.js";
import { markStarted } from "./start.js";
import { isLandingOn, submitHeld } from "./submit.js";

export interface Completed {
  unblocked: string[];
  unblockedCount: number;
}

export function complete(draft: Draft, command: CompleteCommand): Outcome<Completed> {
  const holding = holderOf(draft, command, ["claimed", "running"]);
  if (!holding.ok) {
    const before = repeated(draft, command, "complete", "submit");
    if (before) {
      return accept({
        unblocked: before.answer?.unblocked ?? [],
        unblockedCount: before.answer?.unblockedCount ?? 0,
      });
    }
    keepLate(draft, command, holding, { result: command.result, error: null });
    return holding;
  }
  return completeHeld(draft, holding, command.result);
}

/** With landing on, a result is handed in; it is completed when it is on the target branch. */
export function completeHeld(
  draft: Draft,
  { task, claim, session }: Holding,
  result: TaskResult,
): Outcome<Completed> {
  if (isLandingOn(draft, task.project)) {
    const { branch, commit } = result;
    if (commit === undefined && isHandedInByRunner(claim)) return waitsForRunner(task);
    if (commit !== undefined && !isObjectId(commit)) return notACommit();
    const submitted = submitHeld(draft, task, claim, result, {
      branch,
      commit,
      host: session.host ?? undefined,
    });
    return submitted.ok ? accept({ unblocked: [], unblockedCount: 0 }) : submitted;
  }
  const refusal = resultProblem(result) ?? childrenOpen(task);
  if (refusal) return refusal;
  return accept(finish(draft, task, claim, result));
}

/** A runner names its process group in the claim, and hands in the worktree when the command ends. */
const isHandedInByRunner = ({ metadata }: Claim) => metadata?.runner !== undefined;

/** Without its commit, the task would be completed and its work stay in the worktree. */
function waitsForRunner({ id: taskId }: Task): Refusal {
  return refuse(
    "INVALID_STATE",
    `Task ${taskId} has a worktree, whose changes are submitted when the agent ends.`,
    {
      hint: `End with exit code 0, or run in the worktree: dibs done ${taskId}`,
      details: { taskId, isHandIn: true },
    },
  );
}

/** Whatever else git resolves to a commit, such as a branch, names another one later. */
function notACommit(): Refusal {
  const message = "result.commit must be a whole commit id of 40 or 64 hexadecimal digits.";
  return refuse("VALIDATION_FAILED", message, {
    hint: "Run: git rev-parse HEAD",
    details: { issues: [{ path: "result.commit", message }] },
  });
}

function finish(draft: Draft, task: Task, held: Claim, result: TaskResult): Completed {
  const claim = held.state === "claimed" ? markStarted(draft, held, task) : held;
  closeBreaker(draft, claim);
  const done = draft.putTask({
    ...closeClaim(draft, task, claim, { end: "complete", reason: "completed", result }),
    state: "completed",
    endedAt: draft.now,
    readyAt: null,
    error: null,
    lostCount: 0,
    responsePending: false,
  });
  draft.emit("task:completed", {
    project: task.project,
    taskId: task.id,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor: `agent:${claim.sessionId}`,
    data: {
      reason: "completed",
      // Of the held claim: who never called start has worked since the claim.
      durationMs: workedMs(held, draft.now),
      ...(isCostKnown(task) ? { costKnown: true } : {}),
    },
  });
  const freed = setFree(draft, done);
  notifyCompleted(draft, done, result.output);
  const answer = { unblocked: freed.slice(0, limits.unblockedMax), unblockedCount: freed.length };
  if (freed.length > 0) rememberAnswer(draft, claim, answer);
  return answer;
}
