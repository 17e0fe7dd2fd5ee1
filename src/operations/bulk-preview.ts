// What a bulk operation is about, and what would become of it: the single commands are decided, but not
// carried out.

import type { ParsedOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import { bulkAppliesTo } from "../contract/tasks/bulk.js";
import { decide } from "../core/decide.js";
import { limits } from "../core/limits.js";
import { accept, type Outcome, type Refusal } from "../core/refusal.js";
import { type Task, type TaskState, taskStates } from "../core/task.js";
import type { Reads } from "../core/view.js";
import { decodeCursor } from "./cursor.js";
import type { CallContext } from "./handler.js";
import { taskCommands } from "./task-commands.js";
import { scope } from "./task-queries.js";

export type BulkInput = ParsedOf<OperationNamed<"tasks.bulk">>;

export interface OneTask {
  project: string;
  taskId: string;
}

export interface Matches {
  tasks: OneTask[];
  nextCursor: string | null;
}

export function matchesOf(view: Reads, input: BulkInput, context: CallContext): Outcome<Matches> {
  const project = scope(view, input.project, context);
  if (!project.ok) return project;
  if (input.taskIds) {
    const of = project.value ?? context.caller.project;
    const ids = [...new Set(input.taskIds)];
    return accept({ tasks: ids.map((taskId) => ({ project: of, taskId })), nextCursor: null });
  }
  const after = decodeCursor(input.cursor);
  if (!after.ok) return after;
  const found = search(view, project.value, input, after.value);
  const page = found.slice(0, limits.bulkMax);
  return accept({
    tasks: page.map((task) => ({ project: task.project, taskId: task.id })),
    nextCursor: found.length > page.length ? String(page.at(-1)!.ordinal) : null,
  });
}

/** One more than a call takes, to know whether there are more. */
function search(
  view: Reads,
  project: string | null,
  { filter = {}, action }: BulkInput,
  afterOrdinal: number,
): Task[] {
  const { state, label, assignee, parent, q, sessionId } = filter;
  const asked = state === undefined ? taskStates : [state].flat();
  const applies: readonly TaskState[] = bulkAppliesTo[action];
  const held: readonly TaskState[] = bulkAppliesTo.release;
  const states = taskStates.filter(
    (each) =>
      asked.includes(each) && applies.includes(each) && (sessionId === undefined || held.includes(each)),
  );
  const isMeant = ({ project: of, id }: Task) => {
    if (action !== "release" && sessionId === undefined) return true;
    const claim = view.claim(of, id);
    return claim !== undefined && (sessionId === undefined || claim.sessionId === sessionId);
  };
  const found: Task[] = [];
  while (states.length > 0 && found.length <= limits.bulkMax) {
    const parentId = parent === "" ? null : parent;
    const where = { project, states, label, assignee, parentId, text: q };
    const page = view.tasks({ ...where, afterOrdinal, limit: limits.bulkMax + 1 });
    found.push(...page.filter(isMeant));
    if (page.length <= limits.bulkMax) break;
    afterOrdinal = page.at(-1)!.ordinal;
  }
  return found;
}

/** The single operation that is carried out on each. */
export function single({ action, changes, cascade, reason }: BulkInput, on: OneTask) {
  switch (action) {
    case "cancel":
      return { name: "tasks.cancel", input: { ...on, cascade, reason } } as const;
    case "retry":
      return { name: "tasks.retry", input: on } as const;
    case "release":
      return { name: "tasks.release", input: { ...on, reason, force: true } } as const;
    case "update":
      return { name: "tasks.update", input: { ...on, ...changes } } as const;
  }
}

export interface BulkRefusal extends OneTask {
  error: string;
  message: string;
}

function refusalOf(
  view: Reads,
  input: BulkInput,
  on: OneTask,
  context: CallContext,
  now: number,
): Refusal | null {
  const { name, input: of } = single(input, on);
  const command = taskCommands[name].command(of as never, context);
  const { outcome } = decide(view, command, { now, actor: context.caller.actor });
  return outcome.ok ? null : outcome;
}

/** The answer of a dry run. */
export function preview(view: Reads, input: BulkInput, context: CallContext, now: number) {
  const matches = matchesOf(view, input, context);
  if (!matches.ok) return matches;
  const refused = matches.value.tasks.flatMap((on): BulkRefusal[] => {
    const refusal = refusalOf(view, input, on, context, now);
    return refusal ? [{ ...on, error: refusal.code, message: refusal.message }] : [];
  });
  return accept(bulkAnswer({ ...input, dryRun: true }, matches.value, { done: 0, refused }));
}

export function bulkAnswer(
  { action, dryRun = false }: BulkInput,
  { tasks, nextCursor }: Matches,
  { done, refused }: { done: number; refused: BulkRefusal[] },
) {
  return {
    success: true as const,
    action,
    dryRun,
    matched: tasks.length,
    done,
    refusedCount: refused.length,
    refused: refused.slice(0, limits.bulkRefusedMax),
    taskIds: tasks.map(({ taskId }) => taskId),
    more: nextCursor !== null,
    nextCursor,
  };
}
