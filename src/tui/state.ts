// What somebody sees: which view, what is selected in it, what is being typed. The lists are made anew from what is known (live.ts)
// when that has changed; a queue of many thousand tasks takes its time, and is made less often.

import type { Dibs } from "../client/client.js";
import { type Filter, matcher, parseFilter } from "../client/view/filter.js";
import type { SessionEntry } from "../client/view/health.js";
import { keyOf } from "../client/view/row-set.js";
import type { WireProject, WireResource, WireTask } from "../contract/shapes.js";
import type { WireTaskRow } from "../contract/tasks/rows.js";
import { Detail, type TaskName } from "./detail.js";
import type { Editor } from "./editor.js";
import { type InboxItem, inboxItems } from "./inbox-items.js";
import { List } from "./list.js";
import { Live } from "./live.js";
import { inQueueOrder } from "./queue-order.js";

export const views = ["fleet", "queue", "inbox", "task"] as const;
export type View = (typeof views)[number];

/** Texts that Tab goes through: what can stand there instead. */
export interface Choices {
  texts: readonly { text: string; caret: number; label: string }[];
  at: number;
}

export type Prompt = { editor: Editor; choices: Choices | null } & (
  | { kind: "filter"; before: string }
  | { kind: "answer"; task: WireTask }
  /** Changes are requested of this submission. */
  | { kind: "changes"; name: TaskName; submission: number }
);

/** Something that is done after a `y`. */
export interface Question {
  text: string;
  command: string;
  act(): Promise<void>;
}

export type Overlay =
  | { kind: "help"; top: number }
  | { kind: "projects"; list: List<string> }
  | { kind: "history"; session: SessionEntry }
  | { kind: "resources"; list: List<WireResource> };

export interface Notice {
  text: string;
  tone: "plain" | "good" | "bad";
  /** What would have done the same. */
  command?: string | undefined;
  until: number;
}

const noticeMs = 6_000;
/** A session counts as there for so long after it was last heard of. */
const recentMs = 300_000;
const reorderMs = 10_000;

export class State {
  view: View;
  /** Where the way back from a task leads. */
  openedFrom: Exclude<View, "task"> = "queue";
  columns = 80;
  rows = 24;
  filterText: string;
  filter: Filter;
  prompt: Prompt | null = null;
  question: Question | null = null;
  overlay: Overlay | null = null;
  notice: Notice | null = null;
  detail: Detail | null = null;
  isOver = false;
  /** Of the agent that watches; absent: a person does. */
  readonly sessionId: string | undefined;

  readonly live: Live;
  readonly fleet = new List<SessionEntry>(({ project, id }) => keyOf(project, id));
  readonly queue = new List<WireTaskRow>(({ project, id }) => keyOf(project, id));
  readonly inbox = new List<InboxItem>(({ key }) => key);

  private isStale = true;
  private settledAt = 0;
  private queueMadeAt = Number.NEGATIVE_INFINITY;
  private queueTookMs = 0;

  constructor(
    readonly dibs: Dibs,
    start: {
      project: string;
      projects: readonly WireProject[];
      view: View;
      filter: string;
      sessionId?: string | undefined;
    },
    private readonly redraw: () => void,
  ) {
    this.view = start.view;
    this.sessionId = start.sessionId;
    this.filterText = start.filter;
    this.filter = parseFilter(start.filter);
    this.live = new Live(dibs, start.project, start.projects, {
      changed: () => this.changed(),
      happened: (event) => {
        if (this.detail?.is(event)) this.detail.ask();
      },
      caughtUp: (events) =>
        this.say(`caught up ${events} ${events === 1 ? "event" : "events"}`, { tone: "good" }),
    });
  }

  get isTyping(): boolean {
    return this.prompt !== null && this.question === null;
  }

  get now(): number {
    return Date.now() + this.live.skewMs;
  }

  close(): void {
    this.live.close();
    this.detail?.close();
  }

  /** What is known has changed. */
  changed(): void {
    this.isStale = true;
    this.redraw();
  }

  /** Times go on; and every few seconds so does the order of what waits. */
  tick(): void {
    this.isStale ||= this.now - this.settledAt > reorderMs;
    this.redraw();
  }

  touched(): void {
    this.redraw();
  }

  say(text: string, { tone = "plain", command }: Partial<Notice> = {}): void {
    this.notice = { text, tone, command, until: this.now + noticeMs };
    this.redraw();
  }

  setFilter(text: string): void {
    this.filterText = text;
    this.filter = parseFilter(text);
    this.queueMadeAt = Number.NEGATIVE_INFINITY;
    this.changed();
  }

  show(project: string): void {
    this.closeDetail();
    if (this.view === "task") this.view = "queue";
    for (const list of [this.fleet, this.queue, this.inbox]) list.to(0);
    this.live.show(project);
    this.changed();
  }

  open(name: TaskName): void {
    if (!this.detail?.is(name)) {
      this.closeDetail();
      this.detail = new Detail(this.dibs, name, () => this.redraw());
    }
    if (this.view !== "task") this.openedFrom = this.view;
    this.view = "task";
    this.redraw();
  }

  private closeDetail(): void {
    this.detail?.close();
    this.detail = null;
  }

  /** The task that keys are about. */
  get target(): TaskName | null {
    const targets: Record<View, () => TaskName | null> = {
      fleet: () => workOf(this.fleet.selected),
      queue: () => nameOf(this.queue.selected),
      inbox: () => this.inbox.selected?.name ?? null,
      task: () => this.detail?.name ?? null,
    };
    return targets[this.view]();
  }

  /** Before a frame is drawn. */
  settle(): void {
    if (this.notice && this.notice.until <= this.now) this.notice = null;
    if (!this.isStale) return;
    this.isStale = false;
    this.settledAt = this.now;
    this.fleet.set(inFleetOrder(this.live.summary?.sessions ?? [], this.now));
    const { inbox } = this.live;
    this.inbox.set(inbox ? inboxItems(inbox) : []);
    if (this.overlay?.kind === "resources") this.overlay.list.set(this.live.resources);
    this.settleQueue();
  }

  private settleQueue(): void {
    const { index, projects } = this.live;
    const began = performance.now();
    // At most a tenth of the time goes into it.
    if (began - this.queueMadeAt < this.queueTookMs * 10) {
      this.isStale = true;
      return;
    }
    const { now } = this;
    const rows = index?.rows() ?? [];
    const shown = this.filter.terms.length === 0 ? rows : rows.filter(matcher(this.filter, now));
    const settings = new Map(projects.map((project) => [project.id, project.settings]));
    this.queue.set(
      inQueueOrder(shown, {
        settingsOf: (project) => settings.get(project),
        now,
      }),
    );
    this.queueMadeAt = performance.now();
    this.queueTookMs = this.queueMadeAt - began;
  }
}

const nameOf = (row: WireTaskRow | undefined) => (row ? { project: row.project, taskId: row.id } : null);

const workOf = (session: SessionEntry | undefined) =>
  session?.currentTask ? { project: session.project, taskId: session.currentTask.taskId } : null;

/** agent-2 before agent-10. */
const names = new Intl.Collator("en", { numeric: true });

/** Those who are there first, each always in its place; below them who was not heard of for a while. */
export function inFleetOrder(sessions: readonly SessionEntry[], now: number): SessionEntry[] {
  const isThere = ({ currentTask, lastSeenAt }: SessionEntry) =>
    currentTask !== null || now - Date.parse(lastSeenAt) < recentMs;
  const byName = (a: SessionEntry, b: SessionEntry) =>
    names.compare(a.project, b.project) || names.compare(a.id, b.id);
  const there = sessions.filter(isThere).sort(byName);
  const silent = sessions.filter((session) => !isThere(session));
  return [...there, ...silent.sort((a, b) => (a.lastSeenAt < b.lastSeenAt ? 1 : -1))];
}
