// Some rows of an export, as changes for one transaction.

import { archivedDocuments } from "../core/archive.js";
import {
  attemptKey,
  type Changes,
  type Document,
  documentKey,
  type Edge,
  keyOf,
  noChanges,
} from "../core/changes.js";
import type { DibsEvent } from "../core/event.js";
import { type SubmissionRecord, submissionDocument, submittedDocument } from "../core/landing.js";
import { type PlanRecord, planDocument } from "../core/plan.js";
import { type Org, wholeSettings } from "../core/project.js";
import type { TaskText } from "../core/task.js";
import type { IdempotencyRecord } from "../core/view.js";
import type { Rows } from "./format.js";
import type { Numbered } from "./read.js";

/** How much goes into one transaction. */
export interface BatchMax {
  rows: number;
  /** In characters: a result alone may have a megabyte. */
  length: number;
}

/** What an export omits. */
const unsubmitted = { submission: null, landed: null, noChange: false, returnCount: 0 };

export class Batch {
  /** With the lines they stand in. */
  readonly tasks: { row: Rows["task"]; line: number }[] = [];
  readonly archived: { row: Rows["archived"]; line: number }[] = [];
  private readonly plans: PlanRecord[] = [];
  private readonly submissions: SubmissionRecord[] = [];
  private submittedCounts: ReadonlyMap<string, number> = new Map();
  private readonly projects = new Map<string, Rows["project"]>();
  private readonly texts = new Map<string, TaskText>();
  private readonly claims = new Map<string, Rows["claim"]>();
  private readonly attempts = new Map<string, Rows["attempt"]>();
  private readonly counters = new Map<string, Rows["counter"]>();
  private readonly sessions = new Map<string, Rows["session"]>();
  private readonly records = new Map<string, Rows["record"]>();
  private readonly notifications = new Map<string, Rows["notification"]>();
  private readonly events: DibsEvent[] = [];
  private readonly keys: IdempotencyRecord[] = [];
  private orgRow: Org | null = null;
  private rows = 0;
  private length = 0;

  constructor(
    private readonly org: string,
    private readonly max: BatchMax,
  ) {}

  get isFull(): boolean {
    return this.rows >= this.max.rows || this.length >= this.max.length;
  }

  /** All but the org's own row, which is for the last batch. */
  add({ line, length, ...of }: Numbered): void {
    this.rows++;
    this.length += length;
    switch (of.kind) {
      case "org":
        return;
      case "project":
        this.projects.set(of.row.id, { ...of.row, settings: wholeSettings(of.row.settings) });
        return;
      case "task":
        this.tasks.push({ row: { ...unsubmitted, ...of.row }, line });
        return;
      case "text": {
        const { project, taskId, ...text } = of.row;
        this.texts.set(keyOf(project, taskId), text);
        return;
      }
      case "claim":
        this.claims.set(keyOf(of.row.project, of.row.taskId), of.row);
        return;
      case "attempt":
        this.attempts.set(attemptKey(of.row.project, of.row.taskId, of.row.epoch), of.row);
        return;
      case "submission":
        this.submissions.push(of.row);
        return;
      case "counter":
        this.counters.set(keyOf(of.row.project, of.row.parent), of.row);
        return;
      case "archived":
        this.archived.push({ row: of.row, line });
        return;
      case "plan":
        this.plans.push(of.row);
        return;
      case "session":
        this.sessions.set(keyOf(of.row.project, of.row.id), { ...of.row, owner: of.row.owner ?? null });
        return;
      case "record":
        this.records.set(keyOf(of.row.project, of.row.id), of.row);
        return;
      case "notification":
        this.notifications.set(of.row.id, of.row);
        return;
      case "event":
        this.events.push({ ...of.row, org: this.org });
        return;
      case "key":
        this.keys.push(of.row);
        return;
    }
  }

  /** What the org counts by; how many tasks are submitted, by project. */
  addOrg(org: Org, submitted: ReadonlyMap<string, number>): void {
    this.orgRow = org;
    this.submittedCounts = submitted;
  }

  *changes(): Generator<Changes> {
    const { projects, texts, claims, attempts, counters, sessions, records, notifications, events } = this;
    const tasks = new Map(this.tasks.map(({ row }) => [keyOf(row.project, row.id), row]));
    const edgesAdded = this.tasks.flatMap(({ row: { project, id, dependsOn } }) =>
      dependsOn.map((other): Edge => ({ project, taskId: id, dependsOn: other })),
    );
    yield {
      ...noChanges(),
      org: this.orgRow,
      projects,
      tasks,
      texts,
      claims,
      attempts,
      counters,
      sessions,
      records,
      notifications,
      events,
      edgesAdded,
      documents: this.documents(),
    };
    for (const idempotency of this.keys) yield { ...noChanges(), idempotency };
  }

  private documents(): Map<string, Document> {
    const documents = [
      ...this.archived.flatMap(({ row }) => archivedDocuments(row)),
      ...this.plans.map(planDocument),
      ...this.submissions.map(submissionDocument),
      ...[...this.submittedCounts].map(([project, count]) => submittedDocument(project, count)),
    ];
    return new Map(documents.map((each) => [documentKey(each.kind, each.key), each]));
  }
}
