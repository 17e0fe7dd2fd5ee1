// The MCP server of one connection: tools, resources and prompts. The same for stdio and HTTP, and for both versions of
// the protocol; a tool's answer is one text.

import {
  type CallToolResult,
  type InputRequiredResult,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { dataRule } from "../../client/brief/data.js";
import { isLost } from "../../client/holding/index.js";
import { Ending } from "../../common/abort.js";
import type { DibsError } from "../../contract/error.js";
import type { WireTask } from "../../contract/shapes.js";
import type { AgentSessions } from "./agent-sessions.js";
import { answerBlock, answerReminder } from "./answers.js";
import { type Arguments, readArguments } from "./arguments.js";
import { askHuman, mayAnswer, notNow, put, questionOf, respond } from "./ask.js";
import { answerIn, byAnotherCall, byRequest, canElicit } from "./elicitation.js";
import { explained, handlers } from "./handlers.js";
import { addPrompts } from "./prompts.js";
import { asDibsError, refusalText } from "./refusals.js";
import { addResources } from "./resources.js";
import { inputSchemaOf, type ToolName, toolNames, tools } from "./tools.js";

export interface ServerOptions {
  version: string;
  era: "legacy" | "modern";
}

const instructions = `Dibs: one list of tasks for many agents, and one agent per task. Loop: claim_task (start true), do the work, complete_task or fail_task. Work only on a task that you hold; stop when a call reports that it is no longer yours. Ask with ask_human. ${dataRule}`;

export function createServer(agents: AgentSessions, { version, era }: ServerOptions): McpServer {
  const server = new McpServer(
    { name: "dibs", title: "Dibs", version },
    {
      instructions,
      capabilities: {
        tools: { listChanged: false },
        resources: { subscribe: true, listChanged: false },
        prompts: { listChanged: false },
      },
    },
  );
  for (const name of toolNames) {
    const { description, annotations } = tools[name];
    server.registerTool(name, { description, annotations, inputSchema: schemaOf(name) }, (input, context) =>
      call(name, input, { agents, server, context, era }),
    );
  }
  addResources(server, agents);
  addPrompts(server);
  return server;
}

/** Lists the JSON Schema as it is; arguments are validated by `readArguments`, with messages for agents. */
function schemaOf(name: ToolName): StandardSchemaWithJSON<unknown, unknown> {
  const json = inputSchemaOf(tools[name]);
  return {
    "~standard": {
      version: 1,
      vendor: "dibs",
      validate: (value) => ({ value }),
      jsonSchema: { input: () => json, output: () => json },
    },
  };
}

interface Call {
  agents: AgentSessions;
  server: McpServer;
  context: ServerContext;
  era: "legacy" | "modern";
}

async function call(
  name: ToolName,
  input: unknown,
  call: Call,
): Promise<CallToolResult | InputRequiredResult> {
  const { agents } = call;
  let { connection } = agents;
  let taken: Arguments = {};
  let unheard: WireTask[] = [];
  try {
    taken = readArguments(name, tools[name], input);
    // Read before the call: the call itself can acknowledge an answer that the agent has not seen.
    unheard = await unheardAnswers(agents, taken);
    const agentId = agentIn(agents, taken);
    if (agentId) await agents.heard(agentId);
    connection = agents.connection;
    const answer = await whileTelling(call.context, () => run(name, taken, call));
    return Array.isArray(answer) ? said(agents, taken, answer, unheard) : answer;
  } catch (error) {
    const refusal = asDibsError(error);
    if (isLost(refusal)) forget(agents, taken);
    if (refusal.code === "INTERNAL") agents.options.onTrouble?.(error);
    if (refusal.code === "STORE_UNAVAILABLE") agents.reconnect(connection);
    const text = refusalText(refusal, await insteadOf(refusal, agents, taken));
    return { ...said(agents, taken, [text], unheard), isError: true };
  }
}

/** The next step instead of "claim it", for a task that cannot be claimed. */
async function insteadOf(
  { code }: DibsError,
  agents: AgentSessions,
  taken: Arguments,
): Promise<string | undefined> {
  const { task_id: taskId, verdict } = taken;
  if (verdict !== undefined && code === "INVALID_STATE")
    return "Your verdict does not count. Call claim_task for other work.";
  if (verdict !== undefined && code === "FORBIDDEN")
    return "A person must review it. Call claim_task for other work.";
  if (code !== "TASK_NOT_CLAIMED" || typeof taskId !== "string") return undefined;
  try {
    const dibs = await agents.dibs();
    const [{ task }, { claimable }] = await Promise.all([
      dibs.tasks.get({ taskId }),
      explained(dibs, taskId, agentIn(agents, taken)),
    ]);
    if (task.type === "group" && task.state === "queued")
      return `Claim its subtasks instead: call list_tasks with parent_id ${taskId}.`;
    return claimable
      ? undefined
      : `You do not hold it; it is ${task.state} and cannot be claimed. Call claim_task for other work.`;
  } catch {
    return undefined;
  }
}

const agentIn = (agents: AgentSessions, { agent_id }: Arguments) =>
  (agent_id as string | undefined) ?? agents.options.defaultAgent;

const tellEveryMs = 10_000;

/** Sends progress to a client that asked for it, so that a long call does not time out. */
async function whileTelling<T>({ mcpReq }: ServerContext, work: () => Promise<T>): Promise<T> {
  const { progressToken } = mcpReq._meta ?? {};
  if (progressToken === undefined) return work();
  let progress = 0;
  const telling = setInterval(() => {
    progress += 1;
    const params = { progressToken, progress, message: "waiting" };
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  }, tellEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(telling);
  }
}

function forget(agents: AgentSessions, { agent_id, task_id }: Arguments): void {
  if (typeof task_id === "string") agents.letGo(agents.nameOf(agent_id), task_id);
}

/** Usually the first request of a call. If the server is gone, it reconnects, and the call uses the new connection. */
async function unheardAnswers(agents: AgentSessions, taken: Arguments): Promise<WireTask[]> {
  const agentId = agentIn(agents, taken);
  if (!agentId) return [];
  const opening = agents.dibs();
  try {
    return await agents.unacknowledged(await opening, agentId);
  } catch (error) {
    if (asDibsError(error).code === "STORE_UNAVAILABLE") agents.reconnect(opening);
    return [];
  }
}

function said(agents: AgentSessions, taken: Arguments, lines: string[], unheard: WireTask[]): CallToolResult {
  const agentId = agentIn(agents, taken);
  const text = lines.join("\n");
  const unsaid = unheard.filter((task) => !text.includes(answerBlock(task)));
  const answers = unsaid.flatMap((task) => answerReminder(task, unsaid.length));
  const notices = agentId ? agents.noticesFor(agentId) : [];
  return { content: [{ type: "text", text: [...notices, ...answers, text].join("\n") }] };
}

async function run(name: ToolName, input: Arguments, call: Call): Promise<string[] | InputRequiredResult> {
  const { agents, context, era } = call;
  // Cancelled, or the client has disconnected.
  const broken = new Ending([context.mcpReq.signal, context.http?.req?.signal]);
  try {
    if (name !== "ask_human") return await handlers[name](agents, input, broken.signal);
    return await (era === "modern" ? askModern : askLegacy)(input, call, broken.signal);
  } finally {
    broken.release();
  }
}

async function askLegacy(
  input: Arguments,
  { agents, server, context }: Call,
  signal: AbortSignal,
): Promise<string[]> {
  const elicit = canElicit(server, context) && (await mayAnswer(agents)) ? byRequest(context) : null;
  return askHuman(agents, input, signal, elicit);
}

async function askModern(
  input: Arguments,
  { agents, server, context }: Call,
  signal: AbortSignal,
): Promise<string[] | InputRequiredResult> {
  const answer = answerIn(context);
  if (answer?.response != null) await respond(agents, { ...answer, text: "" }, answer.response);
  if (answer) {
    const declined = answer.response === null ? [notNow] : [];
    return [...declined, ...(await askHuman(agents, input, signal, null))];
  }
  if (input.wait_seconds === 0 || !canElicit(server, context) || !(await mayAnswer(agents)))
    return askHuman(agents, input, signal, null);
  const { task } = await put(agents, input);
  const question = questionOf(task);
  return question ? byAnotherCall(question) : askHuman(agents, input, signal, null);
}
