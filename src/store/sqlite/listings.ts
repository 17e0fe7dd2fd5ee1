// What is asked for page by page, in an order that all stores share: documents, and what only a whole copy of an org needs.

import type { Counter } from "../../core/changes.js";
import type { DocumentPage, IdempotencyRecord, Reads, WholeTask } from "../../core/view.js";
import type { Row, Value } from "../row-codec.js";
import { decodeAll } from "../unreadable.js";
import { toDocument } from "./codec.js";
import { SqliteReads } from "./read.js";

const sql = {
  counters:
    "SELECT project, parent, value FROM counter WHERE org = ? AND project = ? AND parent >= ? ORDER BY parent LIMIT ?",
  countersAfter:
    "SELECT project, parent, value FROM counter WHERE org = ? AND project = ? AND parent > ? ORDER BY parent LIMIT ?",
  // No key is empty.
  idempotencyRecords:
    "SELECT key, request, answer, created_at FROM idempotency WHERE org = ? AND key > ? ORDER BY key LIMIT ?",
};

export class SqliteListings extends SqliteReads {
  wholeTasks({ afterOrdinal, limit }: Parameters<Reads["wholeTasks"]>[0]): WholeTask[] {
    return this.tasks({ project: null, afterOrdinal, limit }).map((task) => ({
      task,
      text: this.text(task),
      claim: this.claim(task),
      attempts: this.attempts(task, Number.MAX_SAFE_INTEGER).reverse(),
    }));
  }

  counters({ project, afterParent, limit }: Parameters<Reads["counters"]>[0]): Counter[] {
    const text = afterParent === undefined ? sql.counters : sql.countersAfter;
    const rows = this.db.all(text, this.orgId, project, afterParent ?? "", limit);
    return rows.map((row) => ({ project: row[0], parent: row[1], value: row[2] }));
  }

  idempotencyRecords({ afterKey, limit }: Parameters<Reads["idempotencyRecords"]>[0]): IdempotencyRecord[] {
    const rows = this.db.all(sql.idempotencyRecords, this.orgId, afterKey ?? "", limit);
    return rows.map((row) => ({ key: row[0], request: row[1], answer: row[2], createdAt: row[3] }));
  }

  documents({
    kind,
    afterKey,
    beforeKey,
    limit,
    readableOnly,
  }: DocumentPage): ReturnType<Reads["documents"]> {
    const where = ["org = ?", "kind = ?"];
    const values: Value[] = [this.orgId, kind];
    if (afterKey !== undefined) {
      where.push("key > ?");
      values.push(afterKey);
    }
    if (beforeKey !== undefined) {
      where.push("key < ?");
      values.push(beforeKey);
    }
    const text = `SELECT key, value FROM document WHERE ${where.join(" AND ")} ORDER BY key LIMIT ?`;
    const rows = this.db.all(text, ...values, limit);
    const decode = ([key, value]: Row) => ({ key, value: toDocument(value, `${kind}/${key}`) });
    return decodeAll(rows, decode, readableOnly);
  }
}
