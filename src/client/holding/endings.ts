// How a holder learns that a task is no longer its own: by an event about its claim, or by a refused call.

import { DibsError } from "../../contract/error.js";
import type { WireEvent } from "../../contract/shapes.js";

/** Events that end a claim, and the code that refuses the holder's next call. */
const endings = new Map<WireEvent["type"], DibsError["code"]>([
  ["task:cancelled", "TASK_CANCELLED"],
  ["task:released", "TASK_NOT_CLAIMED"],
  ["task:completed", "TASK_NOT_CLAIMED"],
  ["task:submitted", "TASK_NOT_CLAIMED"],
  ["task:failed", "TASK_NOT_CLAIMED"],
  ["task:retry-scheduled", "TASK_NOT_CLAIMED"],
  ["task:claim-expired", "CLAIM_EXPIRED"],
  ["task:claim-orphaned", "CLAIM_EXPIRED"],
]);

/** What a holder must hear of. */
export const holderEvents: WireEvent["type"][] = [
  ...endings.keys(),
  "task:awaiting-response",
  "task:response-received",
  // Of reviews: what is reviewed was decided, or is no longer there.
  "task:reviewed",
  "task:returned",
  "task:withdrawn",
  "task:landed",
];

/** The refusal that the holder's next call would get; null: the claim goes on. */
export function lossIn({ type, taskId, data }: WireEvent): DibsError | null {
  const code = endings.get(type);
  if (code === undefined) return null;
  const { reason } = data;
  const why = reason === undefined ? type : `${type}: ${reason}`;
  return new DibsError(code, `Task ${taskId} is no longer held by this session (${why}).`, {
    details: { reason },
  });
}

/** Refusals that say that the task is no longer held. */
const lostCodes: ReadonlySet<DibsError["code"]> = new Set<DibsError["code"]>([
  "CLAIM_EXPIRED",
  "TASK_CANCELLED",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "STALE_EPOCH",
  "TASK_NOT_FOUND",
  "SESSION_NOT_FOUND",
]);

export function isLost(error: unknown): boolean {
  return error instanceof DibsError && lostCodes.has(error.code);
}

export function hasCode(error: unknown, ...codes: DibsError["code"][]): boolean {
  return error instanceof DibsError && codes.includes(error.code);
}
