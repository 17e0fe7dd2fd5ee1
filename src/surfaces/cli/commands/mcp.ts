// `mcp`: the program that an agent's MCP client starts. Its answers are the protocol; everything else goes to standard error.

import type { Command, SingleCommand } from "../command.js";
import { connectionFor } from "../connection.js";
import { type Context, given } from "../context.js";
import { plain } from "../print/text.js";

/** A name that no other process has. */
function ownName({ parts }: Context): string {
  return `mcp-${parts.now().toString(36)}-${Math.floor(Math.random() * 36 ** 4)
    .toString(36)
    .padStart(4, "0")}`;
}

function heldBy(context: Context, sessionId: string | undefined) {
  const { DIBS_TASK: taskId } = context.parts.env;
  const { epoch } = context;
  return sessionId && taskId && epoch !== undefined ? { sessionId, taskId, epoch } : undefined;
}

const mcp: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const named = context.asSession;
  const opened = new Set<{ close(): Promise<void> }>();
  try {
    await parts.serveMcp({
      open: async () => {
        const dibs = await connectionFor(context, parts);
        opened.add(dibs);
        return dibs;
      },
      abandon: (dibs) => {
        opened.delete(dibs);
        void dibs.close();
      },
      defaultAgent: named ?? ownName(context),
      onTrouble: (error) => parts.err(`dibs mcp: ${plain((error as Error).message)}\n`),
      ...given({
        agentType: context.text("agent-type"),
        capabilities: context.list("capability"),
        held: heldBy(context, named),
      }),
    });
  } finally {
    await Promise.all([...opened].map((each) => each.close()));
  }
};

export const commands: Record<string, Command> = {
  mcp: {
    name: "mcp",
    summary: "serve an agent's MCP client on standard input and output",
    details:
      "Works on the store directly, or through its server when one runs. Claims live as long as this process: they are renewed while the agent is heard of, and go back when the client is gone.",
    flags: {
      "agent-type": { value: "<word>", help: "what kind of agent this is, for tasks that ask for one" },
      capability: { value: "<word>", many: true, help: "what it can do, for tasks that require it" },
    },
    examples: ["dibs mcp", "claude mcp add dibs -- dibs mcp"],
    run: mcp,
  },
};
