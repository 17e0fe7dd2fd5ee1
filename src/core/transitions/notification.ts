import type { ReadNotificationCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { beginningOf } from "../limits.js";
import { accept, type Outcome, refuse } from "../refusal.js";
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
  if (markRead(draft, id)) return accept(null);
  return refuse("NOT_FOUND", `Notification ${id} not found.`, { details: { id } });
}
