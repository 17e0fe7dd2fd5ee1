// create, one or many: all or nothing. References are resolved and the whole graph is checked before anything is put.

import type { CreateCommand, NewTask, PlanTask } from "../command.js";
import type { Draft } from "../draft.js";
import { suppliedIdProblem } from "../ids.js";
import { limits, utf8Length } from "../limits.js";
import { priorityDefault } from "../priority.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { normalUses, projectUses, usesProblem } from "../resource.js";
import { scopesOf } from "../scopes.js";
import { isReady, type Task } from "../task.js";
import { Batch, type Plan } from "./batch.js";
import { withReadiness } from "./close.js";
import { at, pathAt } from "./invalid.js";
import { reservedDepth } from "./new-id.js";

export interface Created {
  /** In the order of the input. */
  ids: string[];
}

export function create(draft: Draft, command: CreateCommand): Outcome<Created> {
  const batch = new Batch(draft, command);
  const refusal = inputRefusal(draft, command) ?? batch.place() ?? batch.connect() ?? batch.findCycle();
  if (refusal) return refusal;
  putAll(draft, batch, command);
  return accept({ ids: batch.plans.map((plan) => plan.id) });
}

export function inputRefusal(
  draft: Draft,
  { project, tasks }: { project: string; tasks: readonly PlanTask[] },
): Refusal | null {
  const isReserved = (id: string) => reservedDepth(draft, project, id) !== null;
  const withProject = projectUses(draft.project(project));
  for (const [index, input] of tasks.entries()) {
    const problem = input.done
      ? null
      : (inputProblem(input, index, isReserved) ??
        usesProblem(draft, pathAt(index, "uses"), input.uses, withProject));
    if (problem) return problem;
  }
  return null;
}

type Origin = Pick<CreateCommand, "project" | "correlationId">;

/** Of a batch that was checked. */
export function putAll(draft: Draft, batch: Batch, origin: Origin): void {
  for (const plan of batch.plans) put(draft, plan, origin);
  batch.countChildren();
}

function inputProblem(input: NewTask, index: number, isReserved: (id: string) => boolean): Refusal | null {
  const named = input.prompt ?? input.description ?? (input.type === "group" ? input.title : undefined);
  if (!named?.trim())
    return at(index, "prompt", "A task needs a prompt or a description; a group at least a title.");
  for (const text of [input.prompt, input.description]) {
    const bytes = text === undefined ? 0 : utf8Length(text);
    if (bytes > limits.promptBytesMax) {
      return refuse(
        "PAYLOAD_TOO_LARGE",
        `The prompt has ${bytes} bytes; at most ${limits.promptBytesMax} are kept.`,
        {
          hint: "Put long material into a file and name it in `files`.",
        },
      );
    }
  }
  const problem = input.id === undefined ? null : suppliedIdProblem(input.id, isReserved);
  return problem ? at(index, "id", `Id '${input.id?.slice(0, 200)}' ${problem}.`) : null;
}

function put(draft: Draft, plan: Plan, origin: Origin): void {
  const { input, id } = plan;
  const { project } = origin;
  const settings = draft.project(project).settings;
  const pending = plan.dependsOn.filter((other) => draft.task(project, other)?.state !== "completed");
  const task: Task = {
    project,
    id,
    type: input.type ?? "task",
    parentId: plan.parentId,
    title: plan.title,
    phase: input.phase ?? null,
    state: "queued",
    priority: input.priority ?? priorityDefault,
    labels: [...new Set(input.labels)],
    files: input.files ?? [],
    dependsOn: plan.dependsOn,
    assignee: input.assignee ?? null,
    agentType: input.agentType ?? null,
    requires: [...new Set(input.requires)],
    uses: normalUses(input.uses),
    scopes: scopesOf(input.files ?? [], settings.scopes),
    maxRetries: input.maxRetries ?? settings.maxRetries,
    retryCount: 0,
    lostCount: 0,
    notBefore: input.notBefore ?? null,
    timeoutMs: input.timeoutMs ?? null,
    question: null,
    response: null,
    responsePending: false,
    error: null,
    correlationId: input.correlationId ?? origin.correlationId,
    epoch: 0,
    createdAt: draft.now,
    updatedAt: draft.now,
    readyAt: null,
    startedAt: null,
    endedAt: null,
    createdBy: draft.context.actor,
    depth: plan.depth,
    sequence: plan.sequence,
    ordinal: draft.nextOrdinal(),
    pendingDeps: pending.length,
    openChildren: 0,
    completedChildren: 0,
    submission: null,
    landed: null,
    noChange: false,
    returnCount: 0,
    usage: null,
  };
  draft.putTask(isReady(task, undefined) ? withReadiness(draft, task, { keep: false }) : task);
  const prompt = input.prompt ?? input.description ?? plan.title;
  draft.putText(project, id, {
    prompt,
    description: input.description ?? null,
    metadata: input.metadata ?? null,
  });
  for (const dependsOn of plan.dependsOn) draft.addEdge({ project, taskId: id, dependsOn });
  draft.emit("task:created", {
    project,
    taskId: id,
    data: {
      title: task.title,
      type: task.type,
      parentId: task.parentId,
      priority: task.priority,
    },
  });
  draft.emit("task:queued", { project, taskId: id, actor: "system", data: {} });
}
