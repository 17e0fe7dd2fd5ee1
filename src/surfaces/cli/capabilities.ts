// The capabilities of a session, stored when it claims: tasks that require one go to sessions that have it.

import type { Dibs } from "../../client/client.js";
import { type Context, given } from "./context.js";
import type { FlagSpec } from "./spec.js";

export const capabilityFlag: Record<string, FlagSpec> = {
  capability: {
    value: "<word>",
    many: true,
    help: "capability of this agent, stored with its session; repeatable",
  },
};

export async function storeCapabilities(context: Context, dibs: Dibs, sessionId: string): Promise<void> {
  const capabilities = context.texts("capability");
  if (capabilities === undefined) return;
  await dibs.sessions.register({
    id: sessionId,
    capabilities,
    ...given({ agentType: context.text("agent-type") }),
  });
}
