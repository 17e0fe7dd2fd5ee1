// Numbered migrations. Each runs once, in order, in one transaction with its number; none is ever edited after release.
//
// Every key starts with the org, so that the tables can be distributed by it. Hot rows (`ready`, `claim`) are narrow and apart
// from the task; what no statement looks at is JSON in one column. `no` is the task's ordinal in its org.
//
// Row level security is forced on every table: the org comes from a setting of the transaction, so a statement that forgot
// its filter sees nothing of other orgs. Superusers are exempt, hence the program takes on the role `dibs_program`.

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

/** The role that the program works as; it owns nothing. */
export const programRole = "dibs_program";

/** Those of the first migration. */
const tables = [
  "org",
  "project",
  "task",
  "task_text",
  "dependency",
  "ready",
  "claim",
  "attempt",
  "session",
  "session_record",
  "counter",
  "event",
  "notification",
  "idempotency",
  "commit_token",
];

/** Small, and rewritten all the time: dead rows must go soon, and changed ones should find room on their page. */
const busy = ["org", "ready", "claim", "session", "session_record", "counter", "commit_token"];

const text = 'text COLLATE "C"';

const secured = (table: string) => `
ALTER TABLE dibs.${table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE dibs.${table} FORCE ROW LEVEL SECURITY;
CREATE POLICY own_org ON dibs.${table} USING (org = current_setting('dibs.org', true))
  WITH CHECK (org = current_setting('dibs.org', true));`;

const swept = (table: string) => `
ALTER TABLE dibs.${table} SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);`;

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: "foundation",
    sql: `
CREATE TABLE dibs.org (
  org ${text} PRIMARY KEY,
  version bigint NOT NULL,
  event_seq bigint NOT NULL,
  event_min bigint NOT NULL,
  ordinal bigint NOT NULL,
  notification_seq bigint NOT NULL,
  last_at bigint NOT NULL,
  highest_at bigint NOT NULL,
  default_project text NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE dibs.project (
  org ${text} NOT NULL,
  id ${text} NOT NULL,
  settings json NOT NULL,
  paused boolean NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org, id)
);

CREATE TABLE dibs.task (
  org ${text} NOT NULL,
  no bigint NOT NULL,
  project ${text} NOT NULL,
  id ${text} NOT NULL,
  type ${text} NOT NULL,
  parent_id ${text},
  title ${text} NOT NULL,
  state ${text} NOT NULL,
  priority integer NOT NULL,
  assignee ${text},
  lost_count integer NOT NULL,
  not_before bigint,
  epoch bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ready_at bigint,
  started_at bigint,
  ended_at bigint,
  pending_deps integer NOT NULL,
  open_children integer NOT NULL,
  completed_children integer NOT NULL,
  more json NOT NULL,
  PRIMARY KEY (org, no)
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX task_by_id ON dibs.task (org, project, id);
-- Only for lists, which say 'no > 0': without statistics, the planner would take it for the way to a single task, too.
CREATE INDEX task_by_project ON dibs.task (org, project, no) WHERE no > 0;
CREATE INDEX task_by_state ON dibs.task (org, project, state, no) WHERE state <> 'completed';
CREATE INDEX task_lost ON dibs.task (org, no) WHERE state = 'queued' AND lost_count > 0;
CREATE INDEX task_by_parent ON dibs.task (org, project, parent_id, no) WHERE parent_id IS NOT NULL;

CREATE TABLE dibs.task_text (
  org ${text} NOT NULL,
  no bigint NOT NULL,
  prompt ${text} NOT NULL,
  description ${text},
  metadata json,
  PRIMARY KEY (org, no)
);

CREATE TABLE dibs.dependency (
  org ${text} NOT NULL,
  project ${text} NOT NULL,
  depends_on ${text} NOT NULL,
  task_id ${text} NOT NULL,
  PRIMARY KEY (org, project, depends_on, task_id)
);

CREATE TABLE dibs.ready (
  org ${text} NOT NULL,
  project ${text} NOT NULL,
  lane ${text} NOT NULL,
  level bigint NOT NULL,
  k1 bigint NOT NULL,
  k2 bigint NOT NULL,
  no bigint NOT NULL,
  id ${text} NOT NULL,
  not_before bigint NOT NULL,
  PRIMARY KEY (org, project, lane, level, k1, k2)
);

CREATE TABLE dibs.claim (
  org ${text} NOT NULL,
  no bigint NOT NULL,
  project ${text} NOT NULL,
  task_id ${text} NOT NULL,
  session_id ${text} NOT NULL,
  state ${text} NOT NULL,
  claimed_at bigint NOT NULL,
  due_at bigint,
  body json NOT NULL,
  PRIMARY KEY (org, no)
);
CREATE INDEX claim_by_due ON dibs.claim (org, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX claim_by_session ON dibs.claim (org, project, session_id);

CREATE TABLE dibs.attempt (
  org ${text} NOT NULL,
  no bigint NOT NULL,
  epoch bigint NOT NULL,
  session_id ${text} NOT NULL,
  released_at bigint NOT NULL,
  body json NOT NULL,
  PRIMARY KEY (org, no, epoch)
);

CREATE TABLE dibs.session (
  org ${text} NOT NULL,
  project ${text} NOT NULL,
  id ${text} NOT NULL,
  last_seen_at bigint NOT NULL,
  ended_at bigint,
  body json NOT NULL,
  PRIMARY KEY (org, project, id)
);
CREATE INDEX session_live ON dibs.session (org, project, id) WHERE ended_at IS NULL;

CREATE TABLE dibs.session_record (
  org ${text} NOT NULL,
  project ${text} NOT NULL,
  id ${text} NOT NULL,
  completed bigint NOT NULL,
  history json NOT NULL,
  PRIMARY KEY (org, project, id)
);

CREATE TABLE dibs.counter (
  org ${text} NOT NULL,
  project ${text} NOT NULL,
  parent ${text} NOT NULL,
  value bigint NOT NULL,
  PRIMARY KEY (org, project, parent)
);

CREATE TABLE dibs.event (
  org ${text} NOT NULL,
  seq bigint NOT NULL,
  task_no bigint,
  type ${text} NOT NULL,
  at bigint NOT NULL,
  project ${text},
  task_id ${text},
  session_id ${text},
  epoch bigint,
  actor ${text} NOT NULL,
  data json NOT NULL,
  PRIMARY KEY (org, seq)
);
CREATE INDEX event_by_task ON dibs.event (org, task_no, seq) WHERE task_no IS NOT NULL;

CREATE TABLE dibs.notification (
  org ${text} NOT NULL,
  number bigint NOT NULL,
  type ${text} NOT NULL,
  severity ${text} NOT NULL,
  title ${text} NOT NULL,
  message ${text} NOT NULL,
  task_id ${text},
  project ${text} NOT NULL,
  created_at bigint NOT NULL,
  read_at bigint,
  PRIMARY KEY (org, number)
);
CREATE INDEX notification_unread ON dibs.notification (org, project, number) WHERE read_at IS NULL;

CREATE TABLE dibs.idempotency (
  org ${text} NOT NULL,
  key ${text} NOT NULL,
  request ${text} NOT NULL,
  answer text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org, key)
);
CREATE INDEX idempotency_by_age ON dibs.idempotency (org, created_at);

CREATE TABLE dibs.commit_token (
  org ${text} NOT NULL,
  version bigint NOT NULL,
  token ${text} NOT NULL,
  PRIMARY KEY (org, version)
);

${tables.map(secured).join("")}
${busy.map(swept).join("")}
ALTER TABLE dibs.task SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE dibs.event SET (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);
`,
  },
  {
    version: 2,
    name: "documents",
    // An owner stands in the session's body: those from before have none.
    sql: `
CREATE TABLE dibs.document (
  org ${text} NOT NULL,
  kind ${text} NOT NULL,
  key ${text} NOT NULL,
  value json NOT NULL,
  PRIMARY KEY (org, kind, key)
);
${secured("document")}
${swept("document")}
ALTER TABLE dibs.document SET (toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_cost_delay = 0);
`,
  },
  {
    version: 3,
    name: "submitted tasks",
    // Tasks carry submissions in `more`, which an earlier program would drop: it must refuse this store.
    sql: `
CREATE INDEX task_submitted ON dibs.task (org, no) WHERE state = 'submitted';
`,
  },
  {
    version: 4,
    name: "resources",
    // Claims carry their units in the body. An earlier program would not give them back: it must refuse this store.
    sql: "",
  },
  {
    version: 5,
    name: "task states",
    // PostgreSQL changes a row in place if no index names a column that changes, and its page has room for the new version: a group
    // of commits ends neighbors. So no index of tasks names their state; lists by state start from this table. For the copy, the
    // owner must see all orgs.
    sql: `
CREATE TABLE dibs.task_state (
  org ${text} NOT NULL,
  project ${text} NOT NULL,
  state ${text} NOT NULL,
  no bigint NOT NULL,
  PRIMARY KEY (org, project, state, no)
);
ALTER TABLE dibs.task NO FORCE ROW LEVEL SECURITY;
INSERT INTO dibs.task_state SELECT org, project, state, no FROM dibs.task WHERE state <> 'completed';
ALTER TABLE dibs.task FORCE ROW LEVEL SECURITY;
DROP INDEX dibs.task_by_state, dibs.task_lost, dibs.task_submitted;
CREATE INDEX task_lost ON dibs.task (org, no) WHERE lost_count > 0;
ALTER TABLE dibs.task SET (fillfactor = 50);
${secured("task_state")}
${swept("task_state")}
`,
  },
];

export const schemaVersion = migrations[migrations.length - 1]!.version;

/** All tables with the rows of orgs. */
export const orgTables: readonly string[] = [...tables, "document", "task_state"];
