import type { Session } from "../../../core/session.js";
import type { SessionFilter } from "../../../core/view.js";
import { prefixed, type Row } from "../../columns.js";
import { need, readable } from "../../unreadable.js";
import { Where } from "../../where.js";
import { type ByName, byName, keyValues, noteReadable, type RowKind } from "../asking.js";
import { insertInto, numbered, type Statement, typed, type Value } from "../statement.js";
import * as claim from "./claim.js";
import * as record from "./record.js";

const columns = "project, id, last_seen_at, ended_at, body";

export const decode = readable(
  "session",
  (row: Row) => `${row[0]}/${row[1]}`,
  ([project, id, lastSeenAt, endedAt, body]: Row): Session => {
    need(Array.isArray(body.capabilities), "capabilities");
    need(Array.isArray(body.avoid), "avoid");
    return { project, id, lastSeenAt, endedAt, owner: null, uses: null, ...body };
  },
);

/** With its record and its claims. */
export const kind: RowKind<ByName> = {
  name: "session",
  statement: (org, keys) => ({
    text: `SELECT q.project, q.id,
        (SELECT json_build_array(${prefixed("s", columns)}) FROM dibs.session s
          WHERE s.org = $1 AND s.project = q.project AND s.id = q.id),
        (SELECT json_build_array(${prefixed("r", record.columns)}) FROM dibs.session_record r
          WHERE r.org = $1 AND r.project = q.project AND r.id = q.id),
        (SELECT json_agg(json_build_array(${prefixed("c", claim.columns)})) FROM dibs.claim c
          WHERE c.org = $1 AND c.project = q.project AND c.session_id = q.id)
      FROM ${byName}`,
    values: keyValues(org, keys, 2),
  }),
  take(rows, _keys, note) {
    for (const [project, id, session, done, claims] of rows) {
      const key = [project, id];
      noteReadable(note, "session", key, () => (session === null ? undefined : decode(session)));
      noteReadable(note, "record", key, () => (done === null ? undefined : record.decode(done)));
      noteReadable(note, "claimsOf", key, () => (claims ?? []).map((each: Row) => claim.decode(each)));
    }
  },
};

export function list(org: string, filter: SessionFilter): Statement {
  const where = new Where<Value>().and("s.org = ?", org).andIf(filter.project, "s.project = ?");
  if (filter.live) where.and("s.ended_at IS NULL");
  where.andIf(
    filter.seenSince,
    `(s.last_seen_at >= ? OR EXISTS (SELECT 1 FROM dibs.claim c WHERE c.org = s.org AND c.project = s.project
      AND c.session_id = s.id))`,
  );
  where.andIf(filter.afterId, "s.project || '/' || s.id > ?");
  return numbered(
    `SELECT ${prefixed("s", columns)} FROM dibs.session s WHERE ${where.text}
      ORDER BY s.project || '/' || s.id LIMIT ?`,
    [...where.values, filter.limit],
  );
}

const put = insertInto(
  "session",
  typed(columns, { last_seen_at: "bigint", ended_at: "bigint", body: "json" }),
  "project, id",
);

/** Fields without a column are in the body. */
function values({ project, id, lastSeenAt, endedAt, ...body }: Session): Value[] {
  return [project, id, lastSeenAt, endedAt, JSON.stringify(body)];
}

export const write = (org: string, sessions: Iterable<Session>): Statement[] =>
  put.of(org, [...sessions].flatMap(values));

export const check = (own: string) => ({ sql: `SELECT ${columns} FROM dibs.session WHERE ${own}`, decode });
