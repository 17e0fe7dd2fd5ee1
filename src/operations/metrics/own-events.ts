// What this process has committed since the figures were last written: the recorder counts it without reading it back.

import type { DibsEvent } from "../../core/event.js";

/** Of all orgs. Later events are read from the store. */
const keptMax = 20_000;
/** Longer texts are nothing to count. */
const wordMax = 64;

interface Kept {
  events: Map<number, DibsEvent>;
  /** Events up to here are counted. */
  counted: number;
}

export class OwnEvents {
  private readonly byOrg = new Map<string, Kept>();
  private size = 0;

  /** Only of orgs whose figures somebody has asked for. */
  isKeeping(org: string): boolean {
    return this.byOrg.has(org);
  }

  count(org: string): number {
    return this.byOrg.get(org)?.events.size ?? 0;
  }

  add(org: string, events: readonly DibsEvent[]): void {
    const kept = this.byOrg.get(org);
    if (!kept) return;
    for (const event of events) {
      if (event.seq <= kept.counted || this.size >= keptMax || kept.events.has(event.seq)) continue;
      kept.events.set(event.seq, countable(event));
      this.size++;
    }
  }

  /** Events up to this one are counted; from now on later ones are kept. */
  begin(org: string, counted: number): ReadonlyMap<number, DibsEvent> {
    const kept = this.byOrg.get(org) ?? { events: new Map<number, DibsEvent>(), counted };
    this.byOrg.set(org, kept);
    kept.counted = Math.max(kept.counted, counted);
    // In the order of their commits, which is nearly that of their numbers.
    for (const seq of kept.events.keys()) {
      if (seq > kept.counted) continue;
      kept.events.delete(seq);
      this.size--;
    }
    return kept.events;
  }
}

function countable(whole: DibsEvent): DibsEvent {
  // What it cost, and for what, is in lists.
  if (whole.type === "task:usage") return whole;
  const { data, ...event } = whole;
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    const isShort = typeof value === "string" && value.length <= wordMax;
    if (isShort || typeof value === "number" || typeof value === "boolean") kept[name] = value;
  }
  return { ...event, data: kept };
}
