// What a worker hears of its tasks: answers, cancellations and losses arrive as events, within milliseconds.

import { DibsError } from "../contract/error.js";
import type { WireEvent } from "../contract/shapes.js";
import type { Dibs } from "./client.js";
import { tries } from "./reporting.js";

interface Watching {
  project?: string;
  notice(event: WireEvent): void;
  onError(error: unknown): void;
}

/** Until the signal fires, however often the stream breaks. */
export async function watchTasks(dibs: Dibs, watching: Watching, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await watchOnce(dibs, watching, signal);
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, tries.pauseMs));
  }
}

async function watchOnce(
  dibs: Dibs,
  { notice, onError, ...project }: Watching,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const event of dibs.events.follow({ ...project, types: watchedTypes, signal })) notice(event);
  } catch (error) {
    if (!signal.aborted) onError(error);
  }
}

const watchedTypes: WireEvent["type"][] = [
  "task:response-received",
  "task:cancelled",
  "task:released",
  "task:claim-expired",
  "task:claim-orphaned",
  "task:retry-scheduled",
  "task:failed",
];

/** What the holder's next call would be refused with; null: the event is about the holder's own report. */
export function lossIn(event: WireEvent): DibsError | null {
  const { type, taskId, data } = event;
  if (["completed", "failed"].includes(String(data.reason))) return null;
  const code = type === "task:cancelled" ? "TASK_CANCELLED" : "CLAIM_EXPIRED";
  const why = data.reason === undefined ? type : `${type}: ${data.reason}`;
  return new DibsError(code, `Task ${taskId} is no longer ours (${why}).`);
}
