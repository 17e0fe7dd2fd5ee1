import type { AppendLogCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { limits, utf8Length } from "../limits.js";
import { type Log, latestLogKey, logKey, logKind, storableText, tailOf, toLatestLog, toLog } from "../log.js";
import { accept, type Outcome, refuse } from "../refusal.js";
import { holderOf } from "./holder.js";

export interface Appended {
  epoch: number;
  truncatedBytes: number;
}

/** Adds to the log of the attempt. It renews no lease: a program that prints may hang all the same. */
export function appendLog(draft: Draft, command: AppendLogCommand): Outcome<Appended> {
  const holding = holderOf(draft, command, ["claimed", "running", "awaiting_response"]);
  if (!holding.ok) return holding;
  const added = storableText(command.text);
  const bytes = utf8Length(added);
  if (bytes > limits.logAppendBytesMax) {
    return refuse(
      "PAYLOAD_TOO_LARGE",
      `The text has ${bytes} bytes; at most ${limits.logAppendBytesMax} are allowed at once.`,
      { hint: "Append it in parts.", details: { bytes, limit: limits.logAppendBytesMax } },
    );
  }
  const { project, taskId } = command;
  const { epoch } = holding.claim;
  const key = logKey(project, taskId, epoch);
  const value = draft.document(logKind, key);
  const before: Log = value ? toLog(value) : { text: "", truncatedBytes: 0, updatedAt: draft.now };
  const { text, cutBytes } = tailOf(before.text + added);
  const truncatedBytes = before.truncatedBytes + cutBytes;
  draft.putDocument(logKind, key, { text, truncatedBytes, updatedAt: draft.now });
  const latest = draft.document(logKind, latestLogKey(project, taskId));
  if (!latest || toLatestLog(latest).epoch !== epoch) {
    draft.putDocument(logKind, latestLogKey(project, taskId), { epoch });
  }
  return accept({ epoch, truncatedBytes });
}
