// Lists, as statements. Every predicate starts with the org.

import { unlabelledLanes } from "../../core/ready.js";
import type {
  ClaimFilter,
  DocumentPage,
  EventFilter,
  Reads,
  SessionFilter,
  TaskFilter,
  WholeTask,
} from "../../core/view.js";
import { attemptColumns, attemptOf, notificationColumns, type Row } from "../row-codec.js";
import { queuedCondition, stateCondition } from "../state-condition.js";
import {
  claimColumns,
  eventColumns,
  prefixed,
  projectColumns,
  sessionColumns,
  taskOf,
  taskWidth,
  textColumns,
  toClaim,
  toTask,
  toText,
} from "./codec.js";
import { arrayOf, type Statement, type Value } from "./statement.js";

/** A WHERE clause in the making; `$` stands for the next value. */
class Where {
  private readonly conditions: string[] = [];
  readonly values: Value[] = [];

  add(condition: string, ...values: Value[]): this {
    let at = 0;
    this.conditions.push(condition.replaceAll("$", () => `$${this.values.length + ++at}`));
    this.values.push(...values);
    return this;
  }

  value(value: Value): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  get text(): string {
    return this.conditions.join(" AND ");
  }
}

export function tasks(org: string, filter: TaskFilter): Statement {
  const where = new Where().add("t.org = $ AND t.no > 0", org).add("t.no > $", filter.afterOrdinal);
  if (filter.beforeOrdinal !== undefined) where.add("t.no < $", filter.beforeOrdinal);
  if (filter.project !== null) where.add("t.project = $", filter.project);
  if (filter.states) {
    const state = stateCondition(filter.states, { schema: "dibs.", value: "$", org });
    where.add(state.text, ...state.values);
  }
  if (filter.label !== undefined) {
    where.add(
      "EXISTS (SELECT 1 FROM json_array_elements_text(t.more->'labels') l WHERE l = $)",
      filter.label,
    );
  }
  if (filter.assignee !== undefined) where.add("t.assignee = $", filter.assignee);
  if (filter.parentId === null) where.add("t.parent_id IS NULL");
  else if (filter.parentId !== undefined) where.add("t.parent_id = $", filter.parentId);
  if (filter.text !== undefined) {
    const like = `%${filter.text.replace(/[\\%_]/g, "\\$&")}%`;
    where.add(
      `(t.id ILIKE $ OR t.title ILIKE $ OR EXISTS (SELECT 1 FROM dibs.task_text x WHERE x.org = t.org AND x.no = t.no AND x.prompt ILIKE $))`,
      like,
      like,
      like,
    );
  }
  if (filter.queued) {
    const queued = queuedCondition(filter.queued, "$");
    where.add(queued.text, ...queued.values);
  }
  const limit = where.value(filter.limit);
  return {
    text: `SELECT ${taskOf("t")} FROM dibs.task t LEFT JOIN dibs.claim c ON c.org = t.org AND c.no = t.no
      WHERE ${where.text} ORDER BY t.no ${filter.beforeOrdinal === undefined ? "" : "DESC"} LIMIT ${limit}`,
    values: where.values,
  };
}

export function openClaims(org: string, { project, sessionId, limit }: ClaimFilter): Statement {
  const where = new Where().add("org = $", org);
  if (project !== null) where.add("project = $", project);
  if (sessionId !== undefined) where.add("session_id = $", sessionId);
  const most = where.value(limit);
  return {
    text: `SELECT ${claimColumns} FROM dibs.claim WHERE ${where.text} ORDER BY claimed_at, project, task_id LIMIT ${most}`,
    values: where.values,
  };
}

export function lostClaims(org: string, { project, sessionId, limit }: ClaimFilter): Statement {
  const where = new Where().add("t.org = $", org).add("t.state = 'queued' AND t.lost_count > 0");
  if (project !== null) where.add("t.project = $", project);
  if (sessionId !== undefined) where.add("a.session_id = $", sessionId);
  const most = where.value(limit);
  return {
    text: `SELECT t.project, t.id, ${prefixed("a", attemptColumns)} FROM dibs.task t
      JOIN dibs.attempt a ON a.org = t.org AND a.no = t.no AND a.epoch = t.epoch
      WHERE ${where.text} AND NOT EXISTS (SELECT 1 FROM dibs.claim c WHERE c.org = t.org AND c.no = t.no)
      ORDER BY a.released_at DESC, t.id LIMIT ${most}`,
    values: where.values,
  };
}

export function events(org: string, { after, limit, project, taskId, types }: EventFilter): Statement {
  const where = new Where().add("org = $", org).add("seq > $", after);
  const one = project !== null && project !== undefined;
  if (one) where.add("project = $", project);
  if (taskId !== undefined) {
    const tasks = "task_no IN (SELECT no FROM dibs.task WHERE org = $ AND id = $";
    if (one) where.add(`${tasks} AND project = $)`, org, taskId, project);
    else where.add(`${tasks})`, org, taskId);
  }
  if (types) where.add("type = ANY($::text[])", arrayOf(types));
  const most = where.value(limit);
  return {
    text: `SELECT ${eventColumns} FROM dibs.event WHERE ${where.text} ORDER BY seq LIMIT ${most}`,
    values: where.values,
  };
}

export function sessions(org: string, filter: SessionFilter): Statement {
  const where = new Where().add("s.org = $", org);
  if (filter.project !== null) where.add("s.project = $", filter.project);
  if (filter.live) where.add("s.ended_at IS NULL");
  if (filter.seenSince !== undefined) {
    where.add(
      `(s.last_seen_at >= $ OR EXISTS (SELECT 1 FROM dibs.claim c WHERE c.org = s.org AND c.project = s.project
        AND c.session_id = s.id))`,
      filter.seenSince,
    );
  }
  if (filter.afterId !== undefined) where.add("s.project || '/' || s.id > $", filter.afterId);
  const most = where.value(filter.limit);
  return {
    text: `SELECT ${prefixed("s", sessionColumns)} FROM dibs.session s WHERE ${where.text}
      ORDER BY s.project || '/' || s.id LIMIT ${most}`,
    values: where.values,
  };
}

export interface NotificationFilter {
  project: string | null;
  unread: boolean;
  before?: number;
  limit: number;
}

export function notifications(org: string, filter: NotificationFilter): Statement {
  const where = new Where().add("org = $", org);
  if (filter.project !== null) where.add("project = $", filter.project);
  if (filter.unread) where.add("read_at IS NULL");
  if (filter.before !== undefined) where.add("number < $", filter.before);
  const most = where.value(filter.limit);
  return {
    text: `SELECT ${notificationColumns} FROM dibs.notification WHERE ${where.text} ORDER BY number DESC LIMIT ${most}`,
    values: where.values,
  };
}

export function unreadCount(org: string, project: string | null): Statement {
  const where = new Where().add("org = $", org).add("read_at IS NULL");
  if (project !== null) where.add("project = $", project);
  return { text: `SELECT count(*) FROM dibs.notification WHERE ${where.text}`, values: where.values };
}

export function taskCounts(org: string, project: string | null): Statement {
  const where = new Where().add("t.org = $", org);
  if (project !== null) where.add("t.project = $", project);
  return {
    text: `SELECT coalesce(c.state, t.state), count(*) FROM dibs.task t
      LEFT JOIN dibs.claim c ON c.org = t.org AND c.no = t.no WHERE ${where.text} GROUP BY 1`,
    values: where.values,
  };
}

export function openCounts(org: string, project: string): Statement {
  return {
    text: `SELECT coalesce(c.state, t.state), count(*) FROM dibs.task t
      LEFT JOIN dibs.claim c ON c.org = t.org AND c.no = t.no
      WHERE t.org = $1 AND t.project = $2 AND t.state IN ('queued', 'awaiting_response', 'submitted', 'failed') AND t.state <> 'completed'
        AND t.type <> 'group' GROUP BY 1`,
    values: [org, project],
  };
}

export function readyCounts(org: string, project: string | null, now: number): Statement {
  const where = new Where();
  const at = where.value(now);
  where.add("org = $", org);
  if (project !== null) where.add("project = $", project);
  where.add("lane >= $ AND lane < $", unlabelledLanes.from, unlabelledLanes.to);
  return {
    text: `SELECT lane, count(*) FILTER (WHERE not_before <= ${at}), count(*) FILTER (WHERE not_before > ${at})
      FROM dibs.ready WHERE ${where.text} GROUP BY lane`,
    values: where.values,
  };
}

export function projects(org: string): Statement {
  return { text: `SELECT ${projectColumns} FROM dibs.project WHERE org = $1 ORDER BY id`, values: [org] };
}

/** Tasks with all that hangs on them, for a whole copy. */
export function wholeTasks(
  org: string,
  { afterOrdinal, limit }: Parameters<Reads["wholeTasks"]>[0],
): Statement {
  return {
    text: `SELECT ${taskOf("t")},
        CASE WHEN x.no IS NOT NULL THEN json_build_array(${prefixed("x", textColumns)}) END,
        CASE WHEN c.no IS NOT NULL THEN json_build_array(${prefixed("c", claimColumns)}) END,
        (SELECT json_agg(json_build_array(${prefixed("a", attemptColumns)}) ORDER BY a.epoch) FROM dibs.attempt a
          WHERE a.org = t.org AND a.no = t.no)
      FROM dibs.task t LEFT JOIN dibs.task_text x ON x.org = t.org AND x.no = t.no
      LEFT JOIN dibs.claim c ON c.org = t.org AND c.no = t.no
      WHERE t.org = $1 AND t.no > $2 ORDER BY t.no LIMIT $3`,
    values: [org, afterOrdinal, limit],
  };
}

export function toWholeTask(row: Row): WholeTask {
  const task = toTask(row);
  const [text, claim, attempts] = row.slice(taskWidth) as (Row | null)[];
  return {
    task,
    text: text ? toText(text) : undefined,
    claim: claim ? toClaim(claim) : undefined,
    attempts: (attempts ?? []).map((each: Row) => attemptOf(task.project, task.id, each, each[3])),
  };
}

export function counters(org: string, page: Parameters<Reads["counters"]>[0]): Statement {
  const where = new Where().add("org = $", org).add("project = $", page.project);
  if (page.afterParent !== undefined) where.add("parent > $", page.afterParent);
  const most = where.value(page.limit);
  return {
    text: `SELECT project, parent, value FROM dibs.counter WHERE ${where.text} ORDER BY parent LIMIT ${most}`,
    values: where.values,
  };
}

export function idempotencyRecords(org: string, page: Parameters<Reads["idempotencyRecords"]>[0]): Statement {
  const where = new Where().add("org = $", org);
  if (page.afterKey !== undefined) where.add("key > $", page.afterKey);
  const most = where.value(page.limit);
  return {
    text: `SELECT key, request, answer, created_at FROM dibs.idempotency WHERE ${where.text} ORDER BY key LIMIT ${most}`,
    values: where.values,
  };
}

export function documents(org: string, { kind, afterKey, beforeKey, limit }: DocumentPage): Statement {
  const where = new Where().add("org = $", org).add("kind = $", kind);
  if (afterKey !== undefined) where.add("key > $", afterKey);
  if (beforeKey !== undefined) where.add("key < $", beforeKey);
  const most = where.value(limit);
  return {
    text: `SELECT key, value FROM dibs.document WHERE ${where.text} ORDER BY key LIMIT ${most}`,
    values: where.values,
  };
}

export function due(org: string, now: number, limit: number): Statement {
  return {
    text: `SELECT project, task_id, due_at FROM dibs.claim WHERE org = $1 AND due_at <= $2
      ORDER BY due_at, project, task_id LIMIT $3`,
    values: [org, now, limit],
  };
}

export function nextDue(org: string, now: number, limit: number): Statement {
  return {
    text: `SELECT project, task_id, due_at FROM dibs.claim WHERE org = $1 AND due_at > $2
      ORDER BY due_at, project, task_id LIMIT $3`,
    values: [org, now, limit],
  };
}
