// What the document says about /mcp: how the protocol travels. What is in its messages is said by MCP itself.

import { roles } from "../../contract/operation.js";
import type { Plan } from "./extra-routes.js";
import { jsonType, type ParameterObject, type Reference, type ResponseObject } from "./openapi-types.js";
import type { Schema } from "./schema.js";

const streamType = "text/event-stream";
const text: Schema = { type: "string" };
const id: Schema = { anyOf: [text, { type: "integer" }] };
const version: Schema = { type: "string", const: "2.0" };

const message: Schema = {
  type: "object",
  properties: { jsonrpc: version, id, method: text, params: { type: "object" } },
  required: ["jsonrpc"],
};

const failure: Schema = {
  type: "object",
  properties: { code: { type: "integer" }, message: text, data: {} },
  required: ["code", "message"],
};

/** Judged, but shown in words: an example of the protocol's own fields would say nothing about us. */
const inWords = (schema: Schema): Schema => ({ allOf: [schema] });

const answered = inWords({
  type: "object",
  properties: { jsonrpc: version, id, result: { type: "object" }, error: failure },
  required: ["jsonrpc", "id"],
});

const refused = inWords({
  type: "object",
  properties: { jsonrpc: version, id: { anyOf: [id, { type: "null" }] }, error: failure },
  required: ["jsonrpc", "error"],
});

const refusal = (description: string): ResponseObject => ({
  description,
  content: { [jsonType]: { schema: refused } },
});

/** What the protocol refuses by itself, before anything is done. */
const all = {
  400: refusal("Not a message, or not one for here: wrong headers, no session"),
  404: refusal("No such session, or no such method"),
  406: refusal("The client does not accept the types of the answer"),
};

const session: ParameterObject = {
  name: "Mcp-Session-Id",
  in: "header",
  description:
    "From the answer to `initialize`; until version 2025-11-25. Later versions have no sessions: each message is independent",
  schema: text,
};

const protocolVersion: ParameterObject = {
  name: "MCP-Protocol-Version",
  in: "header",
  description: "The version of the protocol that was agreed on",
  schema: text,
};

const stream: ResponseObject = {
  description: "Messages of the server, one per event",
  content: { [streamType]: { schema: text } },
};

/** `where` says which project is meant. */
export function mcpRoutes(where: Reference[]): Plan[] {
  const parameters = [session, protocolVersion, ...where];
  return [
    {
      path: "/mcp",
      method: "post",
      name: "mcp.message",
      summary: "Send a message of MCP",
      description:
        "Model Context Protocol over streamable HTTP, for agents: the tools `create_task`, `claim_task`, `start_task`, `complete_task`, " +
        "`fail_task`, `ask_human`, `update_progress`, `release_task`, `list_tasks` and `get_task`, resources and prompts. " +
        "The token's role decides what a tool can do. `Accept` must name `application/json` and `text/event-stream`.",
      role: roles[0],
      parameters,
      body: message,
      answer: {
        description: "The answer: as JSON, or as the last event of a stream",
        headers: {
          "Mcp-Session-Id": { description: "After initialize, in versions with sessions", schema: text },
        },
        content: { [jsonType]: { schema: answered }, [streamType]: { schema: text } },
      },
      other: {
        202: { description: "Taken; there is no answer to a notification or an answer" },
        ...all,
        413: refusal("The message is too large"),
        415: refusal("The message is not JSON"),
      },
    },
    {
      path: "/mcp",
      method: "get",
      name: "mcp.listen",
      summary: "Follow what the server says by itself",
      description:
        "For versions with sessions: notices about resources, and questions to the human at the client.",
      role: roles[0],
      parameters,
      answer: stream,
      other: { ...all, 409: refusal("The session has such a stream already") },
    },
    {
      path: "/mcp",
      method: "delete",
      name: "mcp.end",
      summary: "End a session; what its agents hold goes back at once",
      role: roles[0],
      parameters,
      answer: { description: "The session has ended" },
      other: all,
    },
  ];
}
