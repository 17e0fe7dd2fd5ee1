// The MCP server of one connection: S3's tools, resources and prompts over one desk. The same for stdio and HTTP, and for both
// eras of the protocol; a tool's answer is one text.

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
import { answerBlock, answerReminder } from "./answers.js";
import { type Arguments, readArguments } from "./arguments.js";
import { askHuman, mayAnswer, notNow, put, questionOf, respond } from "./ask.js";
import type { Desk } from "./desk.js";
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

export function createServer(desk: Desk, { version, era }: ServerOptions): McpServer {
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
      call(name, input, { desk, server, context, era }),
    );
  }
  addResources(server, desk);
  addPrompts(server);
  return server;
}

/** Listed as it is written; what was given is judged by us, in words for agents. */
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
  desk: Desk;
  server: McpServer;
  context: ServerContext;
  era: "legacy" | "modern";
}

async function call(
  name: ToolName,
  input: unknown,
  call: Call,
): Promise<CallToolResult | InputRequiredResult> {
  const { desk } = call;
  let { connection } = desk;
  let taken: Arguments = {};
  let unheard: WireTask[] = [];
  try {
    taken = readArguments(name, tools[name], input);
    // Looked for before the call, because the call itself may acknowledge an answer that the agent has never seen.
    unheard = await unheardAnswers(desk, taken);
    const agentId = agentIn(desk, taken);
    if (agentId) await desk.heard(agentId);
    connection = desk.connection;
    const answer = await whileTelling(call.context, () => run(name, taken, call));
    return Array.isArray(answer) ? said(desk, taken, answer, unheard) : answer;
  } catch (error) {
    const refusal = asDibsError(error);
    if (isLost(refusal)) forget(desk, taken);
    if (refusal.code === "INTERNAL") desk.options.onTrouble?.(error);
    if (refusal.code === "STORE_UNAVAILABLE") desk.reconnect(connection);
    const text = refusalText(refusal, await insteadOf(refusal, desk, taken));
    return { ...said(desk, taken, [text], unheard), isError: true };
  }
}

/** Nobody is sent to take what cannot be taken. */
async function insteadOf({ code }: DibsError, desk: Desk, taken: Arguments): Promise<string | undefined> {
  const { task_id: taskId } = taken;
  if (code !== "TASK_NOT_CLAIMED" || typeof taskId !== "string") return undefined;
  try {
    const dibs = await desk.dibs();
    const [{ task }, { claimable }] = await Promise.all([
      dibs.tasks.get({ taskId }),
      explained(dibs, taskId, agentIn(desk, taken)),
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

const agentIn = (desk: Desk, { agent_id }: Arguments) =>
  (agent_id as string | undefined) ?? desk.options.defaultAgent;

const tellEveryMs = 10_000;

/** A client that asked for progress hears that we still wait, and does not give up. */
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

function forget(desk: Desk, { agent_id, task_id }: Arguments): void {
  if (typeof task_id === "string") desk.letGo(desk.nameOf(agent_id), task_id);
}

/** Mostly the first to notice that the server is gone: then the call itself goes to where the store is found anew. */
async function unheardAnswers(desk: Desk, taken: Arguments): Promise<WireTask[]> {
  const agentId = agentIn(desk, taken);
  if (!agentId) return [];
  const opening = desk.dibs();
  try {
    return await desk.unacknowledged(await opening, agentId);
  } catch (error) {
    if (asDibsError(error).code === "STORE_UNAVAILABLE") desk.reconnect(opening);
    return [];
  }
}

function said(desk: Desk, taken: Arguments, lines: string[], unheard: WireTask[]): CallToolResult {
  const agentId = agentIn(desk, taken);
  const text = lines.join("\n");
  const unsaid = unheard.filter((task) => !text.includes(answerBlock(task)));
  const answers = unsaid.flatMap((task) => answerReminder(task, unsaid.length));
  const notices = agentId ? desk.noticesFor(agentId) : [];
  return { content: [{ type: "text", text: [...notices, ...answers, text].join("\n") }] };
}

async function run(name: ToolName, input: Arguments, call: Call): Promise<string[] | InputRequiredResult> {
  const { desk, context, era } = call;
  // Cancelled, or nobody is there any more to hear the answer.
  const broken = new Ending([context.mcpReq.signal, context.http?.req?.signal]);
  try {
    if (name !== "ask_human") return await handlers[name](desk, input, broken.signal);
    return await (era === "modern" ? askModern : askLegacy)(input, call, broken.signal);
  } finally {
    broken.release();
  }
}

async function askLegacy(
  input: Arguments,
  { desk, server, context }: Call,
  signal: AbortSignal,
): Promise<string[]> {
  const elicit = canElicit(server, context) && (await mayAnswer(desk)) ? byRequest(context) : null;
  return askHuman(desk, input, signal, elicit);
}

async function askModern(
  input: Arguments,
  { desk, server, context }: Call,
  signal: AbortSignal,
): Promise<string[] | InputRequiredResult> {
  const answer = answerIn(context);
  if (answer?.response != null) await respond(desk, { ...answer, text: "" }, answer.response);
  if (answer) {
    const declined = answer.response === null ? [notNow] : [];
    return [...declined, ...(await askHuman(desk, input, signal, null))];
  }
  if (input.wait_seconds === 0 || !canElicit(server, context) || !(await mayAnswer(desk)))
    return askHuman(desk, input, signal, null);
  const { task } = await put(desk, input);
  const question = questionOf(task);
  return question ? byAnotherCall(question) : askHuman(desk, input, signal, null);
}
