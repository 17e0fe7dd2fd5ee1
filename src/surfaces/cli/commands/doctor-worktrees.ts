// Working trees of tasks that are over. One that was kept because its commits were not merged may have been merged since; nobody
// else comes by to remove it.

import type { Dibs } from "../../../client/client.js";
import { DibsError } from "../../../contract/error.js";
import type { WireTask } from "../../../contract/shapes.js";
import {
  type LeftWorktree,
  leftWorktrees,
  removeUnlessLost,
  whatWouldBeLost,
} from "../../../runner/index.js";
import type { Context } from "../context.js";
import type { Finding } from "../print/doctor.js";
import { named } from "./doctor-claims.js";

const check = "worktrees";

export async function worktreesFinding(context: Context, dibs: Dibs): Promise<Finding[]> {
  const left = await leftWorktrees(context.parts.cwd);
  const ended: (LeftWorktree & { landed: string | null })[] = [];
  for (const each of left) {
    const task = await endedTask(dibs, each);
    if (task) ended.push({ ...each, landed: task.landed && (task.submission?.commit ?? null) });
  }
  if (ended.length === 0) return [];
  const kept: string[] = [];
  const over: string[] = [];
  for (const each of ended) {
    const why = await (context.on("fix") ? removeUnlessLost(each) : whatWouldBeLost(each));
    if (why === null) over.push(each.taskId);
    else kept.push(`${each.taskId} (${why})`);
  }
  return [...overFinding(over, context.on("fix")), ...keptFinding(kept)];
}

function overFinding(over: string[], isFixed: boolean): Finding[] {
  if (over.length === 0) return [];
  const what = `of ended tasks, merged and clean: ${named(over)}`;
  if (isFixed) return [{ check, status: "fixed", message: `${over.length} removed ${what}` }];
  const advice = "dibs doctor --fix removes them with their branches";
  return [{ check, status: "warn", message: `${over.length} ${what}`, advice }];
}

function keptFinding(kept: string[]): Finding[] {
  if (kept.length === 0) return [];
  return [{ check, status: "ok", message: `${kept.length} kept of ended tasks: ${named(kept)}` }];
}

const ends: readonly string[] = ["completed", "failed", "cancelled"];

/** Of a task that this store does not know nobody can say so. */
async function endedTask(
  dibs: Dibs,
  { project, taskId, correlationId }: LeftWorktree,
): Promise<WireTask | null> {
  try {
    const { task } = await dibs.tasks.get({ project, taskId });
    return task.correlationId === correlationId && ends.includes(task.state) ? task : null;
  } catch (error) {
    if (error instanceof DibsError && /_NOT_FOUND$|^VALIDATION_FAILED$/.test(error.code)) return null;
    throw error;
  }
}
