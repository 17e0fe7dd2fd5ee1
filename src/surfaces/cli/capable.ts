// What a session can do, told when it claims: tasks that require something go to those that can. A claim by itself registers a name.

import type { Dibs } from "../../client/client.js";
import { type Context, given } from "./context.js";
import type { FlagSpec } from "./spec.js";

export const capabilityFlag: Record<string, FlagSpec> = {
  capability: {
    value: "<word>",
    many: true,
    help: "what it can do, for tasks that require it; kept; several: one flag each",
  },
};

export async function tellCapabilities(context: Context, dibs: Dibs, sessionId: string): Promise<void> {
  const capabilities = context.texts("capability");
  if (capabilities === undefined) return;
  await dibs.sessions.register({
    id: sessionId,
    capabilities,
    ...given({ agentType: context.text("agent-type") }),
  });
}
