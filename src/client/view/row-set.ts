// The rows of all tasks, in the order of creation. Views compare by identity: the array stays the same until a row changes,
// and a row that is read again without a change stays the same object.

import type { WireTaskRow } from "../../contract/tasks/rows.js";

export const keyOf = (project: string, id: string) => `${project}/${id}`;

interface Entry {
  row: WireTaskRow;
  /** The last full read that found it. */
  pass: number;
}

const none: never[] = [];

export class RowSet {
  private readonly entries = new Map<string, Entry>();
  private readonly words = new Map<string, string>();
  private ordered: readonly WireTaskRow[] | null = none;

  get size(): number {
    return this.entries.size;
  }

  get(key: string): WireTaskRow | undefined {
    return this.entries.get(key)?.row;
  }

  /** Whether anything changed. */
  put(row: WireTaskRow, pass: number): boolean {
    const key = keyOf(row.project, row.id);
    const known = this.entries.get(key);
    if (known && JSON.stringify(known.row) === JSON.stringify(row)) {
      known.pass = Math.max(known.pass, pass);
      return false;
    }
    this.entries.set(key, { row: this.shared(row), pass: Math.max(known?.pass ?? 0, pass) });
    this.ordered = null;
    return true;
  }

  remove(key: string): boolean {
    const isKnown = this.entries.delete(key);
    if (isKnown) this.ordered = null;
    return isKnown;
  }

  all(): readonly WireTaskRow[] {
    this.ordered ??= Array.from(this.entries.values(), ({ row }) => row).sort(byCreation);
    return this.ordered;
  }

  /** In no order. */
  *each(): Iterable<WireTaskRow> {
    for (const { row } of this.entries.values()) yield row;
  }

  /** Rows that a full read has not found. */
  unseenIn(pass: number): WireTaskRow[] {
    return Array.from(this.entries.values())
      .filter((entry) => entry.pass < pass)
      .map(({ row }) => row);
  }

  /** Interns strings: projects, labels and such are few, but each row has its own copies. */
  private shared(row: WireTaskRow): WireTaskRow {
    const one = <T extends string | null>(text: T): T => (text === null ? text : (this.word(text) as T));
    return {
      ...row,
      project: this.word(row.project),
      // The same string for tasks that were only created.
      updatedAt: row.updatedAt === row.createdAt ? row.createdAt : row.updatedAt,
      readyAt: row.readyAt === row.createdAt ? row.createdAt : row.readyAt,
      parentId: one(row.parentId),
      phase: one(row.phase),
      assignee: one(row.assignee),
      agentType: one(row.agentType),
      labels: row.labels.length === 0 ? none : row.labels.map((label) => this.word(label)),
      dependsOn: row.dependsOn.length === 0 ? none : row.dependsOn,
    };
  }

  private word(text: string): string {
    const known = this.words.get(text);
    if (known !== undefined) return known;
    if (this.words.size >= 10_000) this.words.clear();
    this.words.set(text, text);
    return text;
  }
}

/** Tasks of one batch have one time: their numbers decide, `_t2` before `_t10`. */
function byCreation(a: WireTaskRow, b: WireTaskRow): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  if (a.project !== b.project) return a.project < b.project ? -1 : 1;
  return byNumber(a.id, b.id);
}

function byNumber(a: string, b: string): number {
  const [left, right] = [a.match(/\d+|\D+/g) ?? [], b.match(/\d+|\D+/g) ?? []];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const [x, y] = [left[at]!, right[at]!];
    if (x === y) continue;
    const difference = Number(x) - Number(y);
    return difference || (x < y ? -1 : 1);
  }
  return left.length - right.length;
}
