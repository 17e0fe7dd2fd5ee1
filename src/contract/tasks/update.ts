import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, instant, longText, metadata, ms, onTask, path, priority, text, uses, word } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { taskAnswer } from "../shapes.js";

/** What can be edited. */
export const taskPatch = once(() => ({
  title: text(limits.titleLengthMax).min(1).optional(),
  prompt: longText().min(1).optional(),
  description: longText().nullable().optional(),
  phase: word().nullable().optional(),
  priority: priority().optional(),
  labels: z.array(word()).max(limits.labelsMax).optional().describe("Instead of those it has"),
  addLabels: z.array(word()).max(limits.labelsMax).optional().describe("Besides those it has"),
  removeLabels: z.array(word()).max(limits.labelsMax).optional().describe("It need not have them"),
  files: z.array(path()).max(limits.filesMax).optional(),
  dependsOn: z
    .array(id())
    .max(limits.dependsOnMax)
    .optional()
    .describe("Only while queued, failed or cancelled"),
  assignee: word().nullable().optional(),
  agentType: word().nullable().optional(),
  requires: z
    .array(word())
    .max(limits.requiresMax)
    .optional()
    .describe("Only while queued, failed or cancelled"),
  uses: uses().nullable().optional().describe("Counts from the next attempt on; null: none"),
  maxRetries: z.number().int().min(0).max(1000).optional(),
  notBefore: instant()
    .nullable()
    .optional()
    .describe("Not while failed or cancelled: a retry queues at once"),
  timeoutMs: ms().min(1).nullable().optional(),
  metadata: metadata().nullable().optional(),
}));

export const updateTask = operation({
  name: "tasks.update",
  summary: "Edit a task that is not completed",
  kind: "command",
  role: "leader",
  input: () =>
    z.strictObject({
      ...onTask(),
      ...taskPatch(),
    }),
  output: taskAnswer,
  refusals: [
    "TASK_NOT_FOUND",
    "INVALID_STATE",
    "RESOURCE_NOT_FOUND",
    "DEPENDENCY_NOT_FOUND",
    "DEPENDENCY_CYCLE",
    "PAYLOAD_TOO_LARGE",
  ],
  http: { method: "PATCH", path: "/api/tasks/:taskId" },
  cli: "edit",
});
