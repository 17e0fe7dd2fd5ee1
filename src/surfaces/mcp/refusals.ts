// What an agent does next when it was refused. The map is exhaustive: a new code does not compile until it is here.

import { oneLine } from "../../client/brief/data.js";
import type { Code } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import type { WireReason } from "../../contract/shapes.js";
import { reasonBlock } from "./answers.js";
import { clip } from "./text.js";

const again = "Try the same call again in a moment.";
const tellHuman = "This needs a human: say so to your user, and stop.";
const lost = "Stop working on it and do not write its files any more. Call claim_task for other work.";

const next = {
  TASK_NOT_FOUND: "Check the id with list_tasks.",
  PROJECT_NOT_FOUND: tellHuman,
  SESSION_NOT_FOUND: "Your session is over, or never began. Call claim_task with your agent_id to begin.",
  NOT_FOUND: "Check the name with list_tasks.",
  TASK_ALREADY_CLAIMED: "Somebody else works on it. Call claim_task without task_id for the best free task.",
  TASK_NOT_CLAIMABLE:
    "Call claim_task without task_id for a task that is free, or get_task to see what it waits for.",
  TASK_NOT_CLAIMED: "You do not hold it. Call claim_task with this task_id to take it.",
  NOT_CLAIM_OWNER: `Another agent holds it, or you gave another agent_id than when you claimed. ${lost}`,
  CLAIM_EXPIRED: `Your claim ran out; what you sent was kept for people to see, but not applied. ${lost}`,
  TASK_CANCELLED: `It was cancelled. ${lost}`,
  STALE_EPOCH: `It was claimed again since. ${lost}`,
  INVALID_STATE:
    "Call get_task to see its state. While your question is open, call ask_human with the same question and wait_seconds.",
  QUESTION_MISMATCH: "Another question is open by now: call get_task.",
  TASK_NOT_AWAITING: "It was answered already: call get_task.",
  TASK_NOT_RETRYABLE: "Call get_task to see its state.",
  TASK_NOT_CANCELLABLE: "It is over already.",
  CHILDREN_OPEN:
    "Its parts come first: claim_task takes them; then complete_task this one. Or release_task it meanwhile.",
  DEPENDENCY_NOT_FOUND: "Create that task first, or check its id with list_tasks.",
  DEPENDENCY_CYCLE: "Leave one of these dependencies away.",
  VALIDATION_FAILED: "Correct it and call again.",
  ID_TAKEN: "Leave the id away: one is made.",
  COUNTER_EXHAUSTED: tellHuman,
  SESSION_BUSY: "Use another agent_id: one name per agent.",
  IDEMPOTENCY_MISMATCH: again,
  PAYLOAD_TOO_LARGE: "Send less: write long output to a file and name the file.",
  UNSUPPORTED_MEDIA_TYPE: tellHuman,
  UNAUTHENTICATED: tellHuman,
  FORBIDDEN:
    "Your token does not allow this. If the session is another's, use an agent_id of your own; else tell your user.",
  REQUEST_TIMEOUT: again,
  RATE_LIMITED: again,
  STORE_BUSY: again,
  STORE_FULL: tellHuman,
  STORE_READ_ONLY: tellHuman,
  STORE_CORRUPT: tellHuman,
  STORE_NOT_TRUSTED: "This needs a human: ask your user to run dibs trust. Do not run it yourself, and stop.",
  STORE_TOO_NEW: tellHuman,
  STORE_UNAVAILABLE: `${again} If it goes on, tell your user that the task store cannot be reached.`,
  STORE_CLOSED: tellHuman,
  INTERNAL: `${again} If it goes on, tell your user.`,
} as const satisfies Record<Code, string>;

/** The claim is gone, whatever the agent does. */
export const lostCodes: ReadonlySet<Code> = new Set<Code>([
  "TASK_NOT_FOUND",
  "SESSION_NOT_FOUND",
  "TASK_CANCELLED",
  "CLAIM_EXPIRED",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "STALE_EPOCH",
]);

export function asDibsError(error: unknown): DibsError {
  if (error instanceof DibsError) return error;
  return new DibsError("INTERNAL", (error as Error)?.message ?? String(error), { cause: error });
}

const ours: Record<string, string> = {
  taskId: "task_id",
  sessionId: "agent_id",
  dependsOn: "dependencies",
  parentId: "parent_id",
  prompt: "description",
  filesCreated: "files_created",
  filesModified: "files_modified",
  waitMs: "wait_seconds",
  q: "query",
};

/** Where the contract has no words of its own, its validator's are nobody's language. */
const plainer: [RegExp, string][] = [
  [/Too small: expected string to have >=1 characters?/g, "must not be empty"],
  [/Too small: expected \w+ to (?:be|have) >=?\s?(-?[\d.]+)(?: \w+)?/g, "must be at least $1"],
  [/Too big: expected (?:array|string) to have <=(\d+) (\w+)/g, "must have at most $1 $2"],
  [/Too big: expected \w+ to be <=?\s?(-?[\d.]+)/g, "must be at most $1"],
  [/Invalid input: expected (\w+), received \w+/g, "must be a $1"],
];

/** Fields by the names that the agent knows. */
function inOurWords(said: string): string {
  const message = plainer.reduce((text, [from, to]) => text.replace(from, to), said);
  const own = message.replace(/^sessions\.register: id\b/, "agent_id").replace(/^\w+\.\w+: /, "");
  return own.replace(/\b[a-z]+[A-Z][A-Za-z]*\b|^(?:prompt|q)\b/g, (word) => ours[word] ?? word);
}

/** Reasons may repeat what others wrote, such as the error of a failed task. */
function messageLines({ message, details }: DibsError): string[] {
  const { reasons, taskId } = details as { reasons?: WireReason[]; taskId?: string };
  if (!Array.isArray(reasons) || reasons.length === 0) return [inOurWords(oneLine(clip(message, 800)))];
  return ["It cannot be claimed now.", reasonBlock(String(taskId ?? "it"), reasons)];
}

export function refusalText(error: DibsError, instead?: string): string {
  // Hints of the contract name commands and headers; only those about the input are for agents.
  const hint = error.code === "VALIDATION_FAILED" && error.hint ? [oneLine(clip(error.hint, 300))] : [];
  const [first, ...rest] = messageLines(error);
  return [`${error.code}: ${first}`, ...rest, ...hint, `Next: ${instead ?? next[error.code]}`].join("\n");
}
