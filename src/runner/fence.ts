// Whether a claim is still held, for git hooks and other programs that must not act for an attempt that has ended. If the
// store does not answer, the fence refuses.

import type { Dibs } from "../client/client.js";
import { DibsError } from "../contract/error.js";

export interface FencedClaim {
  project?: string;
  taskId: string;
  sessionId: string;
  epoch: number;
}

export interface FenceAnswer {
  isAllowed: boolean;
  /** For people; null if allowed. */
  message: string | null;
}

/** The claim is open, and it is this one. */
async function isHeld(dibs: Dibs, { project, taskId, sessionId, epoch }: FencedClaim): Promise<boolean> {
  const { task } = await dibs.tasks.get(project === undefined ? { taskId } : { project, taskId });
  const { claim } = task;
  return claim?.sessionId === sessionId && claim.epoch === epoch && claim.healthStatus !== "expired";
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the claim from the environment, and opens the store only if needed. */
export async function askFence(env: Env, open: () => Promise<Dibs>): Promise<FenceAnswer> {
  if (env.DIBS_FENCE === "off") return { isAllowed: true, message: null };
  const held = heldFrom(env);
  if (!held) {
    return refused("DIBS_TASK, DIBS_SESSION and DIBS_EPOCH must name a claim");
  }
  try {
    const dibs = await open();
    try {
      if (await isHeld(dibs, held)) return { isAllowed: true, message: null };
    } finally {
      await dibs.close();
    }
    return refused(`session ${held.sessionId} no longer holds task ${held.taskId} (epoch ${held.epoch})`);
  } catch (error) {
    const code = error instanceof DibsError ? error.code : "unknown";
    const why = error instanceof Error ? error.message : String(error);
    return refused(`cannot check whether task ${held.taskId} is still held (${code}: ${why})`);
  }
}

function refused(why: string): FenceAnswer {
  return {
    isAllowed: false,
    message: `dibs fence: ${why}. Set DIBS_FENCE=off to continue without the check.`,
  };
}

function heldFrom({ DIBS_PROJECT, DIBS_TASK, DIBS_SESSION, DIBS_EPOCH }: Env): FencedClaim | null {
  const epoch = Number(DIBS_EPOCH);
  if (!DIBS_TASK || !DIBS_SESSION || !Number.isSafeInteger(epoch) || epoch < 1) return null;
  const on = DIBS_PROJECT ? { project: DIBS_PROJECT } : {};
  return { ...on, taskId: DIBS_TASK, sessionId: DIBS_SESSION, epoch };
}
