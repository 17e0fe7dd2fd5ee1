import type { Claim } from "../claim.js";
import type { TaskPatch, UpdateCommand } from "../command.js";
import { edgesFrom, findCycle } from "../dependency.js";
import type { Draft } from "../draft.js";
import { limits, utf8Length } from "../limits.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { normalUses, projectUses, usesProblem } from "../resource.js";
import { scopesOf } from "../scopes.js";
import { isReady, stateOf, type Task } from "../task.js";
import { cycleRefusal } from "./batch.js";
import { withReadiness } from "./close.js";
import { endGroupIfOver } from "./finish.js";
import { noSuchTask } from "./holder.js";

const notWhileHeld = ["dependsOn", "requires"] as const;
const whileSubmitted = ["priority", "labels"];
const textFields = ["prompt", "description", "metadata"] as const;

export function update(draft: Draft, command: UpdateCommand): Outcome<{ changed: string[] }> {
  const { project, taskId } = command;
  const task = draft.task(project, taskId);
  if (!task) return noSuchTask(draft, project, taskId);
  const patch = withoutDoubles(withAllLabels(command.patch, task));
  const refusal =
    stateProblem(draft, task, patch) ??
    sizeProblem(patch) ??
    usesProblem(draft, "uses", patch.uses, projectUses(draft.project(project))) ??
    dependencyProblem(draft, task, patch.dependsOn);
  if (refusal) return refusal;
  return accept({ changed: applyPatch(draft, task, patch) });
}

/** A patch that was checked; returns the fields that had another value. */
export function applyPatch(draft: Draft, task: Task, patch: TaskPatch): string[] {
  const { project, id } = task;
  const texts = changeText(draft, task, patch);
  const changed = [...texts, ...changeTask(draft, task, patch, texts.length > 0)];
  if (changed.length === 0) return [];
  draft.emit("task:updated", { project, taskId: id, data: { changed } });
  announceIfFreed(draft, task);
  const after = draft.task(project, id)!;
  if (after.type === "group" && patch.dependsOn) endGroupIfOver(draft, after);
  return changed;
}

/** Labels that come and go, as the list that they lead to. */
function withAllLabels({ addLabels, removeLabels, ...patch }: TaskPatch, task: Task): TaskPatch {
  if (!addLabels && !removeLabels) return patch;
  const gone = new Set(removeLabels);
  const kept = (patch.labels ?? task.labels).filter((label) => !gone.has(label));
  return { ...patch, labels: [...kept, ...(addLabels ?? [])] };
}

function withoutDoubles(patch: TaskPatch): TaskPatch {
  const unique = { ...patch };
  for (const field of ["labels", "dependsOn", "requires"] as const) {
    if (patch[field]) unique[field] = [...new Set(patch[field])];
  }
  if (patch.uses) unique.uses = normalUses(patch.uses);
  return unique;
}

function stateProblem(draft: Draft, task: Task, patch: TaskPatch): Refusal | null {
  const state = stateOf(task, draft.claim(task.project, task.id));
  const details = { taskId: task.id, state };
  if (state === "completed") {
    const message = `Task ${task.id} is completed and cannot be edited.`;
    return refuse("INVALID_STATE", message, { hint: "Create a new task instead.", details });
  }
  if (state === "submitted") {
    const locked = Object.keys(patch).filter((field) => !whileSubmitted.includes(field));
    if (locked.length === 0) return null;
    const message = `Task ${task.id} is submitted: only its priority and labels can be edited, not ${locked.join(", ")}.`;
    return refuse("INVALID_STATE", message, { hint: `Run: dibs withdraw ${task.id}`, details });
  }
  // Failed and cancelled tasks are edited so that their retry goes better.
  if (state === "failed" || state === "cancelled") {
    if (patch.notBefore === undefined) return null;
    const message = `notBefore of task ${task.id} cannot be edited while it is ${state}: a retry queues it at once.`;
    return refuse("INVALID_STATE", message, { hint: "Retry it, then edit notBefore.", details });
  }
  const locked = notWhileHeld.filter((field) => patch[field] !== undefined);
  if (locked.length === 0 || state === "queued") return null;
  const message = `${locked.join(" and ")} can be edited only while the task is queued, failed or cancelled, not ${state}.`;
  return refuse("INVALID_STATE", message, { details });
}

function sizeProblem(patch: TaskPatch): Refusal | null {
  const labels = patch.labels?.length ?? 0;
  if (labels > limits.labelsMax) {
    return refuse(
      "VALIDATION_FAILED",
      `It would have ${labels} labels; at most ${limits.labelsMax} are kept.`,
    );
  }
  const bytes = Math.max(utf8Length(patch.prompt ?? ""), utf8Length(patch.description ?? ""));
  if (bytes <= limits.promptBytesMax) return null;
  return refuse(
    "PAYLOAD_TOO_LARGE",
    `The prompt has ${bytes} bytes; at most ${limits.promptBytesMax} are kept.`,
  );
}

function dependencyProblem(draft: Draft, task: Task, dependsOn: string[] | undefined): Refusal | null {
  if (!dependsOn) return null;
  const { project } = task;
  const missing = dependsOn.find((id) => !draft.task(project, id));
  if (missing !== undefined) {
    return refuse("DEPENDENCY_NOT_FOUND", `Dependency ${missing} not found.`, {
      details: { dependency: missing },
    });
  }
  const cycle = findCycle([task.id], (id) => {
    const edges = edgesFrom(draft.view, project, id);
    if (id !== task.id) return edges;
    return [...dependsOn, ...edges.filter((other) => !task.dependsOn.includes(other))];
  });
  return cycle ? cycleRefusal(cycle) : null;
}

function changeText(draft: Draft, task: Task, patch: TaskPatch): string[] {
  const asked = textFields.filter((field) => patch[field] !== undefined);
  const text = asked.length > 0 ? draft.text(task.project, task.id) : undefined;
  const changed = text ? asked.filter((field) => !same(patch[field], text[field])) : [];
  if (!text || changed.length === 0) return [];
  draft.putText(task.project, task.id, {
    prompt: patch.prompt ?? text.prompt,
    description: patch.description === undefined ? text.description : patch.description,
    metadata: patch.metadata === undefined ? text.metadata : patch.metadata,
  });
  return changed;
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function changeTask(draft: Draft, task: Task, patch: TaskPatch, textChanged: boolean): string[] {
  const { prompt, description, metadata, ...fields } = patch;
  const changed = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined || same(value, task[field as keyof Task]) ? [] : [field],
  );
  if (changed.length === 0 && !textChanged) return [];
  const merged: Task = { ...task, updatedAt: draft.now };
  for (const field of changed) Object.assign(merged, { [field]: fields[field as keyof typeof fields] });
  if (fields.files) merged.scopes = scopesOf(fields.files, draft.project(task.project).settings.scopes);
  if (fields.dependsOn && changed.includes("dependsOn")) changeEdges(draft, task, merged, fields.dependsOn);
  const claim = draft.claim(task.project, task.id);
  const keep = !changed.includes("notBefore");
  draft.putTask(claim ? merged : withReadiness(draft, merged, { keep }));
  if (claim && changed.includes("timeoutMs")) moveDeadline(draft, claim, task.timeoutMs, merged.timeoutMs);
  return changed;
}

/** Whoever is at work now has as much more or less time; where there was no end, it counts from now. */
function moveDeadline(draft: Draft, claim: Claim, beforeMs: number | null, afterMs: number | null): void {
  const began =
    claim.deadlineAt === null || beforeMs === null
      ? (claim.pausedAt ?? draft.now)
      : claim.deadlineAt - beforeMs;
  draft.putClaim({ ...claim, deadlineAt: afterMs === null ? null : began + afterMs });
}

function changeEdges(draft: Draft, before: Task, after: Task, dependsOn: string[]): void {
  const { project, id } = before;
  after.pendingDeps = dependsOn.filter((other) => draft.task(project, other)?.state !== "completed").length;
  for (const other of before.dependsOn) {
    if (!dependsOn.includes(other)) draft.removeEdge({ project, taskId: id, dependsOn: other });
  }
  for (const other of dependsOn) {
    if (!before.dependsOn.includes(other)) {
      draft.addEdge({ project, taskId: id, dependsOn: other });
    }
  }
}

/** An edit can take away the last dependency. */
function announceIfFreed(draft: Draft, before: Task): void {
  const after = draft.task(before.project, before.id);
  if (!after || before.pendingDeps === 0 || !isReady(after, draft.claim(before.project, before.id))) return;
  if (after.readyAt === null || after.readyAt > draft.now) return;
  draft.emit("task:unblocked", {
    project: after.project,
    taskId: after.id,
    actor: "system",
    data: { by: null },
  });
}
