import { type Claim, dueAt } from "../../../core/claim.js";
import type { ClaimFilter } from "../../../core/view.js";
import type { Row } from "../../columns.js";
import { dueColumns } from "../../layouts.js";
import type { Change, OfTask } from "../../rows.js";
import { need, readable } from "../../unreadable.js";
import { Where } from "../../where.js";
import { column, type RowKind, singleRow } from "../asking.js";
import {
  deleteFrom,
  insertInto,
  numbered,
  type Statement,
  typed,
  updateOf,
  type Value,
} from "../statement.js";

export const columns = "project, task_id, session_id, state, claimed_at, body";

type InColumns = "project" | "taskId" | "sessionId" | "state" | "claimedAt";

const absent = {
  agentType: null,
  startedAt: null,
  progress: null,
  metadata: null,
  uses: null,
  usage: null,
  startBy: null,
  deadlineAt: null,
  silentAt: null,
  pausedAt: null,
} satisfies Partial<Claim>;

/** All but what is in columns; null is omitted. */
function bodyOf(claim: Claim): string {
  return JSON.stringify({
    epoch: claim.epoch,
    agentType: claim.agentType ?? undefined,
    startedAt: claim.startedAt ?? undefined,
    expiresAt: claim.expiresAt,
    ttlMs: claim.ttlMs,
    lastHeartbeat: claim.lastHeartbeat,
    heartbeatCount: claim.heartbeatCount,
    progress: claim.progress ?? undefined,
    metadata: claim.metadata ?? undefined,
    uses: claim.uses ?? undefined,
    usage: claim.usage ?? undefined,
    startBy: claim.startBy ?? undefined,
    deadlineAt: claim.deadlineAt ?? undefined,
    silentAt: claim.silentAt ?? undefined,
    pausedAt: claim.pausedAt ?? undefined,
    acknowledged: claim.acknowledged,
    updatedAt: claim.updatedAt,
  } satisfies { [F in Exclude<keyof Claim, InColumns>]: Claim[F] | undefined });
}

export const decode = readable(
  "claim",
  (row: Row) => `${row[0]}/${row[1]}`,
  (row: Row): Claim => {
    const [project, taskId, sessionId, state, claimedAt, body] = row;
    need(typeof body.epoch === "number", "epoch");
    need(typeof body.expiresAt === "number", "expiresAt");
    need(typeof body.ttlMs === "number", "ttlMs");
    return { project, taskId, sessionId, state, claimedAt, ...absent, ...body };
  },
);

export const kind: RowKind<readonly [no: number]> = singleRow(
  "claim",
  (org, keys) => ({
    text: `SELECT no, ${columns} FROM dibs.claim WHERE org = $1 AND no = ANY($2::bigint[])`,
    values: [org, column(keys, 0)],
  }),
  ([no]) => [no],
  ([, ...row]) => decode(row),
);

export function list(org: string, { project, sessionId, limit }: ClaimFilter): Statement {
  const where = new Where<Value>()
    .and("org = ?", org)
    .andIf(project, "project = ?")
    .andIf(sessionId, "session_id = ?");
  return numbered(
    `SELECT ${columns} FROM dibs.claim WHERE ${where.text} ORDER BY claimed_at, project, task_id LIMIT ?`,
    [...where.values, limit],
  );
}

const inOrder = "ORDER BY due_at, project, task_id LIMIT";

export const due = (org: string, now: number, limit: number): Statement => ({
  text: `SELECT ${dueColumns} FROM dibs.claim WHERE org = $1 AND due_at <= $2 ${inOrder} $3`,
  values: [org, now, limit],
});

export const nextDue = (org: string, now: number, limit: number): Statement => ({
  text: `SELECT ${dueColumns} FROM dibs.claim WHERE org = $1 AND due_at > $2 ${inOrder} $3`,
  values: [org, now, limit],
});

const written = typed("no, project, task_id, session_id, state, claimed_at, due_at, body", {
  no: "bigint",
  claimed_at: "bigint",
  due_at: "bigint",
  body: "json",
});
const open = insertInto("claim", written);
const update = updateOf("claim", written);
const close = deleteFrom("claim", "no bigint");

function values(ordinal: number, claim: Claim): Value[] {
  const { project, taskId, sessionId, state, claimedAt } = claim;
  return [ordinal, project, taskId, sessionId, state, claimedAt, dueAt(claim), bodyOf(claim)];
}

export function write(org: string, claims: Iterable<OfTask<Change<Claim>>>): Statement[] {
  const opened: Value[] = [];
  const changed: Value[] = [];
  const closed: Value[] = [];
  for (const { ordinal, row } of claims) {
    if (row.after) (row.before ? changed : opened).push(...values(ordinal, row.after));
    else if (row.before) closed.push(ordinal);
  }
  return [...open.of(org, opened), ...update.of(org, changed), ...close.of(org, closed)];
}

export const check = (own: string) => ({ sql: `SELECT ${columns} FROM dibs.claim WHERE ${own}`, decode });
