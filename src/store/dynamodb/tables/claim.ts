import type { Claim } from "../../../core/claim.js";
import { beginning, endOf, type Place, type Span, type Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { rowCodec, stored } from "../row-codec.js";

export const codec = rowCodec<Claim>("claim", {
  project: stored,
  taskId: stored,
  sessionId: stored,
  epoch: stored,
  state: stored,
  agentType: null,
  claimedAt: stored,
  startedAt: null,
  expiresAt: stored,
  ttlMs: stored,
  lastHeartbeat: stored,
  heartbeatCount: 0,
  progress: null,
  metadata: null,
  startBy: null,
  deadlineAt: null,
  silentAt: null,
  pausedAt: null,
  acknowledged: false,
  uses: null,
  usage: null,
  updatedAt: stored,
});

const partition = "LEASE";

/** All open claims of the org. */
export const span = (keys: OrgKeys): Span => {
  const place = keys.at("queue", " ", partition);
  return { ...beginning(place), from: place.sk, to: endOf("") };
};

/** By the key of its task. */
export const place = (keys: OrgKeys, { project, taskId }: Pick<Claim, "project" | "taskId">): Place =>
  keys.at("queue", `${project}/${taskId}`, partition);

export const write = (
  keys: OrgKeys,
  named: Pick<Claim, "project" | "taskId">,
  claim: Claim | undefined,
): Write => ({ ...place(keys, named), data: claim ? codec.encode(claim) : null });
