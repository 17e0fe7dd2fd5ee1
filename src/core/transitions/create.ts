// create, one or many: all or nothing. References are resolved and the whole graph is checked before anything is put.

import type { CreateCommand, NewTask } from "../command.js";
import type { Draft } from "../draft.js";
import { suppliedIdProblem } from "../ids.js";
import { limits, utf8Length } from "../limits.js";
import { priorityDefault } from "../priority.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { isReady, type Task } from "../task.js";
import { Batch, type Plan } from "./batch.js";
import { withReadiness } from "./close.js";
import { at } from "./invalid.js";
import { reservedDepth } from "./new-id.js";

export interface Created {
  /** In the order of the input. */
  ids: string[];
}

export function create(draft: Draft, command: CreateCommand): Outcome<Created> {
  const isReserved = (id: string) => reservedDepth(draft, command.project, id) !== null;
  const invalid = command.tasks
    .map((input, index) => inputProblem(input, index, isReserved))
    .find((problem) => problem !== null);
  if (invalid) return invalid;
  const batch = new Batch(draft, command);
  const refusal = batch.place() ?? batch.connect() ?? batch.findCycle();
  if (refusal) return refusal;
  for (const plan of batch.plans) put(draft, plan, command);
  batch.countChildren();
  return accept({ ids: batch.plans.map((plan) => plan.id) });
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

function put(draft: Draft, plan: Plan, command: CreateCommand): void {
  const { input, id } = plan;
  const { project } = command;
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
    maxRetries: input.maxRetries ?? settings.maxRetries,
    retryCount: 0,
    lostCount: 0,
    notBefore: input.notBefore ?? null,
    timeoutMs: input.timeoutMs ?? null,
    question: null,
    response: null,
    responsePending: false,
    error: null,
    correlationId: input.correlationId ?? command.correlationId,
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
