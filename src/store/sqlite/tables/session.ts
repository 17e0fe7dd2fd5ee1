import type { Session } from "../../../core/session.js";
import type { SessionFilter } from "../../../core/view.js";
import { Layout, type Row, type Value } from "../../columns.js";
import { decodeAll, readable } from "../../unreadable.js";
import { Where } from "../../where.js";
import { flag, list as listIn, marks, object, ofFirstTwo } from "../converters.js";
import type { Scope } from "../scope.js";

const layout = new Layout<Session>({
  project: "project",
  id: "id",
  name: "name",
  agentType: "agent_type",
  pid: "pid",
  host: "host",
  processStartedAt: "process_started_at",
  capabilities: listIn("capabilities"),
  capacity: "capacity",
  heartbeats: flag("heartbeats"),
  contextPercent: "context_percent",
  score: "score",
  startedAt: "started_at",
  lastSeenAt: "last_seen_at",
  endedAt: "ended_at",
  incarnation: "incarnation",
  avoid: listIn("avoid"),
  owner: "owner",
  uses: object("uses"),
});

const { columns } = layout;
const sql = {
  all: `SELECT ${columns} FROM session`,
  find: `SELECT ${columns} FROM session WHERE org = ? AND project = ? AND id = ?`,
  put: `INSERT OR REPLACE INTO session (org, ${columns}) VALUES (?, ${marks(columns)})`,
};

const decode = readable("session", ofFirstTwo, (row: Row) => layout.decode(row));

export const check = { sql: sql.all, decode };

export function find(scope: Scope, project: string, id: string): Session | undefined {
  return scope.find(decode, sql.find, scope.org, project, id);
}

export function list({ db, org }: Scope, filter: SessionFilter): Session[] {
  const where = new Where<Value>().and("org = ?", org).andIf(filter.project, "project = ?");
  if (filter.live) where.and("ended_at IS NULL");
  where.andIf(
    filter.seenSince,
    `(last_seen_at >= ? OR EXISTS (SELECT 1 FROM claim c WHERE c.org = session.org
      AND c.project = session.project AND c.session_id = session.id))`,
  );
  where.andIf(filter.afterId, "project || '/' || id > ?");
  const text = `SELECT ${columns} FROM session WHERE ${where.text} ORDER BY project || '/' || id LIMIT ?`;
  return decodeAll(db.once(text, [...where.values, filter.limit]), decode, filter.readableOnly);
}

export function put({ db, org }: Scope, session: Session): void {
  db.run(sql.put, org, ...layout.encode(session));
}
