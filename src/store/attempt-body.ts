// Closed attempts as the SQL stores write them: a few columns, and one JSON of the rest. Null, and what follows from other fields,
// is omitted.

import type { Attempt } from "../core/claim.js";
import type { Row } from "./columns.js";
import { need, readable } from "./unreadable.js";

/** Columns of an attempt, after its task. */
export const attemptColumns = "epoch, session_id, released_at, body";

const absent = {
  agentType: null,
  startedAt: null,
  progress: null,
  metadata: null,
  uses: null,
  usage: null,
  result: null,
  error: null,
  lateResult: null,
  unreported: null,
  answer: null,
} satisfies Partial<Attempt>;

export function attemptBody(attempt: Attempt): string {
  const { claimedAt, expiresAt, ttlMs, lastHeartbeat, heartbeatCount, updatedAt } = attempt;
  return JSON.stringify({
    state: attempt.state,
    agentType: attempt.agentType ?? undefined,
    claimedAt,
    startedAt: attempt.startedAt ?? undefined,
    expiresAt: expiresAt === claimedAt + ttlMs ? undefined : expiresAt,
    ttlMs,
    lastHeartbeat: lastHeartbeat === claimedAt ? undefined : lastHeartbeat,
    heartbeatCount: heartbeatCount === 0 ? undefined : heartbeatCount,
    progress: attempt.progress ?? undefined,
    metadata: attempt.metadata ?? undefined,
    uses: attempt.uses ?? undefined,
    usage: attempt.usage ?? undefined,
    updatedAt: updatedAt === attempt.releasedAt ? undefined : updatedAt,
    end: attempt.end,
    releaseReason: attempt.releaseReason,
    result: attempt.result ?? undefined,
    error: attempt.error ?? undefined,
    lateResult: attempt.lateResult ?? undefined,
    unreported: attempt.unreported ?? undefined,
    answer: attempt.answer ?? undefined,
  } satisfies { [F in Exclude<keyof Attempt, InColumns>]: Attempt[F] | undefined });
}

type InColumns = "project" | "taskId" | "epoch" | "sessionId" | "releasedAt";

/** From its columns. The body is text where the database does not parse it. */
export const toAttempt = readable(
  "attempt",
  (project: string, taskId: string, row: Row) => `${project}/${taskId}/${row[0]}`,
  (project: string, taskId: string, [epoch, sessionId, releasedAt, stored]: Row): Attempt => {
    const body: Partial<Attempt> = typeof stored === "string" ? JSON.parse(stored) : stored;
    need(typeof body.claimedAt === "number", "claimedAt");
    need(typeof body.ttlMs === "number", "ttlMs");
    return {
      project,
      taskId,
      epoch,
      sessionId,
      releasedAt,
      updatedAt: releasedAt,
      expiresAt: body.claimedAt! + body.ttlMs!,
      lastHeartbeat: body.claimedAt,
      heartbeatCount: 0,
      ...absent,
      ...body,
    } as Attempt;
  },
);
