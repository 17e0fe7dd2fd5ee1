import { z } from "zod";
import { limits } from "../../core/limits.js";
import { type TaskState, taskStates } from "../../core/task.js";
import { cursor, flag, id, limit, projectOrAll, text, word } from "../fields.js";
import { once } from "../once.js";
import { operation } from "../operation.js";
import { taskShape } from "../shapes.js";

const stateWords = {
  queued: "queued",
  pending: "queued",
  available: "queued",
  created: "queued",
  to_execute: "queued",
  claimed: "claimed",
  leased: "claimed",
  running: "running",
  started: "running",
  in_progress: "running",
  inprogress: "running",
  awaiting_response: "awaiting_response",
  submitted: "submitted",
  awaiting: "awaiting_response",
  completed: "completed",
  complete: "completed",
  done: "completed",
  failed: "failed",
  error: "failed",
  cancelled: "cancelled",
  canceled: "cancelled",
} as const satisfies Record<string, TaskState>;

/** Every seed's word for a state. */
export const stateWord = once(
  () =>
    z
      .string()
      .transform((value) => value.toLowerCase().replaceAll("-", "_"))
      .pipe(z.enum(Object.keys(stateWords) as [keyof typeof stateWords]))
      .transform((value): TaskState => stateWords[value]) as z.ZodType<TaskState, keyof typeof stateWords>,
);

export const states = once(() =>
  z.union([stateWord(), z.array(stateWord())], `must be one of ${taskStates.join(", ")}`),
);

export const parent = once(() =>
  z.union([id(), z.literal("")]).describe("Subtasks of this task; empty: top level only"),
);

export const listTasks = operation({
  name: "tasks.list",
  summary: "List tasks",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: projectOrAll(),
      state: states()
        .optional()
        .describe("One state or several; words of other tools are accepted, such as in_progress and done"),
      label: word().optional(),
      assignee: word().optional(),
      parent: parent().optional(),
      q: text(limits.titleLengthMax).optional().describe("Part of the id, title or prompt"),
      claimable: flag().optional(),
      order: z
        .enum(["created", "active"])
        .optional()
        .describe(
          "created (default), or active: running first, then what waits, ended last and newest first",
        ),
      limit: limit(),
      cursor: cursor(),
    }),
  output: () =>
    z.object({
      tasks: z.array(taskShape()),
      nextCursor: z.string().nullable(),
      total: z
        .number()
        .optional()
        .describe("With order active, where there are more and only states are asked for: how many in all"),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/tasks", aliases: { status: "state" } },
  cli: "list",
  mcp: "list_tasks",
});
