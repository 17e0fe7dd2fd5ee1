// Priorities and the order of the queue. A number is 0–100, higher first; every seed's words map to it.

import type { AgeingSettings } from "./project.js";

export const priorityDefault = 50;

export const priorityWords = {
  p1: 100,
  p2: 80,
  p3: 60,
  p4: 40,
  p5: 20,
  critical: 100,
  high: 80,
  medium: 50,
  normal: 50,
  low: 20,
} as const satisfies Record<string, number>;

export type PriorityWord = keyof typeof priorityWords;
export type PriorityLabel = "low" | "medium" | "high" | "critical";

export function priorityLabel(priority: number): PriorityLabel {
  if (priority >= 100) return "critical";
  if (priority > 60) return "high";
  return priority > 30 ? "medium" : "low";
}

/** Waiting raises a task: by `boost` for every full step since it became claimable, up to `boostMax`, capped at 100. */
export function effectivePriority(
  task: { priority: number; readyAt: number },
  ageing: AgeingSettings,
  now: number,
): number {
  if (!ageing.enabled) return task.priority;
  const steps = Math.max(0, Math.floor((now - task.readyAt) / ageing.stepMs));
  return Math.min(100, task.priority + Math.min(ageing.boostMax, steps * ageing.boost));
}
