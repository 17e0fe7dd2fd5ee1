// `mcp`: the program that an agent's MCP client starts. Its answers are the protocol; everything else goes to standard error.

import { clientName, inDirectory } from "../client-name.js";
import type { Command, SingleCommand } from "../command.js";
import { connectionFor, targetFor } from "../connection.js";
import { type Context, given } from "../context.js";
import type { Parts } from "../parts.js";
import { plain } from "../print/text.js";
import { changeHere } from "../result.js";
import { usageError } from "../spec.js";

/** Claude Code sets this for the servers and hooks it starts, and for nothing else: they are one agent. */
const isOfClaude = ({ parts }: Context) => Boolean(parts.env.CLAUDE_PROJECT_DIR);

/** A name that no other agent has. */
async function ownName(context: Context): Promise<string> {
  const { parts } = context;
  const ofClient = isOfClaude(context) ? await clientName(parts, parts.parentPid) : null;
  return ofClient ?? freshName(parts);
}

function freshName({ now }: Parts): string {
  return `mcp-${now().toString(36)}-${Math.floor(Math.random() * 36 ** 4)
    .toString(36)
    .padStart(4, "0")}`;
}

function heldBy(context: Context, sessionId: string | undefined) {
  const { DIBS_TASK: taskId } = context.parts.env;
  const epoch = taskId ? context.epochOf(taskId) : undefined;
  return sessionId && taskId && epoch !== undefined ? { sessionId, taskId, epoch } : undefined;
}

/** A client that does not know the variable leaves it as it is. */
async function whereOf(context: Context): Promise<Parts> {
  const directory = context.text("directory");
  if (directory === undefined || directory === "" || directory.includes("${")) return context.parts;
  const there = inDirectory(context.parts, directory);
  if (await there.files.exists(there.cwd)) return there;
  throw usageError(`Directory ${directory} not found.`);
}

const mcp: SingleCommand["run"] = async (context) => {
  const parts = await whereOf(context);
  const named = context.asSession;
  const opened = new Set<{ close(): Promise<void> }>();
  try {
    const hasClient = await parts.serveMcp({
      open: async () => {
        const dibs = await connectionFor(context, parts);
        opened.add(dibs);
        return dibs;
      },
      create: async () => {
        let created: string | null = null;
        const onCreate = (store: string) => {
          created = store;
        };
        const dibs = await connectionFor(context, parts, { creates: true, onCreate });
        opened.add(dibs);
        return { dibs, created };
      },
      abandon: (dibs) => {
        opened.delete(dibs);
        void dibs.close();
      },
      defaultAgent: named ?? (await ownName(context)),
      changeOf: async (dibs, holder) => {
        const found = await changeHere(context, dibs, holder);
        // A client can start elsewhere, and name the directory of the store.
        if (found?.isKnown !== false || parts.cwd === context.parts.cwd) return found;
        return changeHere(context, dibs, holder, parts.cwd);
      },
      onTrouble: (error) => parts.err(`dibs mcp: ${plain((error as Error).message)}\n`),
      ...given({
        agentType: context.text("agent-type"),
        capabilities: context.texts("capability"),
        held: heldBy(context, named),
      }),
    });
    // A client reads a refusal in its answers; without one, a store that cannot be used is reported here.
    if (!hasClient) await targetFor(context, parts, true);
  } finally {
    await Promise.all([...opened].map((each) => each.close()));
  }
};

export const commands: Record<string, Command> = {
  mcp: {
    name: "mcp",
    summary: "Run the MCP server of an agent on standard input and output",
    details:
      "Uses the store directly, or its server if one runs. Leases are renewed while the agent sends requests; when the client disconnects, its tasks return to the queue.",
    flags: {
      directory: { value: "<path>", help: "directory of the store, if the client starts elsewhere" },
      "agent-type": { value: "<word>", help: "type of this agent" },
      capability: {
        value: "<word>",
        many: true,
        help: "capability of this agent; repeatable",
      },
    },
    examples: ["dibs mcp", "claude mcp add dibs -- dibs mcp"],
    run: mcp,
  },
};
