// Decisions walk along chains of dependencies and parents, one task at a time: from the third round on, whole chains are fetched.

import { fetchInto } from "./fetch.js";
import { nameOf, type Place } from "./items.js";
import type { KnownItems } from "./known-items.js";
import type { OrgLog } from "./org-log.js";
import type { Reader } from "./reader.js";
import * as task from "./tables/task.js";

const deepFrom = 3;
const chainMax = 5_000;

export async function withChains(
  log: OrgLog,
  cache: KnownItems,
  reader: Reader,
  places: readonly Place[],
  round: number,
): Promise<void> {
  if (round < deepFrom) return;
  const met = new Set<string>();
  for (let next = places.filter(task.isPlace); next.length > 0 && met.size < chainMax; ) {
    const linked = new Map<string, Place>();
    for (const place of next) {
      met.add(nameOf(place));
      for (const link of task.linksOf(log.keys, reader, place)) {
        if (!met.has(nameOf(link))) linked.set(nameOf(link), link);
      }
    }
    next = [...linked.values()];
    const unknown = next.filter((place) => cache.get(place) === undefined);
    if (unknown.length > 0) await fetchInto(log, cache, { places: unknown, spans: [] });
  }
}
