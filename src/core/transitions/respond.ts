import type { RespondCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome, refuse } from "../refusal.js";
import { stateOf, type Task } from "../task.js";
import { cancel } from "./cancel.js";
import { withReadiness } from "./close.js";
import { noSuchTask } from "./holder.js";
import { closeQuestion } from "./notification.js";
import { wantsCancel } from "./unsubmit.js";

/** awaiting_response → running with a fresh lease, or → queued with the answer kept, if nobody holds it any more. */
export function respond(draft: Draft, command: RespondCommand): Outcome<null> {
  const { project, taskId } = command;
  const task = draft.task(project, taskId);
  if (!task) return noSuchTask(draft, project, taskId);
  const claim = draft.claim(project, taskId);
  const { question } = task;
  if (stateOf(task, claim) !== "awaiting_response" || !question) {
    return refuse(
      "TASK_NOT_AWAITING",
      `Task ${taskId} is ${stateOf(task, claim)} and has no open question.`,
      {
        hint: "Run: dibs inbox",
        details: { taskId, state: stateOf(task, claim) },
      },
    );
  }
  if (command.questionId !== undefined && command.questionId !== question.id) {
    return refuse(
      "QUESTION_MISMATCH",
      `The open question of task ${taskId} is ${question.id}, not ${command.questionId}.`,
      {
        hint: `Run: dibs show ${taskId}`,
        details: { taskId, question },
      },
    );
  }
  const answered: Task = {
    ...task,
    question: null,
    response: command.response,
    responsePending: true,
    updatedAt: draft.now,
  };
  if (claim) {
    const pausedMs = Math.max(0, draft.now - (claim.pausedAt ?? draft.now));
    draft.putClaim({
      ...claim,
      state: "running",
      pausedAt: null,
      expiresAt: draft.now + claim.ttlMs,
      deadlineAt: claim.deadlineAt === null ? null : claim.deadlineAt + pausedMs,
      lastHeartbeat: draft.now,
      updatedAt: draft.now,
    });
    draft.putTask(answered);
  } else {
    const again = question.aboutLanding
      ? { returnCount: 0, submission: task.submission && { ...task.submission, rounds: 0 } }
      : {};
    const queued: Task = { ...answered, state: "queued", startedAt: null, ...again };
    draft.putTask(withReadiness(draft, queued, { keep: false }));
  }
  draft.emit("task:response-received", {
    project,
    taskId,
    sessionId: claim?.sessionId ?? null,
    epoch: claim?.epoch ?? null,
    data: {
      questionId: question.id,
      response: command.response,
      waitedMs: Math.max(0, draft.now - question.askedAt),
      ...(claim ? {} : { to: "queued" }),
    },
  });
  closeQuestion(draft, task);
  if (question.aboutLanding && wantsCancel(command.response))
    cancel(draft, { type: "cancel", project, taskId, reason: "cancelled by the answer" });
  return accept(null);
}
