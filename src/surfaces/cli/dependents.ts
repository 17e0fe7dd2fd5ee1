// What `dibs cancel` prints about the tasks that depend on what was cancelled.

import type { Dibs } from "../../client/client.js";
import { shellWord } from "../../client/view/shell.js";
import type { OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { WireTask } from "../../contract/shapes.js";
import type { Context } from "./context.js";
import { plain } from "./print/text.js";

const shown = 10;

/** The same for several tasks that were named. */
export async function printDependentsOfMany(context: Context, ids: readonly string[]): Promise<void> {
  if (context.isJson) return;
  const dibs = await context.dibs();
  for (const taskId of ids.slice(0, shown)) {
    const found = await dibs.tasks.blockedBy({ taskId }).catch(() => null);
    const { task } = await dibs.tasks.get({ taskId }).catch(() => ({ task: null }));
    if (task?.state !== "cancelled" || !found) continue;
    const { direct: blocked, direct } = found;
    const open = await openSubtasksText(dibs, task);
    if (open !== "") context.parts.out(`${open.slice(1)}\n`);
    const answer = {
      success: true as const,
      task,
      cancelled: [...ids],
      blocked,
      blockedCount: direct.length,
    };
    context.parts.out((await dependentsText(dibs, answer)).replace(/^\n(.*)$/, "$1\n"));
  }
}

/** `Blocked now: 0002, 0003. Run: dibs retry 0001, or dibs edit 0002 --depends-on ""`, on a line of its own; or nothing. */
export async function dependentsText(
  dibs: Dibs,
  { task, cancelled, blocked, blockedCount }: OutputOf<OperationNamed<"tasks.cancel">>,
): Promise<string> {
  const [first] = blocked;
  if (first === undefined) return "";
  const more = blockedCount > shown ? ` and ${blockedCount - shown} more` : "";
  const { task: waiting } = await dibs.tasks.get({ taskId: first, project: task.project });
  const left = waiting.dependsOn.filter((id) => !cancelled.includes(id));
  const edit = `dibs edit ${plain(first)} --depends-on ${left.length === 0 ? '""' : left.map(shellWord).join(",")}`;
  return `\nBlocked now: ${blocked.slice(0, shown).map(plain).join(", ")}${more}. Run: dibs retry ${plain(task.id)}, or ${edit}`;
}

/** `1 subtask stays open: 0001_t1. Run: dibs cancel 0001 --cascade`, on a line of its own; or nothing. */
export async function openSubtasksText(
  dibs: Dibs,
  { id, project, openChildren }: Pick<WireTask, "id" | "project" | "openChildren">,
): Promise<string> {
  if (openChildren === 0) return "";
  const found = await dibs.tasks.list({ project, parent: id, state: openStates, limit: shown });
  const more = openChildren > found.tasks.length ? ` and ${openChildren - found.tasks.length} more` : "";
  const ids = found.tasks.map((task) => plain(task.id)).join(", ");
  const what = openChildren === 1 ? "1 subtask stays" : `${openChildren} subtasks stay`;
  return `\n${what} open: ${ids}${more}. Run: dibs cancel ${plain(id)} --cascade`;
}

const openStates: WireTask["state"][] = ["queued", "claimed", "running", "awaiting_response", "submitted"];
