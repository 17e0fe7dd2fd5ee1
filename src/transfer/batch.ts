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
import {
  type InUse,
  projectUses,
  type ResourceRecord,
  resourceDocuments,
  type Uses,
} from "../core/resource.js";
import type { TaskText } from "../core/task.js";
import { keptUses, namesOf } from "../core/transitions/account.js";
import type { IdempotencyRecord } from "../core/view.js";
import type { Row, Rows } from "./format.js";
import type { Numbered } from "./read.js";

/** How much goes into one transaction. */
export interface BatchMax {
  rows: number;
  /** In characters: a result alone may have a megabyte. */
  length: number;
}

/** What an export omits. */
const omittedOfTask = {
  submission: null,
  landed: null,
  noChange: false,
  returnCount: 0,
  uses: null,
  scopes: [],
  usage: null,
};
const omittedOfLease = { uses: null, usage: null };
const omittedOfAttempt = { ...omittedOfLease, unreported: null };

/** What belongs to the org as a whole and is known once all rows were read. */
export class Sums {
  private readonly submitted = new Map<string, number>();
  private readonly resources: ResourceRecord[] = [];
  private readonly inUse = new Map<string, InUse>();

  add({ kind, row }: Row): void {
    if (kind === "resource") this.resources.push(row);
    if (kind === "claim") this.count(row.uses, "units");
    if (kind === "project") this.count(projectUses({ settings: wholeSettings(row.settings) }), "named");
    if (kind !== "task") return;
    this.count(namesOf(row), "named");
    this.count(keptUses(row), "units");
    if (row.state === "submitted")
      this.submitted.set(row.project, (this.submitted.get(row.project) ?? 0) + 1);
  }

  private count(uses: Uses | undefined, of: keyof InUse): void {
    for (const id in uses) {
      const count = this.inUse.get(id) ?? { units: 0, named: 0 };
      this.inUse.set(id, { ...count, [of]: count[of] + (of === "units" ? uses[id]! : 1) });
    }
  }

  documents(): Document[] {
    return [
      ...[...this.submitted].map(([project, count]) => submittedDocument(project, count)),
      ...resourceDocuments(this.resources, this.inUse),
    ];
  }
}

export class Batch {
  /** With the lines they stand in. */
  readonly tasks: { row: Rows["task"]; line: number }[] = [];
  readonly archived: { row: Rows["archived"]; line: number }[] = [];
  private readonly plans: PlanRecord[] = [];
  private readonly submissions: SubmissionRecord[] = [];
  private sums: Sums | null = null;
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
        this.tasks.push({ row: { ...omittedOfTask, ...of.row }, line });
        return;
      case "text": {
        const { project, taskId, ...text } = of.row;
        this.texts.set(keyOf(project, taskId), text);
        return;
      }
      case "claim":
        this.claims.set(keyOf(of.row.project, of.row.taskId), { ...omittedOfLease, ...of.row });
        return;
      case "attempt":
        this.attempts.set(attemptKey(of.row.project, of.row.taskId, of.row.epoch), {
          ...omittedOfAttempt,
          ...of.row,
        });
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
      case "resource":
        return;
      case "session":
        this.sessions.set(keyOf(of.row.project, of.row.id), {
          ...of.row,
          owner: of.row.owner ?? null,
          uses: of.row.uses ?? null,
        });
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

  /** What the org counts by, and what its rows add up to. */
  addOrg(org: Org, sums: Sums): void {
    this.orgRow = org;
    this.sums = sums;
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
      ...(this.sums?.documents() ?? []),
    ];
    return new Map(documents.map((each) => [documentKey(each.kind, each.key), each]));
  }
}
