// What landed last and what came back last. The log of events has both; the tasks' titles and the reasons are read once for each.

import { useRef } from "react";
import { type DibsEvent, dibs } from "../../data/dibs.js";
import { type Live, useLive } from "../../data/live.js";
import { pageBefore } from "../task/history.js";

export interface Ended {
  /** Of its event. */
  seq: number;
  project: string;
  taskId: string;
  title: string;
  number: number;
  author: string | null;
  at: string;
  /** Landed: the commit on the target; null where nothing was changed. */
  commit: string | null;
  target: string | null;
  /** Returned: why. */
  reason: string | null;
  detail: string | null;
}

export interface EndedLists {
  landed: Ended[];
  returned: Ended[];
}

const shown = 15;
const types = ["task:landed", "task:returned"] as const;
type Kind = (typeof types)[number];

/** The newest first. `isOn` is false where nothing lands. */
export function useEnded(project: string, isOn: boolean): Live<EndedLists> {
  const log = useRef<{ project: string; ends: RecentEnds } | null>(null);
  if (log.current?.project !== project) log.current = { project, ends: new RecentEnds(project) };
  const { ends } = log.current;
  return useLive(
    `ended ${project} ${isOn}`,
    async () => (isOn ? ends.read() : { landed: [], returned: [] }),
    { on: ({ type }) => types.some((each) => each === type), calmMs: 200 },
  );
}

type EventsBy = Record<Kind, DibsEvent[]>;

class RecentEnds {
  private events: EventsBy | null = null;
  private lastSeq = 0;
  private readonly known = new Map<string, Promise<Ended>>();

  constructor(private readonly project: string) {}

  async read(): Promise<EndedLists> {
    const { project } = this;
    if (this.events) await this.readNewer(this.events);
    else {
      const { lastSeq } = await dibs.events.list({ project, limit: 1 });
      const newest = async (type: Kind) => {
        const read = async (after: number, limit: number) =>
          (await dibs.events.list({ project, types: [type], after, limit })).events;
        return (await pageBefore(read, lastSeq + 1, shown)).events.toReversed();
      };
      const [landed, returned] = await Promise.all(types.map(newest));
      this.events = { "task:landed": landed!, "task:returned": returned! };
      this.lastSeq = lastSeq;
    }
    const told = (type: Kind) => Promise.all(this.events![type].map((event) => this.endOf(event)));
    const [landed, returned] = await Promise.all(types.map(told));
    return { landed: landed!, returned: returned! };
  }

  private async readNewer(events: EventsBy): Promise<void> {
    const limit = 1000;
    for (;;) {
      const page = await dibs.events.list({
        project: this.project,
        types: [...types],
        after: this.lastSeq,
        limit,
      });
      for (const event of page.events) {
        const list = events[event.type as Kind];
        list.unshift(event);
        list.splice(shown);
        this.lastSeq = event.seq;
      }
      if (page.events.length < limit) return;
    }
  }

  private endOf(event: DibsEvent): Promise<Ended> {
    const key = String(event.seq);
    const known = this.known.get(key);
    if (known) return known;
    const reading = readEnd(event);
    this.known.set(key, reading);
    reading.catch(() => this.known.delete(key));
    if (this.known.size > 4 * shown) this.known.delete(this.known.keys().next().value!);
    return reading;
  }
}

const textOf = (value: unknown) => (typeof value === "string" ? value : null);

async function readEnd({ seq, project, taskId, sessionId, at, data }: DibsEvent): Promise<Ended> {
  const on = { project: project!, taskId: taskId! };
  const number = Number(data.submission);
  // A task can be archived since.
  const [title, submission] = await Promise.all([
    dibs.tasks.get(on).then(
      ({ task }) => task.title,
      () => "",
    ),
    dibs.tasks.submission({ ...on, number }).then(
      (answer) => answer.submission,
      () => null,
    ),
  ]);
  return {
    seq,
    ...on,
    title,
    number,
    author: submission?.submittedBy ?? sessionId,
    at,
    commit: textOf(data.commit),
    target: textOf(data.target),
    reason: textOf(data.reason),
    detail: submission?.end?.detail ?? null,
  };
}
