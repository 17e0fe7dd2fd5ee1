// What agents see of the tools. Every word here is in the context of every agent all the time: it is kept short, and its order
// never changes, so that clients can cache it.

import type { ToolAnnotations } from "@modelcontextprotocol/server";

export interface Field {
  type: "string" | "integer" | "number" | "boolean" | "array" | ["integer", "string"];
  items?: { type: "string" };
  description?: string;
}

export interface ToolSpec {
  description: string;
  fields: Record<string, Field>;
  required: string[];
  annotations: ToolAnnotations;
}

const string: Field = { type: "string" };
const strings: Field = { type: "array", items: { type: "string" } };
const said = (field: Field, description: string): Field => ({ ...field, description });

const reads: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const adds: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};
const repeats: ToolAnnotations = { ...adds, idempotentHint: true };

export const toolNames = [
  "create_task",
  "claim_task",
  "start_task",
  "complete_task",
  "fail_task",
  "ask_human",
  "update_progress",
  "release_task",
  "list_tasks",
  "get_task",
] as const;

export type ToolName = (typeof toolNames)[number];

export const tools: Record<ToolName, ToolSpec> = {
  create_task: {
    description: "Add a task. It can be claimed once its dependencies are completed.",
    fields: {
      description: said(string, "Everything the agent must know"),
      title: string,
      priority: {
        type: ["integer", "string"],
        description: "1 (urgent) to 5, or critical, high, medium (default), low",
      },
      dependencies: said(strings, "Task ids"),
      parent_id: said(string, "The parent task"),
      files: said(strings, "Paths it will touch"),
      labels: strings,
    },
    required: ["description"],
    annotations: adds,
  },
  claim_task: {
    description:
      "Claim the next ready task, or the one named, for you alone. Returns its brief. Waiting costs nothing.",
    fields: {
      agent_id: said(string, "Your name, the same in every call; optional if one agent uses this connection"),
      task_id: string,
      kind: said(string, "review: judge another agent's change"),
      start: said({ type: "boolean" }, "Also start it"),
      wait_seconds: said({ type: "integer" }, "Wait for work, up to 50"),
    },
    required: [],
    annotations: adds,
  },
  start_task: {
    description: "Start the task you claimed.",
    fields: { agent_id: string, task_id: string },
    required: ["task_id"],
    annotations: repeats,
  },
  complete_task: {
    description: "Complete your task with its result; unblocks its dependents.",
    fields: {
      agent_id: string,
      task_id: string,
      output: said(string, "What was done, for dependents; your findings"),
      verdict: said(string, "Of a review: approve or request-changes"),
      files_created: strings,
      files_modified: strings,
    },
    required: ["task_id"],
    annotations: repeats,
  },
  fail_task: {
    description: "Report that your attempt failed; it is retried up to the task's limit.",
    fields: {
      agent_id: string,
      task_id: string,
      error: said(string, "What went wrong, for the next attempt"),
      retryable: said({ type: "boolean" }, "false: a retry is useless"),
    },
    required: ["task_id", "error"],
    annotations: repeats,
  },
  ask_human: {
    description: "Ask a human about your task. You keep it; the answer comes with this call or a later one.",
    fields: {
      agent_id: string,
      task_id: string,
      question: string,
      options: strings,
      default: string,
      wait_seconds: said({ type: "integer" }, "Wait for the answer, up to 50"),
    },
    required: ["task_id", "question"],
    annotations: { ...adds, openWorldHint: true },
  },
  update_progress: {
    description: "Report progress on your task; renews your claim.",
    fields: {
      agent_id: string,
      task_id: string,
      note: string,
      percent: { type: "number" },
      usd: said({ type: "number" }, "Cost of this attempt so far, if you know it"),
      input_tokens: { type: "integer" },
      output_tokens: { type: "integer" },
      model: string,
    },
    required: ["task_id"],
    annotations: adds,
  },
  release_task: {
    description: "Release your task unfinished.",
    fields: { agent_id: string, task_id: string, reason: string },
    required: ["task_id"],
    annotations: repeats,
  },
  list_tasks: {
    description: "List tasks, one line each.",
    fields: {
      state: said(
        strings,
        "queued, claimed, running, awaiting_response, submitted, completed, failed, cancelled",
      ),
      ready: said({ type: "boolean" }, "Only tasks that can be claimed now"),
      query: said(string, "Part of id, title or text"),
      parent_id: string,
      limit: { type: "integer" },
      cursor: said(string, "From the previous page"),
    },
    required: [],
    annotations: reads,
  },
  get_task: {
    description: "Show a task: text, state, why it is not running, attempts, result.",
    fields: { task_id: string },
    required: ["task_id"],
    annotations: reads,
  },
};

export function inputSchemaOf({ fields, required }: ToolSpec): Record<string, unknown> {
  return { type: "object", properties: fields, ...(required.length > 0 ? { required } : {}) };
}
