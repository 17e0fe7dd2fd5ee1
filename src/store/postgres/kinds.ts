// The questions about single rows. Each kind asks for any number of keys in one statement, and takes along what a decision
// will most likely ask next: with a task its claim and a short text, with a session its record and claims, with a task's
// dependents and children their tasks.

import {
  attemptColumns,
  attemptOf,
  notificationColumns,
  notificationNumber,
  type Row,
  toNotification,
} from "../row-codec.js";
import { orUnreadable } from "../unreadable.js";
import {
  claimColumns,
  prefixed,
  projectColumns,
  recordColumns,
  sessionColumns,
  shortText,
  taskOf,
  taskWidth,
  textColumns,
  toClaim,
  toProject,
  toRecord,
  toSession,
  toTask,
  toText,
} from "./codec.js";
import type { Kind } from "./questions.js";
import { arrayOf, type Value } from "./statement.js";

type Note = Parameters<Kind<never>["take"]>[2];
type Of = readonly [project: string, id: string];

const column = (keys: readonly (readonly unknown[])[], at: number) =>
  arrayOf(keys.map((key) => key[at] as Value));

const chainMax = 5_000;
const pairs = "unnest($2::text[], $3::text[]) AS q(project, id)";
/** Looked up one by one: joined, a planner without statistics, or with misleading ones, may read all tasks of the org. */
const taskWhere = (condition: string) =>
  `CROSS JOIN LATERAL (SELECT * FROM dibs.task WHERE org = $1 AND ${condition} OFFSET 0) t`;
const taskWithMore = `${taskOf("t")}, ${shortText("x")}, ${prefixed("c", claimColumns)}`;
const joinMore = `LEFT JOIN LATERAL (SELECT * FROM dibs.task_text WHERE org = $1 AND no = t.no OFFSET 0) x ON true
  LEFT JOIN LATERAL (SELECT * FROM dibs.claim WHERE org = $1 AND no = t.no OFFSET 0) c ON true`;

/** A task row with its claim and short text behind it. */
function noteTask(row: Row, note: Note): void {
  const [no, project, id] = row;
  note(
    "task",
    [project, id],
    orUnreadable(() => toTask(row)),
  );
  const text = row.slice(taskWidth, taskWidth + 3);
  if (text[0] !== null) note("text", [no], toText(text));
  const claim = row.slice(taskWidth + 3);
  note("claim", [no], claim[0] === null ? undefined : orUnreadable(() => toClaim(claim)));
}

const byId = taskWhere("project = q.project AND id = q.id");
const oneByOne = `SELECT ${taskWithMore} FROM ${pairs} ${byId} ${joinMore}`;

/** With all that they wait for, and their parents, and so on. */
const inChains = `WITH RECURSIVE chain(project, id) AS (
    SELECT q.project COLLATE "C", q.id COLLATE "C" FROM ${pairs}
    UNION
    SELECT q.project, d.id FROM chain q ${byId}
    CROSS JOIN LATERAL (SELECT json_array_elements_text(t.more->'dependsOn') AS id
      UNION ALL SELECT t.parent_id WHERE t.parent_id IS NOT NULL) d
  ) SELECT ${taskWithMore} FROM (SELECT project, id FROM chain LIMIT ${chainMax}) q ${byId} ${joinMore}`;

export const task: Kind<Of> = {
  name: "task",
  statement: (org, keys, deep) => ({
    text: deep ? inChains : oneByOne,
    values: [org, column(keys, 0), column(keys, 1)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("task", key, undefined);
    for (const row of rows) noteTask(row, note);
  },
};

export const text: Kind<readonly [no: number]> = {
  name: "text",
  statement: (org, keys) => ({
    text: `SELECT no, ${textColumns} FROM dibs.task_text WHERE org = $1 AND no = ANY($2::bigint[])`,
    values: [org, column(keys, 0)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("text", key, undefined);
    for (const [no, ...rest] of rows) note("text", [no], toText(rest));
  },
};

export const claim: Kind<readonly [no: number]> = {
  name: "claim",
  statement: (org, keys) => ({
    text: `SELECT no, ${claimColumns} FROM dibs.claim WHERE org = $1 AND no = ANY($2::bigint[])`,
    values: [org, column(keys, 0)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("claim", key, undefined);
    for (const [no, ...rest] of rows)
      note(
        "claim",
        [no],
        orUnreadable(() => toClaim(rest)),
      );
  },
};

/** Answers `record` and `claimsOf`, too. */
export const session: Kind<Of> = {
  name: "session",
  statement: (org, keys) => ({
    text: `SELECT q.project, q.id,
        (SELECT json_build_array(${prefixed("s", sessionColumns)}) FROM dibs.session s
          WHERE s.org = $1 AND s.project = q.project AND s.id = q.id),
        (SELECT json_build_array(${prefixed("r", recordColumns)}) FROM dibs.session_record r
          WHERE r.org = $1 AND r.project = q.project AND r.id = q.id),
        (SELECT json_agg(json_build_array(${prefixed("c", claimColumns)})) FROM dibs.claim c
          WHERE c.org = $1 AND c.project = q.project AND c.session_id = q.id)
      FROM ${pairs}`,
    values: [org, column(keys, 0), column(keys, 1)],
  }),
  take(rows, _keys, note) {
    for (const [project, id, session, record, claims] of rows) {
      const key = [project, id];
      note("session", key, session === null ? undefined : orUnreadable(() => toSession(session)));
      note("record", key, record === null ? undefined : orUnreadable(() => toRecord(record)));
      note(
        "claimsOf",
        key,
        claims === null ? [] : orUnreadable(() => claims.map((each: Row) => toClaim(each))),
      );
    }
  },
};

export const project: Kind<readonly [id: string]> = {
  name: "project",
  statement: (org, keys) => ({
    text: `SELECT ${projectColumns} FROM dibs.project WHERE org = $1 AND id = ANY($2::text[])`,
    values: [org, column(keys, 0)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("project", key, undefined);
    for (const row of rows)
      note(
        "project",
        [row[0]],
        orUnreadable(() => toProject(row)),
      );
  },
};

export const attempt: Kind<readonly [no: number, epoch: number, project: string, id: string]> = {
  name: "attempt",
  statement: (org, keys) => ({
    text: `SELECT a.no, q.project, q.id, ${prefixed("a", attemptColumns)}
      FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) AS q(no, epoch, project, id)
      JOIN dibs.attempt a ON a.org = $1 AND a.no = q.no AND a.epoch = q.epoch`,
    values: [org, column(keys, 0), column(keys, 1), column(keys, 2), column(keys, 3)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("attempt", key, undefined);
    for (const [no, project, id, ...row] of rows) {
      note(
        "attempt",
        [no, row[0], project, id],
        orUnreadable(() => attemptOf(project, id, row, row[3])),
      );
    }
  },
};

export const attempts: Kind<readonly [no: number, limit: number, project: string, id: string]> = {
  name: "attempts",
  statement: (org, keys) => ({
    text: `SELECT q.no, q.most, q.project, q.id, ${prefixed("a", attemptColumns)}
      FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) AS q(no, most, project, id)
      CROSS JOIN LATERAL (SELECT * FROM dibs.attempt b WHERE b.org = $1 AND b.no = q.no ORDER BY b.epoch DESC LIMIT q.most) a`,
    values: [org, column(keys, 0), column(keys, 1), column(keys, 2), column(keys, 3)],
  }),
  take(rows, keys, note) {
    const found = new Map<string, Row[]>(keys.map((key) => [key.join("/"), []]));
    for (const [no, most, project, id, ...row] of rows)
      found.get([no, most, project, id].join("/"))?.push(row);
    for (const key of keys) {
      const [, , project, id] = key;
      const of = found.get(key.join("/")) ?? [];
      note(
        "attempts",
        key,
        orUnreadable(() => of.map((row) => attemptOf(project, id, row, row[3]))),
      );
    }
  },
};

const related = (name: string, join: string, order: string): Kind<Of> => ({
  name,
  statement: (org, keys) => ({
    text: `SELECT q.project, q.id, ${taskWithMore} FROM ${pairs} ${join} ${joinMore} ORDER BY ${order}`,
    values: [org, column(keys, 0), column(keys, 1)],
  }),
  take(rows, keys, note) {
    const found = new Map<string, string[]>(keys.map((key) => [key.join("/"), []]));
    for (const [project, id, ...row] of rows) {
      noteTask(row, note);
      found.get(`${project}/${id}`)?.push(row[2]);
    }
    for (const key of keys) note(name, key, found.get(key.join("/")));
  },
});

export const dependents = related(
  "dependents",
  `CROSS JOIN LATERAL (SELECT task_id FROM dibs.dependency WHERE org = $1 AND project = q.project AND depends_on = q.id
      OFFSET 0) d ${taskWhere("project = q.project AND id = d.task_id")}`,
  "t.id",
);

export const children = related("children", taskWhere("project = q.project AND parent_id = q.id"), "t.no");

export const counter: Kind<readonly [project: string, parent: string]> = {
  name: "counter",
  statement: (org, keys) => ({
    text: `SELECT c.project, c.parent, c.value FROM ${pairs}
      JOIN dibs.counter c ON c.org = $1 AND c.project = q.project AND c.parent = q.id`,
    values: [org, column(keys, 0), column(keys, 1)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("counter", key, 0);
    for (const [project, parent, value] of rows) note("counter", [project, parent], value);
  },
};

export const notification: Kind<readonly [id: string]> = {
  name: "notification",
  statement: (org, keys) => ({
    text: `SELECT ${notificationColumns} FROM dibs.notification WHERE org = $1 AND number = ANY($2::bigint[])`,
    values: [org, arrayOf(keys.map(([id]) => notificationNumber(id)))],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("notification", key, undefined);
    for (const row of rows) note("notification", [`n${row[0]}`], toNotification(row));
  },
};

export const idempotency: Kind<readonly [key: string]> = {
  name: "idempotency",
  statement: (org, keys) => ({
    text: "SELECT key, request, answer, created_at FROM dibs.idempotency WHERE org = $1 AND key = ANY($2::text[])",
    values: [org, column(keys, 0)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("idempotency", key, undefined);
    for (const [key, request, answer, createdAt] of rows) {
      note("idempotency", [key], { key, request, answer, createdAt });
    }
  },
};

export const document: Kind<readonly [kind: string, key: string]> = {
  name: "document",
  statement: (org, keys) => ({
    text: `SELECT d.kind, d.key, d.value FROM unnest($2::text[], $3::text[]) AS q(kind, key)
      CROSS JOIN LATERAL (SELECT * FROM dibs.document WHERE org = $1 AND kind = q.kind AND key = q.key OFFSET 0) d`,
    values: [org, column(keys, 0), column(keys, 1)],
  }),
  take(rows, keys, note) {
    for (const key of keys) note("document", key, undefined);
    for (const [kind, key, value] of rows) note("document", [kind, key], value);
  },
};
