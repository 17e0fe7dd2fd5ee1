// Numbered migrations. Each runs once, in order, inside one transaction with its number; none is ever edited after release.
//
// Hot and cold are kept apart. A claim takes a row out of `ready` and puts one into `claim`; the task row, its texts and
// the finished attempts are not touched. Finished tasks stand in no index that claiming uses.

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
  org TEXT NOT NULL PRIMARY KEY,
  event_seq INTEGER NOT NULL,
  event_min INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  notification_seq INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  highest_at INTEGER NOT NULL,
  default_project TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  parent_id TEXT,
  title TEXT NOT NULL,
  phase TEXT,
  state TEXT NOT NULL,
  priority INTEGER NOT NULL,
  labels TEXT,
  files TEXT,
  depends_on TEXT,
  assignee TEXT,
  agent_type TEXT,
  requires TEXT,
  max_retries INTEGER NOT NULL,
  retry_count INTEGER NOT NULL,
  lost_count INTEGER NOT NULL,
  not_before INTEGER,
  timeout_ms INTEGER,
  question TEXT,
  response TEXT,
  response_pending INTEGER NOT NULL,
  error TEXT,
  correlation_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ready_at INTEGER,
  started_at INTEGER,
  ended_at INTEGER,
  created_by TEXT NOT NULL,
  depth INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  pending_deps INTEGER NOT NULL,
  open_children INTEGER NOT NULL,
  completed_children INTEGER NOT NULL,
  PRIMARY KEY (org, project, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX task_by_ordinal ON task (org, ordinal);
CREATE INDEX task_by_project ON task (org, project, ordinal);
CREATE INDEX task_by_state ON task (org, project, state, ordinal) WHERE state <> 'completed';
CREATE INDEX task_lost ON task (org, project, id) WHERE state = 'queued' AND lost_count > 0;
CREATE INDEX task_by_parent ON task (org, project, parent_id, ordinal) WHERE parent_id IS NOT NULL;

CREATE TABLE task_text (
  org TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  prompt TEXT NOT NULL,
  description TEXT,
  metadata TEXT,
  PRIMARY KEY (org, project, id)
) STRICT, WITHOUT ROWID;

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
  due_at INTEGER,
  PRIMARY KEY (org, project, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_by_due ON claim (org, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX claim_by_session ON claim (org, project, session_id);

CREATE TABLE attempt (
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
  ended_by TEXT NOT NULL,
  released_at INTEGER NOT NULL,
  release_reason TEXT NOT NULL,
  result TEXT,
  error TEXT,
  late_result TEXT,
  answer TEXT,
  PRIMARY KEY (org, project, task_id, epoch)
) STRICT, WITHOUT ROWID;

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
  org TEXT NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  project TEXT,
  task_id TEXT,
  session_id TEXT,
  epoch INTEGER,
  actor TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_by_task ON event (org, project, task_id, seq) WHERE task_id IS NOT NULL;

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
];

export const schemaVersion = migrations[migrations.length - 1]!.version;

/** 'Dibs' in the header of the file: tells our databases from others. */
export const applicationId = 0x44696273;
