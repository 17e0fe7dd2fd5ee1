// Resources: what a client may look at and be told about when it changes. They show what the tools show.

import {
  type McpServer,
  ProtocolError,
  type ReadResourceResult,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { mcpError } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import type { WireEvent } from "../../contract/shapes.js";
import type { AgentSessions } from "./agent-sessions.js";
import { fitting, questionList, taskLines } from "./answers.js";
import { describe, notYet } from "./handlers.js";
import { asDibsError, refusalText } from "./refusals.js";

export const inboxUri = "dibs://inbox";
export const readyUri = "dibs://ready";
const taskUri = (id: string) => `dibs://task/${id}`;

const mimeType = "text/plain";

async function read(uri: URL, text: () => Promise<string[]>): Promise<ReadResourceResult> {
  try {
    return { contents: [{ uri: uri.href, mimeType, text: (await text()).join("\n") }] };
  } catch (error) {
    const refusal = asDibsError(error);
    throw new ProtocolError(mcpError[refusal.code], refusalText(refusal), { code: refusal.code });
  }
}

const inboxMax = 20;
const readyMax = 50;

async function inbox(agents: AgentSessions): Promise<string[]> {
  const dibs = await agents.dibs().catch(notYet);
  if (dibs instanceof DibsError) return [`No open questions. ${dibs.message}`];
  const { questions } = await dibs.notifications.inbox({ limit: inboxMax + 1 });
  if (questions.length === 0) return ["No open questions."];
  return [
    "Questions for a human; get_task shows the whole text:",
    questionList(questions.slice(0, inboxMax)),
    ...(questions.length > inboxMax ? ["There are more: list_tasks with state awaiting_response."] : []),
  ];
}

async function ready(agents: AgentSessions): Promise<string[]> {
  const dibs = await agents.dibs().catch(notYet);
  if (dibs instanceof DibsError) return [`No task is ready. ${dibs.message}`];
  const { tasks } = await dibs.tasks.claimable({ limit: readyMax + 1 });
  if (tasks.length === 0) return ["No task is ready."];
  const shown = tasks.slice(0, Math.min(readyMax, fitting(tasks)));
  return [
    "Ready tasks, in claiming order:",
    taskLines(shown),
    ...(tasks.length > shown.length ? ["There are more: list_tasks with ready true."] : []),
  ];
}

export function addResources(server: McpServer, agents: AgentSessions): void {
  server.registerResource(
    "inbox",
    inboxUri,
    { title: "Open questions", description: "Questions for a human", mimeType },
    (uri) => read(uri, () => inbox(agents)),
  );
  server.registerResource(
    "ready",
    readyUri,
    { title: "Ready tasks", description: "Tasks that can be claimed now, in claiming order", mimeType },
    (uri) => read(uri, () => ready(agents)),
  );
  server.registerResource(
    "task",
    new ResourceTemplate("dibs://task/{id}", { list: undefined }),
    { title: "A task", description: "Text, state, attempts and result", mimeType },
    (uri, { id }) => read(uri, async () => describe(await agents.dibs(), decodeURIComponent(String(id)))),
  );
}

const questions: readonly WireEvent["type"][] = [
  "task:awaiting-response",
  "task:response-received",
  "task:cancelled",
  "task:failed",
  "task:retry-scheduled",
];
const unready: readonly WireEvent["type"][] = ["task:progress", "task:started", "task:created"];

/** What an event changes. */
export function changedBy({ type, taskId }: WireEvent): string[] {
  if (taskId === null) return type === "project:updated" ? [readyUri] : [];
  return [
    taskUri(taskId),
    ...(questions.includes(type) ? [inboxUri] : []),
    ...(unready.includes(type) || !type.startsWith("task:") ? [] : [readyUri]),
  ];
}
