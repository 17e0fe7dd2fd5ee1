// A copy of an org: everything is read while the log is followed, so that in the end all of it is as of one version.

import { fetchInto } from "./fetch.js";
import { beginning, endOf, type Span } from "./items.js";
import { KnownItems } from "./known-items.js";
import { metaKey } from "./meta.js";
import type { OrgLog } from "./org-log.js";
import * as claim from "./tables/claim.js";
import * as ready from "./tables/ready.js";
import * as task from "./tables/task.js";

/** Partitions that are read at once. */
const atOnce = 32;

export interface Copy {
  items: KnownItems;
  head: number;
}

export async function copyOf(log: OrgLog): Promise<Copy> {
  const { keys } = log;
  const items = new KnownItems(true);
  const leave = log.follow(items);
  try {
    await fetchAll(log, items, [
      ...task.allLists(keys),
      beginning(keys.at("tasks", "TASK#")),
      ready.allLanes(keys),
      claim.span(keys),
      ...(["agents", "counts", "notifications"] as const).map((table) => whole(keys.at(table, ""))),
      ...["DOCUMENT"].map((partition) => whole(keys.at("agents", "", partition))),
      ...[metaKey, "SEQ#"].map((sk) => beginning(keys.at("log", sk))),
      whole(keys.at("log", "", "KEY")),
    ]);
    const lanes = items.between(ready.allLanes(keys)).map((lane) => ready.spanOfLane(keys, lane));
    const tasks = items.between(task.everyTask(keys)).map((found) => task.spanOfTask(keys, found));
    await fetchAll(log, items, [...lanes, ...tasks]);
    await log.poll();
    return { items, head: log.head };
  } finally {
    leave();
  }
}

const whole = ({ table, pk }: { table: Span["table"]; pk: string }): Span => ({
  table,
  pk,
  from: "\u0000",
  to: endOf(""),
});

async function fetchAll(log: OrgLog, items: KnownItems, spans: readonly Span[]): Promise<void> {
  for (let at = 0; at < spans.length; at += atOnce) {
    const some = spans.slice(at, at + atOnce);
    await fetchInto(log, items, {
      places: [],
      spans: some.map((span) => ({ ...span, limit: Number.MAX_SAFE_INTEGER, descending: false })),
    });
  }
}
