import type { WireBreaker } from "../../../contract/shapes.js";
import { plain } from "./text.js";
import { ago } from "./time.js";

/** `Agent type claude is held back after 5 quick failures in a row; next attempt in 2m.` */
export function heldBackText({ agentType, failures, taskId, probeAt }: WireBreaker, now: number): string {
  const which = taskId === null ? "" : `, always on task ${plain(taskId)}`;
  const next = Date.parse(probeAt) <= now ? "now" : ago(probeAt, now);
  return `Agent type ${plain(agentType ?? "unknown")} is held back after ${failures} quick failures in a row${which}; next attempt ${next}.`;
}

export function heldBackLines(breakers: readonly WireBreaker[] | undefined, now: number): string {
  return (breakers ?? []).map((breaker) => `${heldBackText(breaker, now)} Run: dibs inbox\n`).join("");
}
