import type { DibsEvent } from "../../../core/event.js";
import type { EventFilter } from "../../../core/view.js";
import { matchesEvent } from "../../filters.js";
import { isObject, need } from "../../unreadable.js";
import { endOf, type Place, type Span, type Write } from "../items.js";
import { type OrgKeys, ordered, taskName } from "../keys.js";
import { decodeFound, first } from "../listing.js";
import type { Reader } from "../reader.js";
import { decoder } from "../row-codec.js";
import * as project from "./project.js";
import * as task from "./task.js";

/** The events of one commit, or those of a task in it, under the number of the last one. */
const ofOrg = "SEQ#";
const ofTask = "EVENT#";

const place = (keys: OrgKeys, seq: number): Place => keys.at("log", ofOrg + ordered(seq));
const taskPlace = (keys: OrgKeys, named: { project: string; id: string }, seq: number): Place =>
  keys.at("tasks", ofTask + ordered(seq), `TASK#${taskName(named.project, named.id)}`);

type Fields = [
  seq: number,
  type: DibsEvent["type"],
  at: number,
  project: string | null,
  taskId: string | null,
  sessionId: string | null,
  epoch: number | null,
  actor: string,
  data: Record<string, unknown>,
];

const fieldsOf = (event: DibsEvent): Fields => [
  event.seq,
  event.type,
  event.at,
  event.project,
  event.taskId,
  event.sessionId,
  event.epoch,
  event.actor,
  event.data,
];

const decoderFor = (org: string) =>
  decoder("event", (data): DibsEvent[] =>
    (JSON.parse(data) as Fields[]).map(([seq, type, at, project, taskId, sessionId, epoch, actor, data]) => {
      need(typeof at === "number", "at");
      need(isObject(data), "data");
      return { org, seq, type, at, project, taskId, sessionId, epoch, actor, data };
    }),
  );

export const check = (org: string) => decoderFor(org);

export function* writes(keys: OrgKeys, events: readonly DibsEvent[]): Generator<Write> {
  const last = events.at(-1);
  if (!last) return;
  yield { ...place(keys, last.seq), data: JSON.stringify(events.map(fieldsOf)) };
  const byTask = new Map<string, DibsEvent[]>();
  for (const event of events) {
    if (event.project === null || event.taskId === null) continue;
    const key = `${event.project}/${event.taskId}`;
    byTask.set(key, [...(byTask.get(key) ?? []), event]);
  }
  for (const some of byTask.values()) {
    const { seq, project, taskId } = some.at(-1)!;
    yield {
      ...taskPlace(keys, { project: project!, id: taskId! }, seq),
      data: JSON.stringify(some.map(fieldsOf)),
    };
  }
}

/** Items with nothing but events of these numbers. */
export function archivedSpan(keys: OrgKeys, { from, below }: { from: number; below: number }): Span {
  const { sk, ...partition } = place(keys, from);
  return { ...partition, from: sk, to: ofOrg + ordered(below - 1) };
}

export function list(keys: OrgKeys, reader: Reader, filter: EventFilter, eventMin: number): DibsEvent[] {
  const { after, limit, taskId, readableOnly } = filter;
  const decode = decoderFor(keys.org);
  const lowest = Math.max(after + 1, eventMin);
  const page = Math.min(Math.max(limit, 16), 200);
  const inSpan = function* (span: Span) {
    for (const found of reader.scan(span, { page })) {
      for (const events of decodeFound([found], decode, readableOnly)) {
        for (const event of events) {
          if (event.seq >= lowest && matchesEvent(filter, event, () => true)) yield event;
        }
      }
    }
  };
  if (taskId === undefined) {
    const { sk, ...partition } = place(keys, lowest);
    return first(inSpan({ ...partition, from: sk, to: endOf(ofOrg) }), limit);
  }
  const projects = filter.project ? [filter.project] : project.list(keys, reader).map(({ id }) => id);
  const tasks = projects.map((each) => task.find(keys, reader, { project: each, id: taskId }));
  reader.settle();
  const found = tasks.flatMap((each) => {
    if (!each) return [];
    const { sk, ...partition } = taskPlace(keys, each, lowest);
    return first(inSpan({ ...partition, from: sk, to: endOf(ofTask) }), limit);
  });
  return found.sort((a, b) => a.seq - b.seq).slice(0, limit);
}
