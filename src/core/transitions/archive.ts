import type { ArchiveEventsCommand } from "../command.js";
import type { Draft } from "../draft.js";
import type { DibsEvent } from "../event.js";
import { accept, type Outcome } from "../refusal.js";

/** The number below which all events are older; those that follow a younger one stay, whatever the clock said then. */
export function olderBelow(events: readonly DibsEvent[], at: number): number {
  let below = 0;
  for (const event of events) {
    if (event.at >= at) break;
    below = event.seq + 1;
  }
  return below;
}

/** The events below a number go, but none that the figures have not counted yet. */
export function archiveEvents(draft: Draft, command: ArchiveEventsCommand): Outcome<{ archived: number }> {
  const { eventMin, eventSeq } = draft.org();
  const figures = draft.document("metrics", "totals");
  const counted = typeof figures?.cursor === "number" ? figures.cursor : eventSeq;
  const below = Math.min(command.below, counted + 1, eventSeq + 1);
  if (below <= eventMin) return accept({ archived: 0 });
  draft.archiveEvents(below);
  return accept({ archived: below - eventMin });
}
