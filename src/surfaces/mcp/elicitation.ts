// Asking the human at the client. Clients of 2025 are asked by a request of ours, which ends when somebody else was faster; those of
// 2026 answer the tool's call anew, with what the human said.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Elicit, Question } from "./ask.js";
import { clip } from "./text.js";

/** Nobody knows when a human looks; the question itself stays open for ever. */
const patienceMs = 24 * 60 * 60 * 1000;

export function canElicit(server: McpServer, context: ServerContext): boolean {
  const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
  const { elicitation } = (declared ?? {}) as ClientCapabilities;
  // Without a mode it means forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

function formFor({ taskId, text, options }: Question) {
  return {
    message: `Task ${taskId}: ${clip(text, 4_000)}`,
    requestedSchema: {
      type: "object" as const,
      properties: {
        ...(options ? { choice: { type: "string" as const, title: "Choice", enum: options } } : {}),
        answer: { type: "string" as const, title: options ? "Or in your own words" : "Answer" },
      },
      ...(options ? {} : { required: ["answer"] }),
    },
  };
}

/** What was said in words goes before what was chosen; null: nothing. */
function responseIn(result: unknown): string | null {
  const { action, content } = (result ?? {}) as { action?: string; content?: Record<string, unknown> };
  if (action !== "accept") return null;
  const said = [content?.answer, content?.choice].find(
    (each) => typeof each === "string" && each.trim() !== "",
  );
  return (said as string | undefined) ?? null;
}

export const byRequest =
  ({ mcpReq }: ServerContext): Elicit =>
  async (question, signal) =>
    responseIn(await mcpReq.elicitInput(formFor(question), { signal, timeout: patienceMs }));

const key = "answer";

/** Which question it was is told by the client: it may answer only what its caller may answer anyway. */
export function byAnotherCall(question: Question): InputRequiredResult {
  return inputRequired({
    inputRequests: { [key]: inputRequired.elicit(formFor(question)) },
    requestState: JSON.stringify([question.taskId, question.id]),
  });
}

export function answerIn(
  context: ServerContext,
): { taskId: string; id: string; response: string | null } | null {
  const { inputResponses, requestState } = context.mcpReq;
  const state = requestState();
  if (inputResponses?.[key] === undefined || typeof state !== "string") return null;
  try {
    const [taskId, id] = JSON.parse(state) as [string, string];
    return { taskId: String(taskId), id: String(id), response: responseIn(inputResponses[key]) };
  } catch {
    return null;
  }
}
