// Every "no" that Dibs can say. A refusal is caused by a caller or by the world and is an answer, never a crash;
// what only we can cause is an assertion. For a holder's call the codes are tested in the order of `holderPrecedence`.

export const refusals = {
  TASK_NOT_FOUND: { transient: false, means: "No task has this id in the project." },
  PROJECT_NOT_FOUND: { transient: false, means: "The store has no project of this name." },
  SESSION_NOT_FOUND: { transient: false, means: "The session is unknown or has ended; register it first." },
  NOT_FOUND: {
    transient: false,
    means: "There is nothing at this address, or no notification or token of this id.",
  },
  TASK_ALREADY_CLAIMED: { transient: true, means: "Another session holds the task." },
  TASK_NOT_CLAIMABLE: { transient: true, means: "The task cannot be claimed now; `reasons` says why." },
  TASK_NOT_CLAIMED: { transient: false, means: "No session holds the task." },
  NOT_CLAIM_OWNER: { transient: false, means: "Another session holds the task, not the one that called." },
  CLAIM_EXPIRED: { transient: false, means: "The caller's lease has expired; what it sent was not applied." },
  TASK_CANCELLED: {
    transient: false,
    means: "The task was cancelled while the caller held it; stop working on it.",
  },
  STALE_EPOCH: { transient: false, means: "The epoch belongs to an earlier claim of the same task." },
  INVALID_STATE: { transient: false, means: "The operation does not exist in the task's present state." },
  QUESTION_MISMATCH: { transient: false, means: "The answer is for another question than the open one." },
  TASK_NOT_AWAITING: { transient: false, means: "The task has no open question." },
  TASK_NOT_RETRYABLE: { transient: false, means: "Only failed and cancelled tasks can be retried." },
  TASK_NOT_CANCELLABLE: { transient: false, means: "The task has already ended." },
  LANDING_NOW: {
    transient: true,
    means: "The task's submission is being landed; try again when that is settled.",
  },
  STALE_SUBMISSION: {
    transient: false,
    means: "The verdict is for a submission that has ended, or was replaced by a newer one.",
  },
  SELF_REVIEW: {
    transient: false,
    means: "The author of a submission cannot review it.",
  },
  REMOTE_REQUIRED: {
    transient: false,
    means: "The commit is on another machine, and the project has no `land.remote` to fetch it from.",
  },
  CHILDREN_OPEN: {
    transient: true,
    means: "The task has subtasks that are neither completed nor cancelled.",
  },
  RESOURCE_NOT_FOUND: { transient: false, means: "The org has no resource of this id." },
  RESOURCE_IN_USE: {
    transient: true,
    means: "A claim, an open task, a live session or a project uses the resource.",
  },
  DEPENDENCY_NOT_FOUND: { transient: false, means: "A task named in `dependsOn` does not exist." },
  DEPENDENCY_CYCLE: {
    transient: false,
    means: "The tasks would wait for each other indefinitely; the message names the cycle.",
  },
  VALIDATION_FAILED: { transient: false, means: "The input is not valid; `issues` names each field." },
  ID_TAKEN: { transient: false, means: "The supplied id exists already." },
  COUNTER_EXHAUSTED: { transient: false, means: "All generated ids of the project are used up." },
  SESSION_BUSY: { transient: true, means: "The session or lock is in use by a live process." },
  IDEMPOTENCY_MISMATCH: { transient: false, means: "The idempotency key was used for another request." },
  PAYLOAD_TOO_LARGE: { transient: false, means: "A text or body is longer than the limit." },
  UNSUPPORTED_MEDIA_TYPE: { transient: false, means: "Only JSON is accepted." },
  UNAUTHENTICATED: { transient: false, means: "A valid token is needed." },
  FORBIDDEN: {
    transient: false,
    means: "The caller's role, Host or Origin does not allow this, or the session belongs to another token.",
  },
  REQUEST_TIMEOUT: { transient: true, means: "The request did not arrive, or was not answered, in time." },
  RATE_LIMITED: { transient: true, means: "Too many requests or connections." },
  STORE_BUSY: { transient: true, means: "Another process kept the store locked for too long." },
  STORE_FULL: { transient: true, means: "The disk is full; nothing was written." },
  STORE_READ_ONLY: { transient: false, means: "The store cannot be written; check permissions and mounts." },
  STORE_CORRUPT: {
    transient: false,
    means: "The store or a row of it is damaged; dibs doctor lists what, a backup restores it.",
  },
  STORE_NOT_TRUSTED: {
    transient: false,
    means:
      "The store was found in a directory, and this user has neither created nor trusted it: `dibs trust`.",
  },
  STORE_TOO_NEW: { transient: false, means: "A newer Dibs has changed this store; update this program." },
  STORE_NOT_FOUND: {
    transient: false,
    means: "There is no store here; `dibs init` creates one.",
  },
  STORE_UNAVAILABLE: { transient: true, means: "The store could not be opened or reached." },
  STORE_CLOSED: { transient: false, means: "This client was closed." },
  INTERNAL: { transient: false, means: "A defect in Dibs; nothing was written." },
} as const satisfies Record<string, { transient: boolean; means: string }>;

export type Code = keyof typeof refusals;

/** The order in which a holder's call is refused; the operation's own codes come after. */
export const holderPrecedence = [
  "TASK_NOT_FOUND",
  "SESSION_NOT_FOUND",
  "TASK_CANCELLED",
  "CLAIM_EXPIRED",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "STALE_EPOCH",
  "INVALID_STATE",
] as const satisfies readonly Code[];

export const claimPrecedence = [
  "TASK_NOT_FOUND",
  "SESSION_NOT_FOUND",
  "VALIDATION_FAILED",
  "TASK_ALREADY_CLAIMED",
  "TASK_NOT_CLAIMABLE",
] as const satisfies readonly Code[];

export interface Refusal {
  ok: false;
  code: Code;
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
}

export interface Accepted<T> {
  ok: true;
  value: T;
}

export type Outcome<T> = Accepted<T> | Refusal;

export function accept<T>(value: T): Accepted<T> {
  return { ok: true, value };
}

export function refuse(
  code: Code,
  message: string,
  more: { hint?: string; details?: Record<string, unknown> } = {},
): Refusal {
  return { ok: false, code, message, ...more };
}

/** A broken invariant is our defect: it stops the one command that met it and nothing of it is written. */
export class InvariantError extends Error {
  override name = "InvariantError";
}

/** An org that nobody has opened: callers name orgs only in tokens, and those are looked up first. */
export class UnknownOrgError extends InvariantError {
  constructor(org: string) {
    super(`org ${org} was opened`);
  }
}

/** Thrown by lookups of a row that the store cannot decode; the error names the table and the row. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === "STORE_CORRUPT" && "table" in error;
}

/** Whether what the lookups ask for can be decoded. */
export function canRead(lookups: () => void): boolean {
  try {
    lookups();
    return true;
  } catch (error) {
    if (isUnreadable(error)) return false;
    throw error;
  }
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
