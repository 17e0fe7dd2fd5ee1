// Numbered migrations. Each runs once, in order, inside one transaction with its number; none is ever edited after release.
//
// Hot and cold are kept apart. A claim takes a row out of `ready` and puts one into `claim`; the task row, its texts and
// the finished attempts are not touched. Finished tasks stand in no index that claiming uses.
//
// Whatever belongs to one task is keyed by `no`, an integer: the org's own `no` × 2^40 + the task's ordinal in the org
// (for an event: + its number). New rows are then appended, and changing one binds and compares a single integer.
//
// What no statement looks at is JSON in one column (`task.more`, `attempt.body`, `event.body`): each column that is bound or
// read costs as much as parsing several.

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: "foundation",
    sql: `
CREATE TABLE org (
  no INTEGER PRIMARY KEY,
  org TEXT NOT NULL UNIQUE,
  event_seq INTEGER NOT NULL,
  event_min INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  notification_seq INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  highest_at INTEGER NOT NULL,
  default_project TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE project (
  org TEXT NOT NULL,
  id TEXT NOT NULL,
  settings TEXT NOT NULL,
  paused INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE task (
  no INTEGER PRIMARY KEY,
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  parent_id TEXT,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  priority INTEGER NOT NULL,
  assignee TEXT,
  lost_count INTEGER NOT NULL,
  not_before INTEGER,
  epoch INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ready_at INTEGER,
  started_at INTEGER,
  ended_at INTEGER,
  pending_deps INTEGER NOT NULL,
  open_children INTEGER NOT NULL,
  completed_children INTEGER NOT NULL,
  more TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX task_by_id ON task (org, project, id);
CREATE INDEX task_by_project ON task (org, project);
CREATE INDEX task_by_state ON task (org, project, state) WHERE state <> 'completed';
CREATE INDEX task_lost ON task (org, project) WHERE state = 'queued' AND lost_count > 0;
CREATE INDEX task_by_parent ON task (org, project, parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE task_text (
  no INTEGER PRIMARY KEY,
  prompt TEXT NOT NULL,
  description TEXT,
  metadata TEXT
) STRICT;

CREATE TABLE dependency (
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  depends_on TEXT NOT NULL,
  task_id TEXT NOT NULL,
  PRIMARY KEY (org, project, depends_on, task_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ready (
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  lane TEXT NOT NULL,
  level INTEGER NOT NULL,
  k1 INTEGER NOT NULL,
  k2 INTEGER NOT NULL,
  id TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  PRIMARY KEY (org, project, lane, level DESC, k1, k2)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim (
  no INTEGER PRIMARY KEY,
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  task_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  state TEXT NOT NULL,
  agent_type TEXT,
  claimed_at INTEGER NOT NULL,
  started_at INTEGER,
  expires_at INTEGER NOT NULL,
  ttl_ms INTEGER NOT NULL,
  last_heartbeat INTEGER NOT NULL,
  heartbeat_count INTEGER NOT NULL,
  progress TEXT,
  metadata TEXT,
  updated_at INTEGER NOT NULL,
  start_by INTEGER,
  deadline_at INTEGER,
  silent_at INTEGER,
  paused_at INTEGER,
  acknowledged INTEGER NOT NULL,
  due_at INTEGER
) STRICT;
CREATE INDEX claim_by_due ON claim (org, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX claim_by_session ON claim (org, project, session_id);

CREATE TABLE attempt (
  row INTEGER PRIMARY KEY,
  no INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  released_at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX attempt_by_task ON attempt (no, epoch);

CREATE TABLE session (
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT,
  agent_type TEXT,
  pid INTEGER,
  host TEXT,
  process_started_at TEXT,
  capabilities TEXT,
  capacity INTEGER NOT NULL,
  heartbeats INTEGER NOT NULL,
  context_percent REAL,
  score REAL,
  started_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  ended_at INTEGER,
  incarnation INTEGER NOT NULL,
  avoid TEXT,
  PRIMARY KEY (org, project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_live ON session (org, project, id) WHERE ended_at IS NULL;

CREATE TABLE session_record (
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  completed INTEGER NOT NULL,
  history TEXT NOT NULL,
  PRIMARY KEY (org, project, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE counter (
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  parent TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (org, project, parent)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  no INTEGER PRIMARY KEY,
  task_no INTEGER,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  project TEXT,
  task_id TEXT,
  session_id TEXT,
  epoch INTEGER,
  actor TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_task ON event (task_no) WHERE task_no IS NOT NULL;

CREATE TABLE notification (
  org TEXT NOT NULL,
  number INTEGER NOT NULL,
  type TEXT NOT NULL,
  severity TEXT NOT NULL,
  title TEXT NOT NULL,
  message TEXT NOT NULL,
  task_id TEXT,
  project TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  read_at INTEGER,
  PRIMARY KEY (org, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX notification_unread ON notification (org, project, number) WHERE read_at IS NULL;

CREATE TABLE idempotency (
  org TEXT NOT NULL,
  key TEXT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (org, created_at);
`,
  },
  {
    version: 2,
    name: "documents",
    // With a rowid: some are hundreds of kilobytes, and their keys should stay together.
    sql: `
CREATE TABLE document (
  org TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (org, kind, key)
) STRICT;

ALTER TABLE session ADD COLUMN owner TEXT;
`,
  },
  {
    version: 3,
    name: "events in few columns",
    // They are written most often, and each value that is bound costs.
    sql: `
CREATE TABLE event_3 (
  no INTEGER PRIMARY KEY,
  task_no INTEGER,
  project TEXT,
  type TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
INSERT INTO event_3 (no, task_no, project, type, body)
  SELECT no, task_no, project, type, json_array(at, task_id, session_id, epoch, actor, json(data)) FROM event ORDER BY no;
DROP TABLE event;
ALTER TABLE event_3 RENAME TO event;
CREATE INDEX event_by_task ON event (task_no) WHERE task_no IS NOT NULL;
`,
  },
  {
    version: 4,
    name: "an id for the store",
    // Users trust stores by id: a path stays the same when its content is replaced.
    sql: `
CREATE TABLE store (id TEXT NOT NULL) STRICT;
INSERT INTO store VALUES (lower(hex(randomblob(16))));
`,
  },
  {
    version: 5,
    name: "submitted tasks",
    // Tasks carry submissions in `more`, which an earlier program would drop: it must refuse this store.
    sql: `
CREATE INDEX task_submitted ON task (org, no) WHERE state = 'submitted';
`,
  },
  {
    version: 6,
    name: "resources",
    // An earlier program would end claims without giving their units back: it must refuse this store.
    sql: `
ALTER TABLE claim ADD COLUMN uses TEXT;
ALTER TABLE claim ADD COLUMN usage TEXT;
ALTER TABLE session ADD COLUMN uses TEXT;
`,
  },
];

export const migrationTable =
  "CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_by INTEGER NOT NULL) STRICT";

/** How many numbers an org has for its tasks, and for its events. */
export const numbersPerOrg = 2 ** 40;

/** So that every `no` is a whole number in JavaScript, too. */
export const orgsMax = 2 ** 13 - 1;

export const schemaVersion = migrations[migrations.length - 1]!.version;

/** The first schema whose stores have an id. */
export const schemaWithId = 4;

/** 'Dibs' in the header of the file: tells our databases from others. */
export const applicationId = 0x44696273;
