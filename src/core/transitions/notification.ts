import type { ReadNotificationCommand } from "../command.js";
import type { Draft } from "../draft.js";
import type { Notification } from "../event.js";
import { landingPlace, leaseOf, submissionOf } from "../landing.js";
import { beginningOf } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import type { Task } from "../task.js";

export function markRead(draft: Draft, id: string): boolean {
  const notification = draft.notification(id);
  if (!notification) return false;
  if (notification.readAt !== null) return true;
  draft.putNotification({ ...notification, readAt: draft.now });
  draft.emit("notification:read", {
    project: notification.project,
    taskId: notification.taskId,
    data: { id, type: notification.type },
  });
  return true;
}

/** Nobody needs to answer any more: its notification leaves the inbox. */
export function closeQuestion(draft: Draft, { question }: Task): void {
  if (question) markRead(draft, `n${question.id.slice(1)}`);
}

/** Somebody has seen to the failure: what was told about it leaves the inbox. */
export function closeFailure(draft: Draft, { project, id, epoch }: Task): void {
  const told = draft.attempt(project, id, epoch)?.answer?.told;
  if (told !== undefined) markRead(draft, told);
}

/** For projects that ask for it. */
export function notifyCompleted(draft: Draft, task: Task, output: string): void {
  if (!draft.project(task.project).settings.notifications.taskCompleted) return;
  const message = beginningOf(output, 500) || `Task ${task.id} is done.`;
  draft.notify("TASK_COMPLETED", { task, title: "Task completed", message });
}

export function readNotification(draft: Draft, { id }: ReadNotificationCommand): Outcome<null> {
  const notification = draft.notification(id);
  const refusal = notification?.readAt === null ? stillNeeded(draft, notification) : null;
  if (refusal) return refusal;
  if (markRead(draft, id)) return accept(null);
  return refuse("NOT_FOUND", `Notification ${id} not found.`, { details: { id } });
}

/** The inbox knows from these that a submission waits: they leave it when it does not wait any more, not when they are read. */
function stillNeeded(draft: Draft, { id, type, project, taskId }: Notification): Refusal | null {
  if (type === "REVIEW_NEEDED" && taskId !== null) {
    const task = draft.task(project, taskId);
    const submission = task?.state === "submitted" ? submissionOf(draft, task) : null;
    if (submission?.reviewNotice !== id) return null;
    return refuse(
      "INVALID_STATE",
      `Notification ${id} stays unread until submission ${submission.number} of task ${taskId} is reviewed.`,
      { hint: `Run: dibs review ${taskId}`, details: { id, taskId } },
    );
  }
  if (type !== "LANDING_HELD") return null;
  const place = landingPlace(draft.project(project));
  const lease = place && leaseOf(draft, place);
  const isHeld =
    lease && (lease.missingId === id || lease.holds.some(({ notificationId }) => notificationId === id));
  if (!isHeld) return null;
  return refuse("INVALID_STATE", `Notification ${id} stays unread until landing is not held any more.`, {
    hint: "Run: dibs inbox",
    details: { id },
  });
}
