// One committed change. Events are numbered per org in commit order, without gaps, and written with their change.

export const eventTypes = [
  "task:created",
  "task:queued",
  "task:claimed",
  "task:started",
  "task:progress",
  "task:awaiting-response",
  "task:response-received",
  "task:submitted",
  "task:review-requested",
  "task:review-started",
  "task:reviewed",
  "task:landed",
  "task:returned",
  "task:withdrawn",
  "task:completed",
  "task:failed",
  "task:retry-scheduled",
  "task:retried",
  "task:cancelled",
  "task:released",
  "task:claim-expired",
  "task:claim-orphaned",
  "task:unblocked",
  "task:updated",
  "task:usage",
  "task:overlap",
  "session:registered",
  "session:ended",
  "notification:created",
  "notification:read",
  "project:updated",
  "resource:updated",
  "token:created",
  "token:revoked",
] as const;
export type EventType = (typeof eventTypes)[number];

export interface DibsEvent {
  seq: number;
  type: EventType;
  at: number;
  org: string;
  project: string | null;
  taskId: string | null;
  sessionId: string | null;
  epoch: number | null;
  actor: string;
  data: Record<string, unknown>;
}

export const notificationTypes = [
  "TASK_AWAITING_RESPONSE",
  "TASK_ERROR",
  "WORKER_LOST",
  "AGENT_FAILING",
  "LANDING_HELD",
  "REVIEW_NEEDED",
  "BUDGET_SPENT",
  "BUDGET_UNKNOWN",
  "TASKS_OVERLAP",
  "TASK_COMPLETED",
] as const;
export type NotificationType = (typeof notificationTypes)[number];

export interface Notification {
  id: string;
  type: NotificationType;
  severity: "info" | "warning" | "error";
  title: string;
  message: string;
  taskId: string | null;
  project: string;
  createdAt: number;
  readAt: number | null;
}

export const severityOf = {
  TASK_AWAITING_RESPONSE: "warning",
  TASK_ERROR: "error",
  WORKER_LOST: "warning",
  AGENT_FAILING: "error",
  LANDING_HELD: "warning",
  REVIEW_NEEDED: "warning",
  BUDGET_SPENT: "warning",
  BUDGET_UNKNOWN: "warning",
  TASKS_OVERLAP: "warning",
  TASK_COMPLETED: "info",
} as const satisfies Record<NotificationType, Notification["severity"]>;
