// Prompts for the common moves. What a user types into them is the user's own.

import type { McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";

interface PromptSpec {
  title: string;
  description: string;
  argument?: { name: string; description: string; required: boolean };
  text: (given: string) => string;
}

const prompts: Record<string, PromptSpec> = {
  plan_work: {
    title: "Plan work",
    description: "Split a goal into tasks that agents can do in parallel",
    argument: { name: "goal", description: "The goal", required: true },
    text: (goal) =>
      `Plan this as Dibs tasks: ${goal}

First list_tasks to see what exists. Then split the goal into tasks that one agent can finish in one sitting and that touch different files where possible. Call create_task for each, dependencies first: say in its description what to do, what done means, and what to read; name its files; name the ids it depends on. Do not start the work. At the end list the ids with one line each.`,
  },
  work_next: {
    title: "Work on the next task",
    description: "Claim the next ready task, do it, report",
    text: () =>
      `Take the next Dibs task and finish it. Call claim_task with start true and wait_seconds 50. Do only what that task asks, in its files. Call update_progress at each milestone. If you need a decision, ask_human and wait. When it is done and checked, complete_task with a short output and the files; if it cannot be done, fail_task and say why. If a call says that the task is no longer yours, stop working on it. Then claim the next one, until nothing is left.`,
  },
  hand_over: {
    title: "Hand over",
    description: "Hand over your task to another agent",
    argument: { name: "task_id", description: "Your task; default: the one you hold", required: false },
    text: (id) =>
      `Hand over ${id === "" ? "the Dibs task you hold" : `Dibs task ${id}`}. Save or commit your work in a state from which another agent can continue. Call update_progress with a note: what is done, what is left, which files, what to watch for. Call create_task for work that became a separate task. Then release_task with a short reason, and claim nothing more.`,
  },
};

function schemaFor({
  argument,
}: PromptSpec): StandardSchemaWithJSON<unknown, Record<string, string>> | undefined {
  if (!argument) return undefined;
  const { name, description, required } = argument;
  const json = {
    type: "object",
    properties: { [name]: { type: "string", description } },
    ...(required ? { required: [name] } : {}),
  };
  return {
    "~standard": {
      version: 1,
      vendor: "dibs",
      validate: (value) => {
        const given = (value ?? {}) as Record<string, string>;
        return required && !given[name] ? { issues: [{ message: `${name} is required` }] } : { value: given };
      },
      jsonSchema: { input: () => json, output: () => json },
    },
  };
}

export function addPrompts(server: McpServer): void {
  for (const [name, spec] of Object.entries(prompts)) {
    const { title, description, argument, text } = spec;
    const answer = (given: Record<string, string> = {}) => ({
      messages: [
        {
          role: "user" as const,
          content: { type: "text" as const, text: text(given[argument?.name ?? ""] ?? "") },
        },
      ],
    });
    const argsSchema = schemaFor(spec);
    if (argsSchema) server.registerPrompt(name, { title, description, argsSchema }, (given) => answer(given));
    else server.registerPrompt(name, { title, description }, () => answer());
  }
}
