// Answers, cancellations and losses arrive as events, within milliseconds.

import { pause } from "../../common/abort.js";
import type { WireEvent } from "../../contract/shapes.js";
import type { Dibs } from "../client.js";
import { holderEvents } from "./endings.js";

export interface Watching {
  project?: string;
  retryMs: number;
  notice(event: WireEvent): void;
  /** The stream broke: events can have been missed. */
  onBreak?(): void;
  onTrouble?(error: unknown): void;
}

/** Until the signal fires, however often the stream breaks. */
export async function watchTasks(dibs: Dibs, watching: Watching, signal: AbortSignal): Promise<void> {
  const { project, retryMs, notice, onBreak, onTrouble } = watching;
  const on = project === undefined ? {} : { project };
  while (!signal.aborted) {
    try {
      for await (const event of dibs.events.follow({ ...on, types: holderEvents, signal })) notice(event);
    } catch (error) {
      if (signal.aborted) return;
      onTrouble?.(error);
    }
    await pause(retryMs, signal);
    if (!signal.aborted) onBreak?.();
  }
}
