// What an agent does next when it was refused. The map is exhaustive: a new code does not compile until it is here.

import { oneLine } from "../../client/brief/data.js";
import type { Code } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import { plainly } from "../../contract/plain.js";
import type { WireReason } from "../../contract/shapes.js";
import { reasonBlock } from "./answers.js";
import { clip } from "./text.js";

const again = "Try the same call again in a moment.";
const tellHuman = "A human must fix this: report it to your user, and stop.";
const lost = "Stop working on it and do not write its files. Call claim_task for other work.";

const next = {
  TASK_NOT_FOUND: "Check the id with list_tasks.",
  PROJECT_NOT_FOUND: tellHuman,
  SESSION_NOT_FOUND: "Your session ended, or was never registered. Call claim_task with your agent_id.",
  NOT_FOUND: "Check the name with list_tasks.",
  TASK_ALREADY_CLAIMED: "Another agent works on it. Call claim_task without task_id for the next ready task.",
  TASK_NOT_CLAIMABLE:
    "Call claim_task without task_id for the next ready task, or get_task to see what it waits for.",
  TASK_NOT_CLAIMED: "You do not hold it. Call claim_task with this task_id to claim it.",
  NOT_CLAIM_OWNER: `Another agent holds it, or your agent_id differs from the one that claimed it. ${lost}`,
  CLAIM_EXPIRED: `Your claim expired. Your result was kept on the attempt, but not applied. ${lost}`,
  TASK_CANCELLED: `It was cancelled. ${lost}`,
  STALE_EPOCH: `Another claim of the task has followed yours. ${lost}`,
  INVALID_STATE:
    "Call get_task to see its state. While your question is open, call ask_human with the same question and wait_seconds.",
  QUESTION_MISMATCH: "Another question is open: call get_task.",
  TASK_NOT_AWAITING: "The question was already answered: call get_task.",
  TASK_NOT_RETRYABLE: "Call get_task to see its state.",
  TASK_NOT_CANCELLABLE: "The task has already ended.",
  LANDING_NOW: "Its change is being landed: call get_task in a minute.",
  STALE_SUBMISSION: "Your verdict is for an older version. Claim another review, or stop.",
  SELF_REVIEW: "You worked on this task, so another agent must review it.",
  REMOTE_REQUIRED: tellHuman,
  CHILDREN_OPEN:
    "Its subtasks come first: claim and complete them, then complete_task this one. Or release_task it.",
  RESOURCE_NOT_FOUND: tellHuman,
  RESOURCE_IN_USE: tellHuman,
  DEPENDENCY_NOT_FOUND: "Create that task first, or check its id with list_tasks.",
  DEPENDENCY_CYCLE: "Remove one of these dependencies.",
  VALIDATION_FAILED: "Correct it and call again.",
  ID_TAKEN: "Omit the id: one is generated.",
  COUNTER_EXHAUSTED: tellHuman,
  SESSION_BUSY: "Use another agent_id: one name per agent.",
  IDEMPOTENCY_MISMATCH: again,
  PAYLOAD_TOO_LARGE: "Send less: write long output to a file and name the file.",
  UNSUPPORTED_MEDIA_TYPE: tellHuman,
  UNAUTHENTICATED: tellHuman,
  FORBIDDEN:
    "Your token does not allow this. If the session belongs to another token, use a unique agent_id; else tell your user.",
  REQUEST_TIMEOUT: again,
  RATE_LIMITED: again,
  STORE_BUSY: again,
  STORE_FULL: tellHuman,
  STORE_READ_ONLY: tellHuman,
  STORE_CORRUPT: tellHuman,
  STORE_NOT_TRUSTED:
    "A human must decide: ask your user to run dibs trust. Do not run it yourself, and stop.",
  STORE_TOO_NEW: tellHuman,
  STORE_NOT_FOUND:
    "create_task creates the store with the first task. If you expect tasks here, tell your user.",
  STORE_UNAVAILABLE: `${again} If it still fails, tell your user that the task store is unreachable.`,
  STORE_CLOSED: tellHuman,
  INTERNAL: `${again} If it still fails, tell your user.`,
} as const satisfies Record<Code, string>;

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
  // Of the session that a call registers.
  id: "agent_id",
};

/** Fields by the names that the agent knows. */
function inOurWords(said: string): string {
  // A server of another version can send its validator's text.
  return plainly(said).replace(/\b[a-z]+[A-Z][A-Za-z]*\b|^(?:prompt|q|id)\b/g, (word) => ours[word] ?? word);
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
  // Of a change that cannot be handed in, only the hint knows what to do.
  const own = error.details.isHandIn === true && error.hint ? oneLine(clip(error.hint, 300)) : null;
  return [`${error.code}: ${first}`, ...rest, ...hint, `Next: ${instead ?? own ?? next[error.code]}`].join(
    "\n",
  );
}
