import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, instant, longText, metadata, ms, path, priority, project, text, uses, word } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

export const newTask = once(() =>
  z.strictObject({
    id: id().optional().describe("Your own id; default: a generated one such as 0001"),
    type: z.enum(["task", "group"]).optional(),
    parentId: id().optional(),
    title: text(limits.titleLengthMax).optional().describe("Default: from the first line of the prompt"),
    prompt: longText().optional().describe("Instructions for the agent"),
    description: longText().optional(),
    phase: word().optional().describe("A free word such as implementation or test"),
    priority: priority().optional().describe("0 to 100, higher first; or a word"),
    labels: z.array(word()).max(limits.labelsMax).optional(),
    files: z.array(path()).max(limits.filesMax).optional().describe("Paths or globs it expects to touch"),
    dependsOn: z
      .array(id())
      .max(limits.dependsOnMax)
      .optional()
      .describe("Ids of tasks that must be completed first"),
    assignee: word().optional().describe("Only the session with this id or name can claim it"),
    agentType: word().optional().describe("Only sessions of this type can claim it"),
    requires: z.array(word()).max(limits.requiresMax).optional().describe("Capabilities a session must have"),
    uses: uses().optional().describe("Units by the id of a resource, which each attempt uses"),
    maxRetries: z.number().int().min(0).max(1000).optional(),
    notBefore: instant().optional(),
    timeoutMs: ms().min(1).optional().describe("Maximum duration of an attempt"),
    correlationId: word().optional(),
    metadata: metadata().optional(),
  }),
);

export const createTask = operation({
  name: "tasks.create",
  summary: "Create a task",
  kind: "command",
  role: "worker",
  input: () =>
    newTask().extend({
      project: project(),
      sessionId: id().optional().describe("The agent that adds it; default: the caller"),
    }),
  output: taskAnswer,
  refusals: [
    "TASK_NOT_FOUND",
    "INVALID_STATE",
    "RESOURCE_NOT_FOUND",
    "DEPENDENCY_NOT_FOUND",
    "DEPENDENCY_CYCLE",
    "ID_TAKEN",
    "COUNTER_EXHAUSTED",
    "PAYLOAD_TOO_LARGE",
  ],
  http: { method: "POST", path: "/api/tasks", status: 201 },
  cli: "add",
  mcp: "create_task",
});
