// Reads an export line by line and trusts nothing: what is wrong is said with the number of the line. It remembers no more than
// the row before, because the lines must come in order; so each row is there once, and what it hangs on before it.

import { DibsError } from "../contract/error.js";
import {
  type Counts,
  formatVersion,
  type Header,
  type Kind,
  kinds,
  noRows,
  notificationNumber,
  type Row,
  type Rows,
  shapes,
} from "./format.js";
import { isObject } from "./shape.js";

/** A row, with the number of its line and how long that is. */
export type Numbered = Row & { line: number; length: number };

export interface Read {
  org: Rows["org"];
  projects: ReadonlySet<string>;
  counts: Counts;
}

/** All rows in the order of the file; returns what they add up to. Throws where the file is not a whole export. */
export async function* readRows(lines: AsyncIterable<string>): AsyncGenerator<Numbered, Read, undefined> {
  const reader = new Reader();
  for await (const text of lines) {
    const row = reader.take(text);
    if (row) yield row;
  }
  return reader.finish();
}

type Part = number | string;

class Reader {
  private line = 0;
  private header: Header | null = null;
  private ended = false;
  private last: readonly Part[] = [];
  private org: Rows["org"] | null = null;
  private task: Rows["task"] | null = null;
  private session: Rows["session"] | null = null;
  private eventSeq = 0;
  private readonly projects = new Set<string>();
  private readonly counts = noRows();

  /** The row of the line, or null if it has none. */
  take(text: string): Numbered | null {
    this.line++;
    if (text.trim() === "") return null;
    const value = this.parsed(text);
    if (!this.header) {
      this.header = this.headerIn(value);
      return null;
    }
    if (this.ended) this.refuse("there is more after the end of the export");
    if (value.kind === "end") {
      this.end(value.counts);
      return null;
    }
    const row = this.rowIn(value);
    this.check(row);
    this.counts[row.kind]++;
    return { ...row, line: this.line, length: text.length };
  }

  finish(): Read {
    if (!this.header) throw broken("The file is empty; an export begins with a header.");
    const { org, projects, counts } = this;
    if (!this.ended || !org) {
      throw broken(
        `The export is cut off after line ${this.line}: its last line, with the counts, is missing.`,
      );
    }
    return { org, projects, counts };
  }

  private refuse(what: string): never {
    throw broken(`Line ${this.line}: ${what}.`, this.line);
  }

  private parsed(text: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.refuse("this is not valid JSON, or not the whole line");
    }
    if (!isObject(value)) this.refuse("this is not an object");
    return value;
  }

  private headerIn({ dibs, version, org }: Record<string, unknown>): Header {
    if (dibs !== "export" || typeof org !== "string") this.refuse("this is not the header of a Dibs export");
    if (version !== formatVersion) {
      this.refuse(`the export has version ${version}; this program reads version ${formatVersion}`);
    }
    return { dibs, version: formatVersion, org };
  }

  private rowIn({ kind, row, ...more }: Record<string, unknown>): Row {
    if (!kinds.includes(kind as Kind)) this.refuse(`kind '${kind}' is not known`);
    const problem = shapes[kind as Kind].problem(row, "row");
    if (problem) this.refuse(problem);
    const [unknown] = Object.keys(more);
    if (unknown !== undefined) this.refuse(`${unknown} is not known`);
    return { kind, row } as Row;
  }

  private end(counts: unknown): void {
    const { org } = this;
    if (!org) this.refuse("the export has no org");
    if (this.eventSeq !== org.eventSeq)
      this.refuse(`events ${this.eventSeq + 1} to ${org.eventSeq} are missing`);
    if (!this.projects.has(org.defaultProject)) this.refuse(`project ${org.defaultProject} is missing`);
    // Earlier programs left the ids of archived tasks behind, and knew no plans, submissions and resources.
    const expected: Record<string, unknown> = {
      archived: 0,
      plan: 0,
      submission: 0,
      resource: 0,
      ...(isObject(counts) ? counts : {}),
    };
    const wrong = kinds.find((kind) => expected[kind] !== this.counts[kind]);
    if (wrong)
      this.refuse(
        `there should be ${expected[wrong]} rows of kind '${wrong}', and there are ${this.counts[wrong]}`,
      );
    this.ended = true;
  }

  /** The row has its place after all before it, and fits to what it belongs to. */
  private check(row: Row): void {
    if (!this.org && row.kind !== "org") this.refuse("the row of the org must come first");
    const place = this.placeOf(row);
    const order = compare(place, this.last);
    if (order === 0) this.refuse("this row is here twice");
    if (order < 0)
      this.refuse("this row is not in its place; an export is read in the order in which it was written");
    this.last = place;
    if (row.kind !== "project" && "project" in row.row && row.row.project !== null) {
      if (!this.projects.has(row.row.project)) this.refuse(`project ${row.row.project} is missing`);
    }
  }

  /** By what rows are ordered; also remembers what the next ones may belong to. */
  private placeOf({ kind, row }: Row): Part[] {
    switch (kind) {
      case "org":
        this.org = row;
        this.eventSeq = row.eventMin - 1;
        return [0];
      case "project":
        this.projects.add(row.id);
        return [1, row.id];
      case "task":
        this.task = row;
        this.refuseBeyond(row.ordinal, "ordinal");
        return [2, row.ordinal];
      case "text":
        return [2, this.taskOf(row).ordinal, 1];
      case "claim":
        if (row.epoch !== this.taskOf(row).epoch + 1) this.refuse("row.epoch is not the next of its task");
        return [2, this.taskOf(row).ordinal, 2];
      case "attempt":
        if (row.epoch > this.taskOf(row).epoch) this.refuse("row.epoch is beyond that of its task");
        return [2, this.taskOf(row).ordinal, 3, row.epoch];
      case "submission":
        if (row.number > (this.taskOf(row).submission?.number ?? 0))
          this.refuse("row.number is beyond that of its task");
        return [2, this.taskOf(row).ordinal, 4, row.number];
      case "counter":
        return [3, row.project, row.parent];
      case "archived":
        return [4, row.project, row.taskId];
      case "plan":
        return [5, row.project, row.name];
      case "resource":
        return [6, row.id];
      case "session":
        this.session = row;
        return [7, row.project, row.id];
      case "record":
        if (this.session?.project !== row.project || this.session.id !== row.id)
          this.refuse("row.id is not that of the session before");
        return [7, row.project, row.id, 1];
      case "notification":
        this.refuseBeyond(notificationNumber(row), "notificationSeq");
        return [8, -notificationNumber(row)];
      case "event":
        if (row.seq !== this.eventSeq + 1) this.refuse(`event ${row.seq} follows event ${this.eventSeq}`);
        this.eventSeq = row.seq;
        return [9, row.seq];
      case "key":
        return [10, row.key];
    }
  }

  private taskOf({ project, taskId }: { project: string; taskId: string }): Rows["task"] {
    const { task } = this;
    if (task?.project !== project || task.id !== taskId) this.refuse(`task ${taskId} is not the one before`);
    return task;
  }

  /** A number that the org has not given out yet would be given out again. */
  private refuseBeyond(number: number, field: "ordinal" | "notificationSeq"): void {
    const highest = this.org?.[field] ?? 0;
    if (!(number >= 1 && number <= highest))
      this.refuse(`its number is not between 1 and ${highest}, the org's ${field}`);
  }
}

function compare(a: readonly Part[], b: readonly Part[]): number {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const order = compareParts(a[at]!, b[at]!);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Texts by their bytes, as stores order them. */
function compareParts(a: Part, b: Part): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

function broken(message: string, line?: number): DibsError {
  const path = line === undefined ? "file" : `line ${line}`;
  return new DibsError("VALIDATION_FAILED", message, {
    hint: "Nothing was imported. Export again, and copy the whole file.",
    details: { issues: [{ path, message }], ...(line === undefined ? {} : { line }) },
  });
}
